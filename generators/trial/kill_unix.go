//go:build unix

package trial

import (
	"os/exec"
	"syscall"
)

// kill ends a process and all of its group.
func kill(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
