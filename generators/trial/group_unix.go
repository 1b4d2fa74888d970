//go:build unix && !linux

package trial

import (
	"os/exec"
	"syscall"
)

// group starts a command in its own process group.
func group(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
