//go:build !linux

package trial

import (
	"os/exec"
	"time"
)

// ownTimeout is the limit of time that a test is told itself, for the case that this process
// ends before it.
func ownTimeout(limit time.Duration) time.Duration { return limit + orphaned }

// start starts a test. What it writes, and where, nobody watches.
func start(cmd *exec.Cmd, _ string, _ Limits) (*process, error) {
	group(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &process{cmd: cmd, release: func() {}}, nil
}

// resident is how much memory a process uses, which is not known here.
func resident(*exec.Cmd) int64 { return 0 }

// awaitExit waits until a process has ended.
func awaitExit(cmd *exec.Cmd) { cmd.Wait() }

// reap has nothing to do, since it was waited for.
func reap(*exec.Cmd) {}
