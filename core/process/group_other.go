//go:build !unix

package process

import "os/exec"

// setProcessGroup does nothing, because this system has no process groups.
func setProcessGroup(*exec.Cmd) {}

// terminate does nothing, because this system has no SIGTERM.
func terminate(*exec.Cmd) {}

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
