//go:build !unix

package process

import "os/exec"

// SetGroup does nothing, because this system has no process groups.
func SetGroup(*exec.Cmd) {}

// terminate does nothing, because this system has no SIGTERM.
func terminate(*exec.Cmd) {}

// Kill ends the process.
func Kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
