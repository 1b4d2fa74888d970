//go:build !linux

package trial

import (
	"os/exec"
	"time"

	"github.com/petrock/petrock/core/plumbing/process"
)

// ownTimeout returns the value of -test.timeout, which ends the test if this process ends first.
func ownTimeout(limit time.Duration) time.Duration { return limit + 5*time.Second }

// supervisesTest returns false: trials do not use a supervisor on this system.
func supervisesTest() bool { return false }

// A testProcess is a running test.
type testProcess struct{ cmd *exec.Cmd }

func start(cmd *exec.Cmd, _ string, _ Limits) (*testProcess, error) {
	process.SetGroup(cmd)
	return &testProcess{cmd}, cmd.Start()
}

// kill ends the test and, on Unix, the children in its process group.
func (p *testProcess) kill() { process.Kill(p.cmd) }

// wait waits for the test, and returns its exit status. On Unix it then ends the children in the
// test's process group.
func (p *testProcess) wait() (status int, description string) {
	p.cmd.Wait()
	p.kill()
	return p.cmd.ProcessState.ExitCode(), p.cmd.ProcessState.String()
}

// exceeds returns nothing: memory and processes are not limited on this system.
func (p *testProcess) exceeds(Limits) string { return "" }

// unenforced returns all limits.
func (p *testProcess) unenforced(l Limits) []string {
	all := []string{limitChildren, limitMemory, limitWrites, limitAttributes}
	if l.NoNet {
		all = append(all, limitNetwork)
	}
	return all
}
