//go:build !unix

package trial

import "os/exec"

// kill ends a process. What that started is not known here.
func kill(cmd *exec.Cmd) { cmd.Process.Kill() }

// group does nothing: there are none.
func group(*exec.Cmd) {}
