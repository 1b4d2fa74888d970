package create

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/petrock/petrock/cmd/petrock/internal/place"
	"github.com/petrock/petrock/cmd/petrock/internal/scaffold"
	"github.com/petrock/petrock/generators/check"
)

// verify compiles the project, tests included, and links its programs, as if it were at its
// destination already: an overlay puts the files there, and a workspace makes it a module
// that Go knows, although there is nothing. What Go compiles so, it finds in its cache when
// the project is there in truth.
func verify(ctx context.Context, to *place.Place, files []scaffold.File, result *Result) error {
	flags, env, err := pretend(to, files)
	if err != nil {
		return err
	}
	checked, err := check.Run(ctx, check.Options{
		Dir:      to.Scratch(),
		Root:     to.Dest(),
		Patterns: []string{filepath.Join(to.Dest(), "...")},
		Flags:    flags,
		Env:      env,
	})
	if err == nil && len(checked.Diagnostics) > 0 {
		err = &brokenError{checked.Diagnostics}
	}
	if err == nil {
		err = link(ctx, to, flags, env, result.Programs)
	}
	if err != nil && ctx.Err() == nil {
		return explain(ctx, err, files)
	}
	return err
}

// pretend gives the flags and the environment with which Go sees the files at the destination.
func pretend(to *place.Place, files []scaffold.File) (flags, env []string, err error) {
	var overlay struct{ Replace map[string]string }
	overlay.Replace = map[string]string{}
	for _, file := range files {
		name := filepath.FromSlash(file.Path)
		overlay.Replace[filepath.Join(to.Dest(), name)] = filepath.Join(to.Dir(), name)
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return nil, nil, err
	}
	overlayFile := filepath.Join(to.Scratch(), "overlay.json")
	workFile := filepath.Join(to.Scratch(), "go.work")
	work := "go 1.26.0\n\nuse " + modfile.AutoQuote(filepath.ToSlash(to.Dest())) + "\n"
	if err := os.WriteFile(overlayFile, text, 0o644); err != nil {
		return nil, nil, err
	}
	if err := os.WriteFile(workFile, []byte(work), 0o644); err != nil {
		return nil, nil, err
	}
	return []string{"-overlay=" + overlayFile, "-mod=readonly", "-buildvcs=false"}, []string{"GOWORK=" + workFile}, nil
}

// link builds the programs. Where there are several, go build throws the results away.
func link(ctx context.Context, to *place.Place, flags, env, programs []string) error {
	args := append([]string{"build"}, flags...)
	for _, program := range programs {
		args = append(args, filepath.Join(to.Dest(), filepath.FromSlash(program)))
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = to.Scratch()
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the programs: %w\n%s", err, bytes.TrimSpace(out))
	}
	return nil
}

// A brokenError says that what was written does not compile.
type brokenError struct{ found []check.Diagnostic }

func (e *brokenError) Error() string {
	var text strings.Builder
	text.WriteString("the project does not compile, so it was not made:")
	for _, d := range e.found[:min(10, len(e.found))] {
		fmt.Fprintf(&text, "\n%s", d)
	}
	return text.String()
}

// explain looks for the usual reason when Go cannot compile a project that is as it should be:
// a module that is not on this machine and could not be fetched.
func explain(ctx context.Context, err error, files []scaffold.File) error {
	missing := missingModules(ctx, files)
	if len(missing) == 0 {
		return err
	}
	return fmt.Errorf("modules that the project needs are not on this machine. With a network, run\n  go mod download %s\nand try again. Go says:\n%w", strings.Join(missing, " "), err)
}
