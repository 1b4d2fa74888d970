package scaffold

import (
	"fmt"
	"go/build"
	"path"
	"strings"

	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// wire derives the wiring of a project.
func wire(files map[string][]byte, a Answers) error {
	written := map[string][]byte{}
	for name, text := range files {
		if folder, _, _ := strings.Cut(name, "/"); folder != "core" && folder != "generators" {
			written[name] = text
		}
	}
	store := typecheck.NewStore(nil, &build.Default)
	project := derive.Project{
		Name:    a.Name,
		Core:    path.Join(a.Module, "core"),
		OAuth:   a.OAuth,
		Checker: typecheck.NewChecker(typecheck.Module{Path: a.Module}, nil, store.Fset()),
	}
	view := store.Empty().With(written)
	for _, place := range derive.Places(view) {
		if place.Kind != derive.Tool && place.Kind != derive.Feature {
			continue
		}
		for _, tool := range derive.ToolNames(view.File(path.Join(place.Dir, path.Base(place.Dir)+"_gen.go"))) {
			if over := len(tool) - gen.MaxNameLength(a.Name); over > 0 {
				return &terminal.UsageError{Err: fmt.Errorf("%q cannot be the name of this project: clients put it before the names of tools, and with %s that is %d characters more than they take; choose a shorter one", a.Name, tool, over)}
			}
		}
	}
	derived, err := project.Wire(view)
	if err != nil {
		return fmt.Errorf("deriving the wiring: %w", err)
	}
	for _, file := range derived {
		files[file.Path] = file.Text
	}
	return nil
}
