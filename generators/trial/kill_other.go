//go:build !unix

package trial

import "os/exec"

// kill kills a process, but not its children.
func kill(cmd *exec.Cmd) { cmd.Process.Kill() }

// group does nothing: process groups are not supported.
func group(*exec.Cmd) {}
