package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
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

// Lines of a reason that a client sees.
const (
	buildLines = 6 // of the go command
	startLines = 2 // the others are commands for a terminal
	maxReason  = 1000
)

// readOnlyReason returns why the last good build runs, for the server and for results of petrock's
// tools: the first lines of an error, and what to do.
func (s *Supervisor) readOnlyReason(err error, lines int) string {
	reason := "it runs the last good build, because " + firstLines(err, lines)
	if !s.o.NoPetrock {
		reason += fmt.Sprintf("\nNext: fix the code with %[1]sedit or %[1]sundo, or the stored events with %[1]slog. %[1]sproject_status has all errors, and %[1]sbuild restarts the server.", Prefix)
	}
	return reason
}

// firstLines returns the first lines of an error.
func firstLines(err error, lines int) string {
	text := strings.SplitN(strings.TrimSpace(err.Error()), "\n", lines+1)
	return strictjson.Clip(strings.Join(text[:min(len(text), lines)], "\n"), maxReason)
}

// condition returns what the project's server does instead of serving the source on disk, and why.
// The state is empty if it serves it.
func (sl *slot) condition() (state, reason string) {
	sl.s.sup.mu.Lock()
	defer sl.s.sup.mu.Unlock()
	want := sl.wanted()
	switch p := sl.current.Load(); {
	case sl.late.is(want) && (p == nil || p.launch != want):
		return "starting", sl.late.err.Error() + ". Meanwhile the last good build, if there is one, answers read-only"
	case p != nil && p.launch.readOnly != "":
		return "read-only", p.launch.readOnly
	case p == nil && sl.down != nil:
		return "stopped", strictjson.Clip(sl.down.Error(), 2*maxReason)
	}
	return "", ""
}

// restarts reports whether the server is restarted after a call of petrock's tools: log, if it has
// changed how events are read, and build.
func restarts(call, answer *jsonrpc.Message) bool {
	if answer.Result() == nil || isTrue(answer.Result(), "isError") {
		return false
	}
	switch text(param(call, "name")) {
	case Prefix + "build":
		return !isTrue(call.Params(), "arguments", "no_compile")
	case Prefix + "log":
		return slices.Contains([]string{"skip", "map", "restore"}, text(param(call, "arguments", "action")))
	}
	return false
}

// stamp returns a response of the server with its build in the _meta of the result. A result
// without members stays as it is: in revisions before 2026-07-28, some clients accept only {}. All
// answers stay as they are without petrock's tools.
func (p *peer) stamp(raw []byte) []byte {
	if p.s.sup.o.NoPetrock {
		return raw
	}
	isCurrent := p.s.sup.isCurrent(p.slot.kind, p.launch.program)
	build := object(nil).with("id", quote(fmt.Sprintf("%x", p.launch.program.id))).with("current", strconv.AppendBool(nil, isCurrent))
	if p.launch.readOnly != "" {
		build = build.with("readOnly", []byte("true"))
	}
	return withMeta(raw, "petrock/build", build.json())
}

// withMeta returns a response with one more member in the _meta of its result. It returns a result
// without members as it is.
func withMeta(raw []byte, key string, value []byte) []byte {
	result := strictjson.Member(raw, "result")
	meta, rest := without(strictjson.Member(result, "_meta")).with(key, value), without(result, "_meta")
	if len(rest) == 0 {
		return raw
	}
	return without(raw, "result").with("result", rest.with("_meta", meta.json()).json()).json()
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
	case sl.s.sup.held > 0:
		return launch{}
	case b.err != nil:
		want.program, want.readOnly = b.good, sl.s.sup.readOnlyReason(b.err, buildLines)
	case hasFailed && b.good.path != "":
		want.program, want.readOnly = b.good, sl.s.sup.readOnlyReason(sl.failed.err, startLines)
	}
	return want
}

// awaitSettled waits until the slot runs the server that it wants, or has failed to.
func (sl *slot) awaitSettled(ctx context.Context) {
	_ = sl.s.sup.await(ctx, func() bool { // when ctx ends, the caller does
		p, want := sl.current.Load(), sl.wanted()
		return p == nil && sl.down != nil || p != nil && p.launch == want && !p.hasEnded() || sl.late.is(want)
	})
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

// closeAll ends all servers, and waits for them.
func (sl *slot) closeAll() {
	var ending sync.WaitGroup
	for _, p := range sl.all() {
		ending.Go(p.close)
	}
	ending.Wait()
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

// maxOld limits the replaced servers that still have calls in flight.
const maxOld = 4
