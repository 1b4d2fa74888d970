package app

import "context"

// lock locks the states for changing them. They may be locked for long, while they are made again: it ends with ctx.
func (a *App) lock(ctx context.Context) error {
	return wait(ctx, a.mu.TryLock, a.mu.Lock, a.mu.Unlock)
}

// lockToRead is lock for reading.
func (a *App) lockToRead(ctx context.Context) error {
	return wait(ctx, a.mu.TryRLock, a.mu.RLock, a.mu.RUnlock)
}

// wait takes a lock. If ctx ends before, it is given back as soon as it is there.
func wait(ctx context.Context, try func() bool, lock, unlock func()) error {
	if try() {
		return nil
	}
	if ctx.Done() == nil {
		lock()
		return nil
	}
	locked := make(chan struct{})
	go func() {
		lock()
		close(locked)
	}()
	select {
	case <-locked:
		return nil
	case <-ctx.Done():
		go func() {
			<-locked
			unlock()
		}()
		return context.Cause(ctx)
	}
}
