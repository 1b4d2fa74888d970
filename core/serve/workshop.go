package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/petrock/petrock/core/project"
)

// serveWorkshop hands standard input and output over to the project's workshop, which is
// built from source, as it is now, and returns when that ends.
func serveWorkshop(ctx context.Context, out *os.File) error {
	root, err := project.Source(programName)
	if err != nil {
		return fmt.Errorf("mcp --dev needs the source of %s, and it is not here:\n%w\nrun it in the project's folder", programName, err)
	}
	workshop := exec.CommandContext(ctx, "go", "run", "./cmd/petrock", "mcp")
	workshop.Dir = root
	workshop.Stdin, workshop.Stdout, workshop.Stderr = os.Stdin, out, os.Stderr
	err = workshop.Run()
	switch exit := (*exec.ExitError)(nil); {
	case errors.Is(err, exec.ErrNotFound):
		return errors.New("mcp --dev builds the workshop from source, and there is no go command in PATH; install Go, see https://go.dev/dl")
	case errors.As(err, &exit):
		return fmt.Errorf("the workshop ended with %v; its own words are above", exit)
	case err != nil:
		return fmt.Errorf("starting the workshop in %s: %w", root, err)
	}
	return nil
}
