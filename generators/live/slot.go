package live

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

const (
	firstDelay = 100 * time.Millisecond // before the first restart after a crash
	maxDelay   = 10 * time.Second
	holdDelay  = time.Second      // calls wait for a restart that is so near
	stableTime = 30 * time.Second // a server that ran for so long restarts after firstDelay
	againDelay = time.Minute      // while the last good build runs instead of one that did not start
)

// run keeps the server running until ctx ends.
func (sl *slot) run(ctx context.Context) {
	defer sl.closeAll()
	var last buildResult
	for ctx.Err() == nil {
		sl.s.sup.mu.Lock()
		b, changed, want, down := sl.s.sup.builds[sl.kind], sl.s.sup.changed, sl.wanted(), sl.down
		sl.s.sup.mu.Unlock()
		if b.program != last.program || b.err != last.err || b.restarts != last.restarts {
			sl.delay, sl.retry = firstDelay, nil
		}
		if b.count != last.count { // a file has changed
			sl.tried = launch{}
		}
		last = b
		switch p := sl.current.Load(); {
		case want.program.path == "" && b.err != nil && down != b.err:
			if p != nil { // it must not write, and no other one can be started
				sl.swap(nil)
			}
			sl.s.sup.update(func() { sl.down = b.err })
		case want.program.path == "" && p != nil: // for a call that needs the data for itself
			sl.swap(nil)
		case want.program.path == "": // it is stopped, or nothing is built yet
		case p == nil && want != sl.tried, p != nil && p.launch != want:
			sl.replace(ctx, want)
			continue
		}
		sl.wait(ctx, changed)
	}
}

// wait waits until something has changed, or the server has crashed, or is to be started again.
func (sl *slot) wait(ctx context.Context, changed <-chan struct{}) {
	p := sl.current.Load()
	var ended <-chan struct{} // nil if no server runs
	if p != nil {
		ended = p.done
	}
	select {
	case <-changed:
	case <-ctx.Done():
	case <-sl.retry:
		sl.retry, sl.tried = nil, launch{}
		sl.s.sup.update(func() { sl.failed = attempt{} })
	case <-ended:
		if sl.current.CompareAndSwap(p, nil) && ctx.Err() == nil {
			if time.Since(sl.began) > stableTime {
				sl.delay = firstDelay
			}
			sl.crashed(p.whyEnded())
		}
	}
}

// replace starts a program and makes it the server. Calls in flight finish on the old one.
func (sl *slot) replace(ctx context.Context, l launch) {
	sl.began, sl.tried = time.Now(), l
	sl.s.sup.update(func() { sl.starting = true })
	defer sl.s.sup.update(func() { sl.starting = false })
	err := sl.startWhileWanted(ctx, l)
	switch {
	case err != nil && ctx.Err() == nil:
		sl.notStarted(l, err)
	case err == nil:
		if sl.kind == serverKind && l.readOnly == "" {
			sl.s.sup.started(l.program)
		}
		sl.s.sup.logf("%s runs, started in %v", sl.folder(), time.Since(sl.began).Round(time.Millisecond))
	}
}

// startWhileWanted is start that fails if something else is wanted before the server answers. If
// that takes long, a read-only server answers meanwhile.
func (sl *slot) startWhileWanted(ctx context.Context, l launch) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_ = sl.s.sup.await(ctx, func() bool { return sl.wanted() != l }) // in any case, this launch has ended
		cancel()
	}()
	late := time.AfterFunc(sl.s.sup.files.slowStart, func() { sl.fallBack(ctx, l, sl.isLate(l)) })
	defer late.Stop()
	return sl.start(ctx, l)
}

// start starts a server and makes it the current one.
func (sl *slot) start(ctx context.Context, l launch) error {
	p, err := sl.connect(l)
	if err != nil {
		return err
	}
	if err = sl.s.install(ctx, sl, p); err != nil {
		p.close()
	}
	return err
}

// isLate reports that a server takes long to start. Calls that wait for it fail.
func (sl *slot) isLate(l launch) error {
	err := fmt.Errorf("%s was started %v ago and has not answered yet. It blocks, or it replays a long event log", sl.folder(), sl.s.sup.files.slowStart)
	sl.s.say("warning", err.Error()+". The last good build answers meanwhile, read-only, if there is one.")
	sl.s.sup.update(func() { sl.late, sl.down = attempt{l, err}, err })
	return err
}

// fallBack makes the running build read-only while a newer one takes long to start: events that it
// writes may be unreadable for the newer one. If it does not start again, it is stopped.
func (sl *slot) fallBack(ctx context.Context, l launch, late error) {
	running := sl.current.Load()
	if sl.kind != serverKind || running == nil || running.launch.readOnly != "" || l.readOnly != "" {
		return
	}
	readOnly := launch{program: running.launch.program, restarts: running.launch.restarts, readOnly: sl.s.sup.readOnlyReason(late, startLines)}
	if err := sl.start(ctx, readOnly); err != nil && ctx.Err() == nil && sl.current.Load() == running {
		sl.swap(nil)
	}
}

// notStarted records that a server did not start, and when to try again. It does nothing if
// something else is wanted now. A server that must not write any more is stopped, even if no other
// one can replace it.
func (sl *slot) notStarted(l launch, err error) {
	sl.retry = nil
	sl.s.sup.mu.Lock()
	b, isWanted := sl.s.sup.builds[sl.kind], sl.wanted() == l
	sl.s.sup.mu.Unlock()
	p := sl.current.Load()
	switch {
	case !isWanted:
		return
	case sl.kind == petrockKind && p != nil:
		sl.s.sup.update(func() { sl.failed = attempt{l, err} })
		sl.s.say("warning", fmt.Sprintf("%v. The dev server from before the last change still runs.", err))
		return
	case sl.kind == serverKind && l.readOnly == "" && b.good.path != "":
		isKnown := false
		sl.s.sup.update(func() {
			isKnown = p != nil && p.launch.readOnly == sl.s.sup.readOnlyReason(err, startLines)
			sl.failed = attempt{l, err}
		})
		if !isKnown {
			sl.s.say("error", fmt.Sprintf("%v. The last good build runs read-only.", err))
		}
		sl.retry = time.After(againDelay)
		return
	case p != nil:
		sl.swap(nil)
	}
	if l.readOnly != "" {
		cause := firstLines(cmp.Or(b.err, sl.failed.err), buildLines)
		err = fmt.Errorf("%s\nThe last good build does not start either: %s", cause, firstLines(err, startLines))
	}
	sl.crashed(err)
}

// crashed records why the server does not run, and when to restart it.
func (sl *slot) crashed(err error) {
	wait := sl.delay
	sl.retry, sl.delay = time.After(wait), min(2*wait, maxDelay)
	sl.s.say("error", fmt.Sprintf("%v. It is started again in %v.", err, wait))
	sl.s.sup.update(func() {
		sl.down = fmt.Errorf("%w. Petrock starts it again in %v, or after the next change of a file", err, wait)
		if wait <= holdDelay {
			sl.down = nil // calls wait for the restart
		}
	})
}
