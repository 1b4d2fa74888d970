//go:build unix

package typecheck

import (
	"os/exec"
	"syscall"
)

// StartGroup makes a command start in its own process group.
func StartGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func interruptGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }

// KillGroup kills the process group of a command that [StartGroup] prepared.
func KillGroup(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
