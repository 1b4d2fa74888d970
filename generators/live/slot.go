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

// maxOld limits the replaced servers that still have calls in flight.
const maxOld = 4

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

// env returns the variables that are added to the environment of a program.
func (sl *slot) env(prog program) map[string]string {
	env := map[string]string{}
	if stamp, err := project.Stamp(prog.path); err == nil && prog.features != "" {
		env[project.Variable(sl.s.sup.o.Name, "features")] = stamp + " " + prog.features
	}
	return env
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

const (
	firstDelay = 100 * time.Millisecond // before the first restart after a crash
	maxDelay   = 10 * time.Second
	holdDelay  = time.Second      // calls wait for a restart that is so near
	stableTime = 30 * time.Second // a server that ran for so long restarts after firstDelay
	againDelay = time.Minute      // while the last good build runs instead of one that did not start
)

// run keeps the server running until ctx ends.
func (sl *slot) run(ctx context.Context) {
	var retry <-chan time.Time
	var tried launch // what retry starts again; meanwhile, the last good build may run
	delay := firstDelay
	var since time.Time
	var last buildResult
	for ctx.Err() == nil {
		sl.s.sup.mu.Lock()
		b, changed, want, down := sl.s.sup.builds[sl.kind], sl.s.sup.changed, sl.wanted(), sl.down
		sl.s.sup.mu.Unlock()
		p := sl.current.Load()
		if b.program != last.program || b.err != last.err || b.restarts != last.restarts {
			delay, retry = firstDelay, nil
		}
		if b.count != last.count {
			tried = launch{} // a file has changed
		}
		last = b
		if want.program.path != "" && (p == nil && want != tried || p != nil && p.launch != want) {
			since, tried = time.Now(), want
			err := sl.replace(ctx, want) // fails if something else is wanted meanwhile
			if err != nil && ctx.Err() == nil {
				retry = sl.notStarted(want, err, &delay)
			}
			continue
		}
		if b.err != nil && want.program.path == "" {
			if p != nil { // it must not write, and cannot be started again
				sl.swap(nil)
				p = nil
			}
			if down != b.err { // otherwise run would wake itself again and again
				sl.s.sup.update(func() { sl.down = b.err })
			}
		}
		var done chan struct{}
		if p != nil {
			done = p.done
		}
		select {
		case <-changed:
		case <-retry:
			retry, tried = nil, launch{}
			sl.s.sup.update(func() { sl.failed = attempt{} })
		case <-done:
			if sl.current.CompareAndSwap(p, nil) && ctx.Err() == nil {
				if time.Since(since) > stableTime {
					delay = firstDelay
				}
				retry = sl.crashed(p.whyEnded(), &delay)
			}
		case <-ctx.Done():
		}
	}
	sl.closeAll()
}

// closeAll ends all servers, and waits for them.
func (sl *slot) closeAll() {
	var ending sync.WaitGroup
	for _, p := range sl.all() {
		ending.Go(p.close)
	}
	ending.Wait()
}

// notStarted records that a server did not start, and returns when to try again. It does nothing if
// something else is wanted now. A server that must not write any more is stopped, even if no other
// one can replace it.
func (sl *slot) notStarted(l launch, err error, delay *time.Duration) (retry <-chan time.Time) {
	sl.s.sup.mu.Lock()
	b, isWanted := sl.s.sup.builds[sl.kind], sl.wanted() == l
	sl.s.sup.mu.Unlock()
	p := sl.current.Load()
	switch {
	case !isWanted:
		return nil
	case sl.kind == petrockKind && p != nil:
		sl.s.sup.update(func() { sl.failed = attempt{l, err} })
		sl.s.say("warning", fmt.Sprintf("%v. The dev server from before the last change still runs.", err))
		return nil
	case sl.kind == serverKind && l.readOnly == "" && b.good.path != "":
		isKnown := false
		sl.s.sup.update(func() {
			isKnown = p != nil && p.launch.readOnly == sl.s.sup.readOnlyReason(err, startLines)
			sl.failed = attempt{l, err}
		})
		if !isKnown {
			sl.s.say("error", fmt.Sprintf("%v. The last good build runs read-only.", err))
		}
		return time.After(againDelay)
	case p != nil:
		sl.swap(nil)
	}
	if l.readOnly != "" {
		cause := firstLines(cmp.Or(b.err, sl.failed.err), buildLines)
		err = fmt.Errorf("%s\nThe last good build does not start either: %s", cause, firstLines(err, startLines))
	}
	return sl.crashed(err, delay)
}

// crashed records why the server does not run, and returns when to restart it.
func (sl *slot) crashed(err error, delay *time.Duration) <-chan time.Time {
	wait := *delay
	*delay = min(2*wait, maxDelay)
	sl.s.say("error", fmt.Sprintf("%v. It is started again in %v.", err, wait))
	sl.s.sup.update(func() {
		sl.down = fmt.Errorf("%w. Petrock starts it again in %v, or after the next change of a file", err, wait)
		if wait <= holdDelay {
			sl.down = nil // calls wait for the restart
		}
	})
	return time.After(wait)
}

// replace starts a program and makes it the server. Calls in flight finish on the old one. It fails
// if something else is wanted before the server answers.
func (sl *slot) replace(ctx context.Context, l launch) error {
	began := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_ = sl.s.sup.await(ctx, func() bool { return sl.wanted() != l }) // in any case, this launch has ended
		cancel()
	}()
	late := time.AfterFunc(sl.s.sup.files.slowStart, func() { sl.fallBack(ctx, l, sl.isLate(l)) })
	defer late.Stop()
	err := sl.start(ctx, l)
	if err == nil {
		if sl.kind == serverKind && l.readOnly == "" {
			sl.s.sup.started(l.program)
		}
		sl.s.sup.logf("%s runs, started in %v", sl.folder(), time.Since(began).Round(time.Millisecond))
	}
	return err
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
