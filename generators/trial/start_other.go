//go:build !linux

package trial

import (
	"os/exec"
	"time"

	"github.com/petrock/petrock/generators/typecheck"
)

// ownTimeout is the value of -test.timeout, in case this process ends first.
func ownTimeout(limit time.Duration) time.Duration { return limit + orphaned }

// start starts a test, without confinement.
func start(cmd *exec.Cmd, _ string, _ Limits) (*process, error) {
	typecheck.StartGroup(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &process{cmd: cmd, release: func() {}}, nil
}

// resident returns 0: memory is not measured on this system.
func resident(*exec.Cmd) int64 { return 0 }

// awaitExit waits until a process has ended.
func awaitExit(cmd *exec.Cmd) { cmd.Wait() }

// reap does nothing: awaitExit has reaped the process.
func reap(*exec.Cmd) {}
