package trial

import (
	"context"
	"errors"
	"os/exec"
	"time"
)

// A process is a test that runs.
type process struct {
	cmd      *exec.Cmd
	confined bool
	release  func() // to be called when it has ended
}

// wait waits for the end of a process, and brings it about if it has to. It ends those that the
// process started and left behind, unless they went into a group of their own.
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
	kill(p.cmd) // what is left
	reap(p.cmd)
	p.release()
	return stopped
}

// also is an error together with a second one, if there is one.
func also(err, second error) error {
	if second == nil {
		return err
	}
	return errors.Join(err, second)
}
