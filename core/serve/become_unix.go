//go:build unix

package serve

import (
	"os"
	"path/filepath"
	"syscall"

	"github.com/petrock/petrock/core/stdfd"
)

// become replaces this process by a program from PATH, with out as its standard output. It returns only if that fails. It does not use
// package os/exec, which would make every server one percent larger.
func become(out *os.File, args ...string) error {
	if err := stdfd.Replace(syscall.Stdout, int(out.Fd())); err != nil {
		return err
	}
	err := error(syscall.ENOENT)
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.IsAbs(dir) && err == syscall.ENOENT {
			err = syscall.Exec(filepath.Join(dir, args[0]), args, os.Environ())
		}
	}
	return &os.PathError{Op: "exec", Path: args[0], Err: err}
}
