// Package handover chooses and builds the petrock that belongs to a project. The command line and
// the dev server use it for operations that only that petrock can run.
package handover

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/petrock/petrock/core/plumbing/filelock"
	"github.com/petrock/petrock/core/plumbing/process"
)

// The programs of a project that petrock hands over to, by folder.
const (
	Petrock    = "generators/petrock"      // the project's petrock
	Generators = "internal/generators/run" // the project's petrock with the project's own generators
)

// An Operation describes an operation of the command line or the dev server in a project.
type Operation struct {
	Root      string // folder of the project
	IsCurrent bool   // this process was built from the project's generators
	NeedsOwn  bool   // it may use the project's own generators, which this process lacks
	NoExec    bool   // do not run code of the project
}

// Program returns the program of the project that must run the operation, or "" for this process.
// The error is an [UnavailableError] if the program must not run.
func (o Operation) Program() (string, error) {
	program := ""
	switch {
	case !o.IsCurrent && o.has(Petrock):
		program = Petrock // it hands over to Generators if needed
	case o.IsCurrent && o.NeedsOwn && o.has(Generators):
		program = Generators
	default:
		return "", nil
	}
	switch value := os.Getenv("PETROCK_HANDOVER"); {
	case value == "off":
		return "", &UnavailableError{"cannot run " + program + ": PETROCK_HANDOVER=off"}
	case value != "" && value != "on":
		return "", fmt.Errorf("PETROCK_HANDOVER=%s: unknown value; set it to off or on", value)
	case o.NoExec:
		return "", &UnavailableError{"cannot run " + program + ": --no-exec"}
	}
	return program, nil
}

func (o Operation) has(program string) bool {
	_, err := os.Stat(filepath.Join(o.Root, filepath.FromSlash(program)))
	return err == nil
}

// An UnavailableError reports that a program of the project cannot be run.
type UnavailableError struct{ Reason string }

// Error returns the reason.
func (e *UnavailableError) Error() string { return e.Reason }

// Build compiles a program of the project in root, with the files in overlay over those on disk,
// and returns the path of the executable, which is in the user's cache directory. If the program
// does not compile, the error is an [UnavailableError].
func Build(ctx context.Context, root, program string, overlay map[string][]byte) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := fnv.New128a()
	sum.Write([]byte(root + "\x00" + program))
	if len(overlay) > 0 {
		sum.Write([]byte("\x00overlay"))
	}
	folder := filepath.Join(cache, "petrock", "projects", hex.EncodeToString(sum.Sum(nil)))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("build %s: %w", program, err)
	}
	lock, err := filelock.WaitLock(ctx, filepath.Join(folder, "lock"), nil) // go build may copy the executable
	if err != nil {
		return "", fmt.Errorf("build %s: %w", program, err)
	}
	defer lock.Release()
	flag, err := writeOverlay(root, filepath.Join(folder, "overlay"), overlay)
	if err != nil {
		return "", fmt.Errorf("build %s: %w", program, err)
	}
	return BuildIn(ctx, root, program, folder, flag)
}

// writeOverlay writes files to a folder, and returns the flag of the go command that puts them over
// those of a project.
func writeOverlay(root, folder string, overlay map[string][]byte) (flag string, err error) {
	if err := os.RemoveAll(folder); err != nil || len(overlay) == 0 {
		return "-overlay=", err
	}
	replace := map[string]string{}
	for name, text := range overlay {
		file := filepath.Join(folder, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, text, 0o644)); err != nil {
			return "", err
		}
		replace[filepath.Join(root, filepath.FromSlash(name))] = file
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	list := filepath.Join(folder, "overlay.json")
	return "-overlay=" + list, errors.Join(err, os.WriteFile(list, text, 0o644))
}

// BuildIn is [Build] with the folder of the executable, which must exist, and flags of the go
// command instead of an overlay.
func BuildIn(ctx context.Context, root, program, folder string, flags ...string) (string, error) {
	executable := filepath.Join(folder, filepath.Base(program))
	if runtime.GOOS == "windows" {
		executable += ".exe"
	}
	_, errOut, err := process.Run(ctx, process.RunOptions{Dir: root}, "go", slices.Concat([]string{"build", "-buildvcs=false", "-ldflags=-w", "-o", executable}, flags, []string{"./" + program})...) // -w makes linking faster
	switch {
	case err == nil:
		return executable, nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case len(errOut) > 0:
		err = fmt.Errorf("%w\n%s", err, bytes.TrimSpace(errOut))
	}
	return "", &UnavailableError{fmt.Sprintf("build %s: %v", program, err)}
}
