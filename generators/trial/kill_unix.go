//go:build unix

package trial

import (
	"os/exec"
	"syscall"
)

// kill kills a process and its group.
func kill(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
