//go:build unix && !linux

package trial

import (
	"os/exec"
	"syscall"
)

// group puts what a command starts into a group of its own.
func group(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
