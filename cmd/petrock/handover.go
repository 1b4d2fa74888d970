package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/cli"
	"github.com/petrock/petrock/generators/typecheck"
)

// handOver lets the workshop of the project that a command is about do it, at the version that the project
// has, with the generators that it has. It is not done if there is none, if PETROCK_WORKSHOP is
// off, if nothing is to be run, or if it does not build; then this petrock does it, and in the last case says so.
func handOver(ctx context.Context, args []string, env cli.Env) (status int, done bool) {
	command := commandOf(args)
	if os.Getenv("PETROCK_WORKSHOP") == "off" || !isForWorkshop(command) || command == "mcp" && slices.Contains(args, "--no-exec") {
		return 0, false
	}
	found, err := project.Find(cli.Inside(env.Dir, dirFlag(args)))
	if err != nil {
		return 0, false // the command says so
	}
	if _, err := os.Stat(filepath.Join(found.Root, "cmd", "petrock")); err != nil {
		return 0, false
	}
	progress := terminal.NewProgress(env.Err, slices.Contains(args, "--json"))
	progress.Begin("building the workshop")
	program, err := typecheck.BuildProjectPetrock(ctx, found.Root)
	progress.End()
	if err == nil {
		status, err = become(program, args)
	}
	if err == nil {
		return status, true
	}
	fmt.Fprintf(env.Err, "petrock: the workshop of %s cannot do it, so the petrock that you started does: %v\n", found.Name, err)
	return 0, false
}

// isForWorkshop reports whether a command works on a project.
func isForWorkshop(command string) bool {
	return slices.Contains([]string{"generate", "g", "apply", "undo", "history", "destroy", "sync", "list", "status", "mcp"}, command)
}

// commandOf is the command among arguments, before which there may be flags.
func commandOf(args []string) string {
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "--dir":
			i++
		case !strings.HasPrefix(args[i], "-"):
			return args[i]
		}
	}
	return ""
}

// dirFlag is the folder that was given with --dir.
func dirFlag(args []string) string {
	for i, arg := range args {
		switch value, ok := strings.CutPrefix(arg, "--dir="); {
		case arg == "--":
			return ""
		case ok:
			return value
		case arg == "--dir" && i+1 < len(args):
			return args[i+1]
		}
	}
	return ""
}
