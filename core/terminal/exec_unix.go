//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package terminal

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/petrock/petrock/core/stdfd"
)

// Exec replaces this process with a program whose standard output is out. It returns only on failure.
// It searches PATH for a program without a slash. It avoids package os/exec, which makes every server
// one percent larger.
func Exec(out *os.File, program string, args ...string) (exitCode int, err error) {
	if fd := int(out.Fd()); fd != syscall.Stdout {
		if err := stdfd.Replace(syscall.Stdout, fd); err != nil {
			return 0, err
		}
	}
	return 0, &os.PathError{Op: "exec", Path: program, Err: execFirst(candidates(program), append([]string{program}, args...))}
}

func candidates(program string) []string {
	if strings.Contains(program, "/") {
		return []string{program}
	}
	var paths []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.IsAbs(dir) {
			paths = append(paths, filepath.Join(dir, program))
		}
	}
	return paths
}

// execFirst replaces this process with the first path that can be executed.
func execFirst(paths, args []string) error {
	failed := syscall.ENOENT
	for _, path := range paths {
		switch err := syscall.Exec(path, args, os.Environ()); err {
		case syscall.ENOENT, syscall.ENOTDIR:
		case syscall.EACCES: // a directory, or a file that must not be executed
			failed = syscall.EACCES
		default:
			return err
		}
	}
	return failed
}
