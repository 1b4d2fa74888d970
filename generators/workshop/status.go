package workshop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/generators/check"
)

// ProjectStatusInput is what project_status takes.
type ProjectStatusInput struct{}

// ProjectStatusOutput is what project_status gives back.
type ProjectStatusOutput struct {
	Name        string             `json:"name"`        // Name of the project and of its server's program
	Module      string             `json:"module"`      // Path of the Go module
	Root        string             `json:"root"`        // The project's folder
	Petrock     string             `json:"petrock"`     // Version of the petrock that made the project
	Packages    []string           `json:"packages"`    // Import paths of the packages
	Builds      bool               `json:"builds"`      // Whether all of it compiles, tests included
	Diagnostics []check.Diagnostic `json:"diagnostics"` // What the compiler says, if it does not
}

// ProjectStatus tells what the project is, which packages it has, and whether they compile,
// tests included. What does not is told with file, line and column.
//
//petrock:hints read-only closed-world
func (t *Tools) ProjectStatus(ctx context.Context, _ ProjectStatusInput) (ProjectStatusOutput, error) {
	var status ProjectStatusOutput
	found, err := project.Find(t.Dir)
	if errors.Is(err, project.ErrNone) {
		return status, fmt.Errorf("%w; start the workshop in a project's folder, or make a project with petrock new", err)
	}
	if err != nil {
		return status, err
	}
	result, err := check.Run(ctx, check.Options{Dir: found.Root})
	if err != nil {
		return status, err
	}
	status = ProjectStatusOutput{
		Name:        found.Name,
		Module:      cmp.Or(result.Module, found.Module),
		Root:        found.Root,
		Petrock:     found.Petrock,
		Packages:    append([]string{}, result.Packages...), // never null
		Builds:      len(result.Diagnostics) == 0,
		Diagnostics: append([]check.Diagnostic{}, result.Diagnostics...),
	}
	return status, nil
}

// String is the status as a person reads it.
func (s ProjectStatusOutput) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s (module %s, petrock %s) in %s\n", s.Name, s.Module, s.Petrock, s.Root)
	for _, pkg := range s.Packages {
		fmt.Fprintf(&text, "  %s\n", pkg)
	}
	if s.Builds {
		text.WriteString("All packages and tests compile.\n")
		return text.String()
	}
	text.WriteString("It does not compile:\n")
	for _, d := range s.Diagnostics {
		fmt.Fprintf(&text, "%s\n", d)
	}
	return text.String()
}
