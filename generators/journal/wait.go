package journal

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The pause between two attempts, and the time before WaitLock calls waiting.
const (
	firstPause = 2 * time.Millisecond
	lastPause  = 50 * time.Millisecond
	patience   = time.Second
)

// WaitLock is [TryLock] that waits until the lock is free or ctx ends. After a second it calls waiting,
// once; waiting may be nil. The order of waiters is undefined.
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
