// Package handover chooses, builds and starts the petrock that belongs to a project. The command
// line and the dev server use it for what only that petrock can do.
package handover

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/petrock/petrock/generators/typecheck"
)

// The programs of a project that petrock hands over to, by folder.
const (
	Petrock    = "cmd/petrock"             // the project's petrock
	Generators = "internal/generators/run" // the project's petrock with the project's own generators
)

// An Operation is what the command line or the dev server is about to do in a project.
type Operation struct {
	Root      string // the project's folder
	IsCurrent bool   // this process was built from the project's folder generators
	NeedsOwn  bool   // it may use the project's own generators, which this process does not have
	NoExec    bool   // no code of the project may be run
}

// Program returns the program of the project that has to run an operation; empty if this process
// has to. The error is an [UnavailableError] if the program must not be run.
func (o Operation) Program() (string, error) {
	program := ""
	switch {
	case !o.IsCurrent:
		program = Petrock // which hands over to Generators if needed
	case o.NeedsOwn:
		program = Generators
	}
	if _, err := os.Stat(filepath.Join(o.Root, filepath.FromSlash(program))); err != nil || program == "" {
		return "", nil
	}
	switch value := os.Getenv("PETROCK_HANDOVER"); {
	case value == "off":
		return "", &UnavailableError{program + " is not run: PETROCK_HANDOVER=off is set"}
	case value != "" && value != "on":
		return "", fmt.Errorf("PETROCK_HANDOVER=%s: unknown value; set it to off or on", value)
	case o.NoExec:
		return "", &UnavailableError{program + " is not run: --no-exec is given"}
	}
	return program, nil
}

// An UnavailableError says why a program of the project cannot be run.
type UnavailableError struct{ Reason string }

// Error returns the reason.
func (e *UnavailableError) Error() string { return e.Reason }

// Build compiles a program of the project in root, and returns the path of the executable in the
// user's cache directory. If nothing has changed, the go command does not link it again. If the
// program does not compile, the error is an [UnavailableError].
func Build(ctx context.Context, root, program string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(root + "\x00" + program))
	executable := filepath.Join(cache, "petrock", "projects", hex.EncodeToString(sum[:8]), "petrock")
	if runtime.GOOS == "windows" {
		executable += ".exe"
	}
	if err := os.MkdirAll(filepath.Dir(executable), 0o755); err != nil {
		return "", err
	}
	_, errOut, err := typecheck.RunCommand(ctx, typecheck.CommandOptions{Dir: root}, "go", "build", "-o", executable, "./"+program)
	if err != nil && ctx.Err() == nil {
		err = &UnavailableError{fmt.Sprintf("build %s: %v\n%s", program, err, bytes.TrimSpace(errOut))}
	}
	return executable, err
}
