//go:build !unix

package child

import "os/exec"

// ownGroup does nothing: there are no groups here.
func ownGroup(*exec.Cmd) {}

// terminate does nothing: there is no way here to ask a process to end but to close its input.
func terminate(*exec.Cmd) {}

// kill ends a process.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
