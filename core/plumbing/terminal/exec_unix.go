//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package terminal

import (
	"os"
	"os/exec"
	"syscall"

	"github.com/petrock/petrock/core/stdfd"
)

// Exec replaces this process with a program whose standard output is out. It returns only on
// failure. It searches PATH for a program without a slash.
func Exec(out *os.File, program string, args ...string) (exitCode int, err error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return 0, err
	}
	if fd := int(out.Fd()); fd != syscall.Stdout {
		if err := stdfd.Replace(syscall.Stdout, fd); err != nil {
			return 0, err
		}
	}
	return 0, &os.PathError{Op: "exec", Path: path, Err: syscall.Exec(path, append([]string{program}, args...), os.Environ())}
}
