//go:build !linux

package trial

import (
	"os/exec"
	"time"

	"github.com/petrock/petrock/generators/typecheck"
)

// ownTimeout is the value of -test.timeout, in case this process ends first.
func ownTimeout(limit time.Duration) time.Duration { return limit + orphaned }

// Supervise returns false: trials start no supervisor on this system.
func Supervise() bool { return false }

// A process is a running test.
type process struct{ cmd *exec.Cmd }

func start(cmd *exec.Cmd, _ string, _ Limits) (*process, error) {
	typecheck.StartGroup(cmd)
	return &process{cmd}, cmd.Start()
}

// kill ends the test and, on Unix, the children in its process group.
func (p *process) kill() { typecheck.KillGroup(p.cmd) }

// wait waits until the test has ended, and returns how. On Unix it ends the children in its process
// group.
func (p *process) wait() (status int, words string) {
	p.cmd.Wait()
	p.kill()
	return p.cmd.ProcessState.ExitCode(), p.cmd.ProcessState.String()
}

// exceeds returns notStopped: memory and processes are not measured on this system.
func (p *process) exceeds(Limits) stop { return notStopped }

// unenforced lists the limits that the system could not enforce: all.
func (p *process) unenforced(l Limits) []string {
	all := []string{limitChildren, limitMemory, limitWrites, limitAttributes}
	if l.NoNet {
		all = append(all, limitNetwork)
	}
	return all
}
