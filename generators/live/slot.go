package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petrock/petrock/core/plumbing/project"
)

// A kind is one of the two servers that a session forwards to.
type kind int

const (
	serverKind  kind = iota // the project's server
	petrockKind             // petrock's dev server
)

// A slot keeps one server of a session running: it starts the newest build, replaces the server
// when there is a newer one, and restarts it when it crashes. If the newest build cannot run, the
// slot of the project's server runs the last good one read-only, and the slot of the dev server
// keeps the previous one.
type slot struct {
	s       *session
	kind    kind
	current atomic.Pointer[peer] // nil while no server runs

	// The mutex of the supervisor guards these. Its update changes them.
	down   error   // why no server runs; nil while the first one is being built
	failed attempt // the last launch that failed
	late   attempt // the last launch that takes long
	old    []*peer // replaced servers with calls in flight

	// Only run uses these.
	tried launch           // the last launch; if it failed, it is repeated after retry or a change
	began time.Time        // when it was tried
	retry <-chan time.Time // nil if only a change can help
	delay time.Duration    // before the next restart
}

// A launch is a program and how it is started.
type launch struct {
	program  program
	readOnly string // why it is started with --read-only; empty if it is not
	restarts int    // of the build
}

// An attempt is a launch that did not lead to a server, or has not yet.
type attempt struct {
	launch launch
	err    error // why; nil if there was no such launch
}

func (a attempt) is(l launch) bool { return a.err != nil && a.launch == l }

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
			sl.stop(b.err)
		case want.program.path == "": // it is stopped, or nothing is built yet
		case p == nil && want != sl.tried, p != nil && p.launch != want:
			sl.replace(ctx, want)
			continue
		}
		sl.wait(ctx, changed)
	}
}

// wanted returns what to run. Its program is zero if nothing can run. The caller holds the mutex of
// the supervisor.
func (sl *slot) wanted() launch {
	b := &sl.s.sup.builds[sl.kind]
	want := launch{program: b.program, restarts: b.restarts}
	hasFailed := sl.failed.is(want)
	switch p := sl.current.Load(); {
	case sl.kind == petrockKind && hasFailed && p != nil:
		return p.launch
	case sl.kind == petrockKind:
	case b.err != nil:
		want.program, want.readOnly = b.good, sl.s.sup.readOnlyReason(b.err, buildLines)
	case hasFailed && b.good.path != "":
		want.program, want.readOnly = b.good, sl.s.sup.readOnlyReason(sl.failed.err, startLines)
	}
	return want
}

// stop ends a server that must not write, if no other one can be started because of an error.
func (sl *slot) stop(cause error) {
	if sl.current.Load() != nil {
		sl.swap(nil)
	}
	sl.s.sup.update(func() { sl.down = cause })
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

// maxOld limits the replaced servers that still have calls in flight.
const maxOld = 4

// swap makes a server, or none, the current one and retires the previous one.
func (sl *slot) swap(p *peer) {
	var before, oldest *peer
	sl.s.sup.update(func() {
		before = sl.current.Swap(p)
		sl.down = nil
		sl.old = slices.DeleteFunc(slices.Clone(sl.old), (*peer).hasEnded)
		if before != nil {
			sl.old = append(sl.old, before)
		}
		if over := len(sl.old) - maxOld; over > 0 {
			oldest = sl.old[over-1] // those before it are being closed
		}
	})
	if before != nil {
		before.retire()
	}
	if oldest != nil {
		go oldest.close() // its calls get an error
	}
}

// closeAll ends all servers, and waits for them.
func (sl *slot) closeAll() {
	var ending sync.WaitGroup
	for _, p := range sl.all() {
		ending.Go(p.close)
	}
	ending.Wait()
}

// await returns the running server. It waits until there is one, or returns why there is none.
func (sl *slot) await(ctx context.Context) (p *peer, err error) {
	var down error
	err = sl.s.sup.await(ctx, func() bool {
		if p = sl.current.Load(); p != nil && p.hasEnded() {
			p = nil
		}
		down = sl.down
		return p != nil || down != nil
	})
	if p == nil {
		err = cmp.Or(err, down)
	}
	return p, err
}

// awaitSettled waits until the slot runs the server that it wants, or has failed to.
func (sl *slot) awaitSettled(ctx context.Context) {
	_ = sl.s.sup.await(ctx, func() bool { // when ctx ends, the caller does
		p, want := sl.current.Load(), sl.wanted()
		return p == nil && sl.down != nil || p != nil && p.launch == want && !p.hasEnded() || sl.late.is(want)
	})
}

// all returns the running servers: the current one and its predecessors.
func (sl *slot) all() []*peer {
	sl.s.sup.mu.Lock()
	defer sl.s.sup.mu.Unlock()
	all := sl.old
	if p := sl.current.Load(); p != nil {
		all = append(slices.Clip(all), p)
	}
	return all
}

func (sl *slot) folder() string {
	if sl.kind == petrockKind {
		return petrockFolder
	}
	return "cmd/" + sl.s.sup.o.Name
}

func (sl *slot) args(l launch) []string {
	o := sl.s.sup.o
	if sl.kind == petrockKind {
		return []string{"mcp", "--prefix", Prefix, fmt.Sprintf("--no-net=%t", o.NoNet), fmt.Sprintf("--no-exec=%t", o.NoExec)}
	}
	args := []string{"mcp"}
	if l.readOnly != "" {
		args = append(args, "--read-only="+l.readOnly)
	}
	return append(args, o.Args...)
}

// env returns the variables that are added to the environment for a program.
func (sl *slot) env(prog program) map[string]string {
	env := map[string]string{}
	if stamp, err := project.Stamp(prog.path); err == nil && prog.features != "" {
		env[project.Variable(sl.s.sup.o.Name, "features")] = stamp + " " + prog.features
	}
	return env
}
