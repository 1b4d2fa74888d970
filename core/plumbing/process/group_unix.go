//go:build unix

package process

import (
	"os/exec"
	"syscall"
)

// SetGroup starts the process in a new process group, so that signals reach its children, and
// Ctrl-C in the terminal does not reach it.
func SetGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate sends SIGTERM to the process and its children.
func terminate(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// Kill sends SIGKILL to the process and its children.
func Kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
