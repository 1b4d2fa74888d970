//go:build unix

package process

import (
	"os/exec"
	"syscall"
)

// setProcessGroup starts the process in a new process group, so that signals reach its children, and
// Ctrl-C in the terminal does not reach it.
func setProcessGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate sends SIGTERM to the process and its children.
func terminate(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// kill sends SIGKILL to the process and its children.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
