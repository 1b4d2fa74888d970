//go:build !unix

package live

import "os/exec"

// setProcessGroup does nothing, because this system has no process groups.
func setProcessGroup(*exec.Cmd) {}

// interrupt kills the process, because this system has no SIGINT.
func interrupt(cmd *exec.Cmd) error { return cmd.Process.Kill() }

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
