package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/petrock/petrock/core/project"
)

// serveWorkshop hands standard input and output over to the project's workshop, which is
// built from source, as it is now, and returns when that ends.
func serveWorkshop(ctx context.Context, out *os.File) error {
	root, err := sourceRoot()
	if err != nil {
		return err
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

// sourceRoot is the folder of this project's source: the one around the working
// directory, or else the one that this program lies in.
func sourceRoot() (string, error) {
	var places []string
	if dir, err := os.Getwd(); err == nil {
		places = append(places, dir)
	}
	if program, err := os.Executable(); err == nil {
		places = append(places, filepath.Dir(program))
	}
	var reasons []error
	for _, place := range places {
		found, err := project.Find(place)
		switch {
		case err == nil && found.Name == programName:
			return found.Root, nil
		case err == nil:
			err = fmt.Errorf("%s is the project %s", found.Root, found.Name)
		}
		reasons = append(reasons, err)
	}
	return "", fmt.Errorf("mcp --dev needs the source of %s, and it is not here:\n%w\nrun it in the project's folder", programName, errors.Join(reasons...))
}
