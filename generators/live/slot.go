package live

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petrock/petrock/core/project"
)

// A kind is one of the two servers that a session forwards to.
type kind int

const (
	serverKind  kind = iota // the project's server
	petrockKind             // petrock's dev server
)

// A slot keeps one server of a session running: it starts the newest build, replaces the server when
// there is a newer one, and restarts it when it crashes.
type slot struct {
	s       *session
	kind    kind
	current atomic.Pointer[peer] // nil while no server runs

	mu      sync.Mutex
	changed chan struct{} // closed at the next change of the fields below, or of current
	down    error         // why no server runs; nil while the first one is being built
	tried   program       // the last program that was started
	old     []*peer       // replaced servers with calls in flight
}

// maxOld limits the replaced servers that still have calls in flight.
const maxOld = 4

func (sl *slot) folder() string {
	if sl.kind == petrockKind {
		return petrockFolder
	}
	return "cmd/" + sl.s.sup.o.Name
}

func (sl *slot) args() []string {
	o := sl.s.sup.o
	if sl.kind == serverKind {
		return append([]string{"mcp"}, o.Args...)
	}
	args := []string{"mcp", "--prefix", Prefix}
	if o.NoNet {
		args = append(args, "--no-net")
	}
	if o.NoExec {
		args = append(args, "--no-exec")
	}
	return args
}

// env returns the variables that are added to the environment of a program.
func (sl *slot) env(prog program) map[string]string {
	env := maps.Clone(sl.s.sup.env)
	if stamp, err := project.Stamp(prog.path); err == nil && prog.features != "" {
		env[project.Variable(sl.s.sup.o.Name, "features")] = stamp + " " + prog.features
	}
	return env
}

// update changes fields of the slot.
func (sl *slot) update(change func()) {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	change()
	close(sl.changed)
	sl.changed = make(chan struct{})
}

// await returns the running server. It waits until there is one, or returns why there is none.
func (sl *slot) await(ctx context.Context) (*peer, error) {
	for {
		sl.mu.Lock()
		p, down, changed := sl.current.Load(), sl.down, sl.changed
		sl.mu.Unlock()
		switch {
		case p != nil && !p.hasEnded():
			return p, nil
		case down != nil:
			return nil, down
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// awaitProgram waits until the slot has started the newest build, or has failed to.
func (sl *slot) awaitProgram(ctx context.Context) {
	for {
		sl.mu.Lock()
		tried, changed := sl.tried, sl.changed
		sl.mu.Unlock()
		if b, _ := sl.s.sup.build(sl.kind); b.err != nil || b.program.id == tried.id {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

const (
	firstDelay = 100 * time.Millisecond // before the first restart after a crash
	maxDelay   = 10 * time.Second
	holdDelay  = time.Second      // calls wait for a restart that is so near
	stableTime = 30 * time.Second // a server that ran for so long restarts after firstDelay
	slowStart  = 10 * time.Second // calls do not wait longer for a server that has been started
)

// run keeps the server running until ctx ends.
func (sl *slot) run(ctx context.Context) {
	var retry <-chan time.Time
	delay := firstDelay
	var since time.Time
	for ctx.Err() == nil {
		b, newer := sl.s.sup.build(sl.kind)
		p := sl.current.Load()
		if sl.isNew(b) || p == nil && retry == nil && b.program.path != "" {
			if sl.isNew(b) {
				delay = firstDelay
			}
			since = time.Now()
			err := sl.replace(ctx, b.program) // fails if there is a newer build
			if latest, _ := sl.s.sup.build(sl.kind); err != nil && ctx.Err() == nil && latest.program == b.program {
				retry = sl.crashed(err, &delay)
			}
			continue
		}
		if b.err != nil && p == nil && b.program.path == "" {
			sl.update(func() { sl.down = b.err })
		}
		var done chan struct{}
		if p != nil {
			done = p.done
		}
		select {
		case <-newer:
			retry = nil
		case <-retry:
			retry = nil
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
	var ending sync.WaitGroup
	for _, p := range sl.all() {
		ending.Go(p.close)
	}
	ending.Wait()
}

// isNew reports whether a build has not been started yet.
func (sl *slot) isNew(b buildResult) bool {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	return b.program.path != "" && b.program != sl.tried
}

// crashed records why the server does not run, and returns when to restart it.
func (sl *slot) crashed(err error, delay *time.Duration) <-chan time.Time {
	wait := *delay
	*delay = min(2*wait, maxDelay)
	if sl.current.Load() != nil {
		sl.s.say("warning", fmt.Sprintf("%v. The server from before the last change still runs.", err))
		return nil
	}
	sl.s.say("error", fmt.Sprintf("%v. It is started again in %v.", err, wait))
	sl.update(func() {
		sl.down = fmt.Errorf("%w. Petrock starts it again in %v, or after the next change of a file", err, wait)
		if wait <= holdDelay {
			sl.down = nil // calls wait for the restart
		}
	})
	return time.After(wait)
}

// replace starts a program and makes it the server. Calls in flight finish on the old one. It fails
// if there is a newer build before the server answers.
func (sl *slot) replace(ctx context.Context, prog program) error {
	began := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		sl.awaitNewer(ctx, prog)
		cancel()
	}()
	late := time.AfterFunc(slowStart, func() { sl.late(prog) })
	defer late.Stop()
	p, err := sl.connect(ctx, prog)
	if err == nil {
		if err = sl.s.install(ctx, sl, p); err != nil {
			p.close()
		}
	}
	sl.update(func() { sl.tried = prog })
	if err == nil {
		sl.s.sup.logf("%s runs, started in %v", sl.folder(), time.Since(began).Round(time.Millisecond))
	}
	return err
}

// awaitNewer waits until there is another build than prog.
func (sl *slot) awaitNewer(ctx context.Context, prog program) {
	for {
		b, changed := sl.s.sup.build(sl.kind)
		if b.program != prog {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// late reports that a server takes long to start. Calls that wait for it fail.
func (sl *slot) late(prog program) {
	err := fmt.Errorf("%s was started %v ago and has not answered yet. It blocks, or it replays a long event log", sl.folder(), slowStart)
	sl.s.say("warning", err.Error()+". Calls are still answered by the server from before, if there is one.")
	sl.update(func() { sl.tried, sl.down = prog, err })
}

// swap makes a server the current one and retires the one before.
func (sl *slot) swap(p *peer) {
	var before, oldest *peer
	sl.update(func() {
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

// all returns the running servers: the current one and those before it.
func (sl *slot) all() []*peer {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	all := sl.old
	if p := sl.current.Load(); p != nil {
		all = append(slices.Clip(all), p)
	}
	return all
}
