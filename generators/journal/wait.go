package journal

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// How long Wait pauses between two tries, and when it says that it waits.
const (
	firstPause = 2 * time.Millisecond
	lastPause  = 50 * time.Millisecond
	patience   = time.Second
)

// WaitLock takes the lock of a path as [Try] does, as soon as it is free. It gives up when ctx
// ends; the error is then that of ctx. If it takes a second, waiting is called, once; it may be
// nil. Who has waited longest does not come first.
func WaitLock(ctx context.Context, path string, waiting func()) (*Lock, error) {
	begin := time.Now()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("waiting for %s: %w", path, ctx.Err())
		}
		lock, err := TryLock(path)
		if !errors.Is(err, ErrLocked) {
			return lock, err
		}
		if waiting != nil && time.Since(begin) >= patience {
			waiting()
			waiting = nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}
