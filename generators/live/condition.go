package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

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
