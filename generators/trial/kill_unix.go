//go:build unix

package trial

import (
	"os/exec"
	"syscall"
)

func kill(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
