package trial

import (
	"context"
	"errors"
	"os/exec"
	"time"
)

// A process is a running test.
type process struct {
	cmd      *exec.Cmd
	confined bool
	release  func() // called when it has ended
}

// wait waits for the process to end, and kills it if it exceeds a limit. It also kills processes that
// it left behind, unless they have their own process group.
func (p *process) wait(ctx context.Context, loud <-chan struct{}, l Limits) stop {
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		awaitExit(p.cmd)
	}()
	timer, look := time.NewTimer(l.Time), time.NewTicker(looking)
	defer timer.Stop()
	defer look.Stop()
	stopped := notStopped
	for running := true; running && stopped == notStopped; {
		select {
		case <-exited:
			running = false
		case <-timer.C:
			stopped = tooSlow
		case <-loud:
			stopped = tooLoud
		case <-ctx.Done():
			stopped = cancelled
		case <-look.C:
			if resident(p.cmd) > l.Memory {
				stopped = tooBig
			}
		}
	}
	if stopped != notStopped {
		kill(p.cmd)
		<-exited
	}
	kill(p.cmd) // processes that it left behind
	reap(p.cmd)
	p.release()
	return stopped
}

// also joins two errors if the second is not nil.
func also(err, second error) error {
	if second == nil {
		return err
	}
	return errors.Join(err, second)
}
