//go:build unix

package child

import (
	"os/exec"
	"syscall"
)

// ownGroup puts a process into a group of its own: what it starts is ended with it, and an interrupt from the terminal goes to us
// alone, who end it in an orderly way.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate tells a process and what it has started to end.
func terminate(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// kill ends a process and what it has started.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
