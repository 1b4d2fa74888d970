//go:build !linux

package trial

import (
	"os/exec"
	"time"

	"github.com/petrock/petrock/generators/typecheck"
)

// ownTimeout returns the value of -test.timeout, which ends the test if this process ends first.
func ownTimeout(limit time.Duration) time.Duration { return limit + timeoutMargin }

// Supervise returns false: trials do not use a supervisor on this system.
func Supervise() bool { return false }

// A process is a running test.
type process struct{ cmd *exec.Cmd }

func start(cmd *exec.Cmd, _ string, _ Limits) (*process, error) {
	typecheck.StartGroup(cmd)
	return &process{cmd}, cmd.Start()
}

// kill ends the test and, on Unix, the children in its process group.
func (p *process) kill() { typecheck.KillGroup(p.cmd) }

// wait waits for the test, and returns its exit status. On Unix it then ends the children in the test's
// process group.
func (p *process) wait() (status int, description string) {
	p.cmd.Wait()
	p.kill()
	return p.cmd.ProcessState.ExitCode(), p.cmd.ProcessState.String()
}

// exceeds returns notStopped: memory and processes are not limited on this system.
func (p *process) exceeds(Limits) stopReason { return notStopped }

// unenforced returns all limits.
func (p *process) unenforced(l Limits) []string {
	all := []string{limitChildren, limitMemory, limitWrites, limitAttributes}
	if l.NoNet {
		all = append(all, limitNetwork)
	}
	return all
}
