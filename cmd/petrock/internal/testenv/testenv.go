// Package testenv prepares the environment of tests that compile generated projects.
package testenv

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/petrock/petrock/cmd/petrock/internal/create"
	"github.com/petrock/petrock/cmd/petrock/internal/scaffold"
	"github.com/petrock/petrock/core/plumbing/filelock"
)

// GoFlags is GOFLAGS for every go command that the tests run. With -trimpath, all copies of a
// project share the build cache. Linking is faster without debug information, and compiling takes
// two thirds of the time without inlining.
const GoFlags = "-trimpath -ldflags=-w -gcflags=all=-l"

// Warm compiles the project hello into the build cache, unless the cache has it. If test programs
// run in parallel, the first one compiles and the others wait.
func Warm(ctx context.Context) (err error) {
	hello := scaffold.Answers{Name: "hello", Module: "hello"}
	files, err := scaffold.Embedded().Make(hello)
	if err != nil {
		return err
	}
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version(), GoFlags)
	for _, file := range files {
		fmt.Fprintf(sum, "%s %x\n", file.Path, sha256.Sum256(file.Data))
	}
	out, err := exec.CommandContext(ctx, "go", "env", "GOCACHE").Output()
	if err != nil {
		return err
	}
	cache := strings.TrimSpace(string(out))
	lock, err := filelock.WaitLock(ctx, filepath.Join(cache, "petrock-tests.lock"), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	marker, state := filepath.Join(cache, "petrock-tests.sum"), fmt.Sprintf("%x", sum.Sum(nil))
	if done, err := os.ReadFile(marker); err == nil && string(done) == state {
		return nil
	}
	base, err := os.MkdirTemp("", "petrock")
	if err != nil {
		return err
	}
	defer os.RemoveAll(base)
	if _, err := create.Run(ctx, scaffold.Embedded(), create.Options{Answers: hello, Dir: hello.Name, Base: base, NoGit: true}); err != nil {
		return err
	}
	return os.WriteFile(marker, []byte(state), 0o644)
}
