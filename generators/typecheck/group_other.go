//go:build !unix

package typecheck

import "os/exec"

// startGroup does nothing: process groups are not supported.
func startGroup(*exec.Cmd) {}

// interruptGroup kills a command: it cannot be interrupted.
func interruptGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }

// killGroup does nothing.
func killGroup(*exec.Cmd) {}
