//go:build unix

package live

import (
	"os/exec"
	"syscall"
)

// setProcessGroup starts the process in a new process group, so that signals reach its children,
// and Ctrl-C in the terminal does not reach it.
func setProcessGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// interrupt sends SIGINT to the process and its children.
func interrupt(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }

// kill sends SIGKILL to the process and its children.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
