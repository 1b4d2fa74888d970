package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/generators/cli"
	"github.com/petrock/petrock/generators/gocmd"
)

// handOver lets the workshop of the project that a command is about do it, at the version that the project
// has, with the generators that it has. It is not done if there is none, if PETROCK_WORKSHOP is
// off, or if it does not build; then this petrock does it, and in the last case says so.
func handOver(ctx context.Context, args []string, env cli.Env) (status int, done bool) {
	if os.Getenv("PETROCK_WORKSHOP") == "off" || !isForWorkshop(args) {
		return 0, false
	}
	found, err := project.Find(cli.Inside(env.Dir, dirFlag(args)))
	if err != nil {
		return 0, false // the command says so
	}
	if _, err := os.Stat(filepath.Join(found.Root, "cmd", "petrock")); err != nil {
		return 0, false
	}
	progress := cli.NewProgress(env.Err, slices.Contains(args, "--json"))
	progress.Begin("building the workshop")
	program, err := buildWorkshop(ctx, found.Root)
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

// isForWorkshop reports whether a command works on a project. Flags may come before it.
func isForWorkshop(args []string) bool {
	words := []string{"generate", "g", "undo", "history", "destroy", "sync", "list", "status"}
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "--dir":
			i++
		case !strings.HasPrefix(args[i], "-"):
			return slices.Contains(words, args[i])
		}
	}
	return false
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

// buildWorkshop builds the workshop of a project to a place of its own in the user's cache. If nothing
// has changed, Go finds that it is there.
func buildWorkshop(ctx context.Context, root string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(root))
	program := filepath.Join(cache, "petrock", "workshops", hex.EncodeToString(sum[:8]), "petrock")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		return "", err
	}
	_, errOut, err := gocmd.Run(ctx, gocmd.Options{Dir: root}, "go", "build", "-o", program, "./cmd/petrock")
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, bytes.TrimSpace(errOut))
	}
	return program, nil
}
