//go:build !unix

package typecheck

import "os/exec"

// StartGroup does nothing: process groups are not supported.
func StartGroup(*exec.Cmd) {}

// interruptGroup kills a command, because the system does not support interrupts.
func interruptGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }

// KillGroup kills a command, but not its children.
func KillGroup(cmd *exec.Cmd) { cmd.Process.Kill() }
