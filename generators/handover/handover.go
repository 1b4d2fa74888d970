// Package handover builds and starts the petrock that belongs to a project. The command line and
// the dev server use it for what only that petrock can do.
package handover

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
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

// IsDisabled reports whether PETROCK_HANDOVER=off is set: then no code of a project is run.
func IsDisabled() bool { return os.Getenv("PETROCK_HANDOVER") == "off" }

// Exists reports whether the project in root has a program.
func Exists(root, program string) bool {
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(program)))
	return err == nil
}

// Build compiles a program of the project in root, and returns the path of the executable in the
// user's cache directory. If nothing has changed, the go command does not link it again.
func Build(ctx context.Context, root, program string) (string, error) {
	if IsDisabled() {
		return "", errors.New("PETROCK_HANDOVER=off is set")
	}
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
		err = fmt.Errorf("%w\n%s", err, bytes.TrimSpace(errOut))
	}
	return executable, err
}
