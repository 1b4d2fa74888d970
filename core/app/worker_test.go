package app_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

// An outside is an external system that workers call.
type outside struct {
	mu   sync.Mutex
	sent []string
	fail func(name string, try int) error // may be nil
	held chan struct{}                    // if it is not nil, the world waits for it
}

func (o *outside) send(ctx context.Context, name string) error {
	o.mu.Lock()
	o.sent = append(o.sent, name)
	tries := 0
	for _, n := range o.sent {
		if n == name {
			tries++
		}
	}
	o.mu.Unlock()
	if o.held != nil {
		select {
		case <-o.held:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if o.fail != nil {
		return o.fail(name, tries)
	}
	return nil
}

func (o *outside) list() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.sent, " ")
}

// Mailer sends and counts a mail for each item, and runs every ten minutes.
type Mailer struct {
	Sent int `json:"sent"`

	world *outside
}

func (m *Mailer) OnAdd(ctx context.Context, c Add, e app.Event) error {
	if _, err := app.Do(ctx, Count{1}); err != nil {
		return err
	}
	if err := m.world.send(ctx, c.Name); err != nil {
		return err
	}
	m.Sent++
	_, err := app.Do(ctx, Count{100})
	return err
}

func (m *Mailer) Every(ctx context.Context) error {
	n, err := app.Query(ctx, Total{})
	return errors.Join(err, m.world.send(ctx, fmt.Sprintf("total=%d", n)))
}

func mailing(world *outside) app.Feature {
	f := items()
	f.Workers = []app.Worker{app.WorkerOf("mailer", func(context.Context) (*Mailer, error) { return &Mailer{world: world}, nil },
		app.On((*Mailer).OnAdd), app.Every(10*time.Minute, (*Mailer).Every), app.FromStart[Mailer]())}
	return f
}

// A program is a process that runs an app.
type program struct {
	*app.App
	end func()
}

func start(t *testing.T, m *eventlog.Memory, f app.Feature) program {
	t.Helper()
	a := open(t, m.Share(), f)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.Run(ctx)
	}()
	return program{a, func() {
		cancel()
		<-done
	}}
}

func worker(t *testing.T, m *eventlog.Memory) app.WorkerStatus {
	t.Helper()
	all, err := app.NewAdmin(m.Share(), app.Options{}).Workers(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("the workers are %+v, %v; want one", all, err)
	}
	return all[0]
}

// A worker handles each event once if nothing fails, continues at its position, and keeps its
// fields.
func TestWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, world := eventlog.NewMemory(), &outside{}
		p := start(t, m, mailing(world))
		execute(t, p.App, Add{Name: "a"})
		execute(t, p.App, Add{Name: "b"})
		time.Sleep(time.Second)
		if got := world.list(); got != "a b" {
			t.Errorf("sent %s, want \"a b\"", got)
		}
		if w := worker(t, m); w.Process == "" || w.Position < 2 || w.Error != "" {
			t.Errorf("%+v, want Position at least 2, Error %q", w, "")
		}
		p.end()
		if w := worker(t, m); w.Process != "" || w.Behind != 0 {
			t.Errorf("%+v, want Process %q, Behind 0", w, "")
		}
		execute(t, open(t, m.Share()), Add{Name: "c"})
		again := start(t, m, mailing(world))
		time.Sleep(time.Second)
		if got := world.list(); got != "a b c" {
			t.Errorf("sent %s, want \"a b c\"", got)
		}
		if n := total(t, again.App); n != 303 {
			t.Errorf("its commands make %d, want 303", n)
		}
		time.Sleep(10 * time.Minute)
		if got := world.list(); got != "a b c total=303" {
			t.Errorf("sent %s, want \"a b c total=303\"", got)
		}
		again.end()
		kept, err := m.Get(t.Context(), "worker/items/mailer")
		if err != nil || !strings.Contains(string(kept), `"state":{"sent":3}`) {
			t.Errorf("%s, %v, want %q in it", kept, err, `"state":{"sent":3}`)
		}
	})
}

// A failed event is retried after growing delays, its commands are executed once, and the order is
// kept.
func TestWorkerTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, world := eventlog.NewMemory(), &outside{}
		world.fail = func(name string, try int) error {
			if name == "a" && try < 3 {
				return errors.New("no line")
			}
			return nil
		}
		p := start(t, m, mailing(world))
		defer p.end()
		execute(t, p.App, Add{Name: "a"})
		execute(t, p.App, Add{Name: "b"})
		time.Sleep(time.Second)
		if w := worker(t, m); w.Trying != 1 || w.Tries != 2 || w.Error != "no line" || w.Position != 0 {
			t.Errorf(`%+v, want Trying 1, Tries 2, Error "no line", Position 0`, w)
		}
		time.Sleep(3 * time.Second)
		if got := world.list(); got != "a a a b" {
			t.Errorf("sent %s, want \"a a a b\"", got)
		}
		if n := total(t, p.App); n != 202 {
			t.Errorf("its commands make %d, want 202", n)
		}
	})
}

// An event that always fails is set aside after some tries, shown, and retried on request.
func TestWorkerSetsAside(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error": func() error { return errors.New("no such address") },
		"panic": func() error { panic("no such address") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, world := eventlog.NewMemory(), &outside{}
				mended := false
				world.fail = func(name string, _ int) error {
					if name == "bad" && !mended {
						return fail()
					}
					return nil
				}
				p := start(t, m, mailing(world))
				defer p.end()
				execute(t, p.App, Add{Name: "bad"})
				execute(t, p.App, Add{Name: "good"})
				time.Sleep(5 * time.Minute)
				if got := world.list(); got != "bad bad bad bad bad bad good" {
					t.Errorf("sent %s, want \"bad bad bad bad bad bad good\"", got)
				}
				w := worker(t, m)
				if len(w.Aside) != 1 || w.Aside[0].Seq != 1 || w.Aside[0].Tries != 6 || !strings.Contains(w.Aside[0].Error, "no such address") || w.Trying != 0 || w.Behind != 0 {
					t.Errorf("the worker is %+v, want event 1 aside after 6 tries, and nothing left", w)
				}
				if err := app.NewAdmin(m.Share(), app.Options{}).Retry(t.Context(), "items/mailer", 2); err == nil {
					t.Error("Retry of an event that was not set aside returned no error, want one")
				}
				for _, mended = range []bool{false, true} {
					if err := app.NewAdmin(m.Share(), app.Options{}).Retry(t.Context(), "items/mailer", 1); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Minute)
					if w := worker(t, m); len(w.Aside) == 0 != mended {
						t.Errorf("the worker is %+v, want nothing set aside: %t", w, mended)
					}
				}
				if n := total(t, p.App); n != 202 {
					t.Errorf("its commands make %d, want 202", n)
				}
			})
		})
	}
}

// If a process dies while it handles an event, the next process tries it again. An event that
// always kills its process is set aside too.
func TestWorkerDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := eventlog.NewMemory()
		execute(t, open(t, m.Share()), Add{Name: "a"})
		all := &outside{held: make(chan struct{})}
		for i := range 6 {
			dying := &dead{Memory: m.Share(), gone: make(chan struct{})}
			a := open(t, dying, mailing(all))
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); a.Run(ctx) }()
			time.Sleep(30 * time.Second) // the lease of the one before has run out
			if got := strings.Count(all.list(), "a"); got != i+1 {
				t.Errorf("tried %d times, want %v", got, i+1)
			}
			close(dying.gone) // its further actions have no effect
			cancel()
			<-done
		}
		living := &outside{}
		p := start(t, m, mailing(living))
		defer p.end()
		time.Sleep(time.Minute)
		w := worker(t, m)
		if got := living.list(); got != "" || len(w.Aside) != 1 || !strings.Contains(w.Aside[0].Error, "the process ended") {
			t.Errorf(`sent %q, the worker is %+v; want nothing, and one event set aside with "the process ended"`, got, w)
		}
	})
}

// The store of a dead process does nothing.
type dead struct {
	*eventlog.Memory
	gone chan struct{}
}

func (d *dead) Write(ctx context.Context, f func(eventlog.Tx) error) error {
	select {
	case <-d.gone:
		return errors.New("it is dead")
	default:
		return d.Memory.Write(ctx, f)
	}
}

// One of several processes runs a worker. When it ends, another takes over, at once or when the
// lease expires.
func TestOneProcessWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, worlds := eventlog.NewMemory(), []*outside{{}, {}, {}}
		var programs []program
		for _, world := range worlds {
			programs = append(programs, start(t, m, mailing(world)))
		}
		for n := range 30 {
			execute(t, programs[n%3].App, Add{Name: fmt.Sprint(n)})
		}
		time.Sleep(time.Second)
		who := slices.IndexFunc(worlds, func(o *outside) bool { return len(strings.Fields(o.list())) == 30 })
		if who < 0 {
			t.Fatalf("the processes sent %q, %q and %q; want one of them to send 30", worlds[0].list(), worlds[1].list(), worlds[2].list())
		}
		programs[who].end()
		time.Sleep(10 * time.Second)
		execute(t, programs[(who+1)%3].App, Add{Name: "late"})
		time.Sleep(time.Second)
		if got := worlds[(who+1)%3].list() + worlds[(who+2)%3].list(); got != "late" {
			t.Errorf("the others have sent %q, want \"late\"", got)
		}
		for i, p := range programs {
			if i != who {
				p.end()
			}
		}
	})
}

// The lease is renewed during long work.
func TestLongWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, slow, other := eventlog.NewMemory(), &outside{held: make(chan struct{})}, &outside{}
		p := start(t, m, mailing(slow))
		execute(t, p.App, Add{Name: "a"})
		time.Sleep(time.Second)
		q := start(t, m, mailing(other))
		time.Sleep(5 * time.Minute)
		close(slow.held)
		time.Sleep(time.Second)
		if slow.list() != "a" || other.list() != "" {
			t.Errorf(`they have sent %q and %q, want "a" and nothing`, slow.list(), other.list())
		}
		p.end()
		q.end()
	})
}

func TestWorkOnce(t *testing.T) {
	m, world := eventlog.NewMemory(), &outside{}
	a := open(t, m, mailing(world))
	execute(t, a, Add{Name: "a"})
	if err := a.WorkOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := world.list(); got != "total=0 a" {
		t.Errorf("sent %s, want \"total=0 a\"", got)
	}
	world.fail = func(string, int) error { return errors.New("no line") }
	execute(t, a, Add{Name: "b"})
	if err := a.WorkOnce(t.Context()); err == nil || !strings.Contains(err.Error(), "items/mailer: no line") {
		t.Errorf("got error %v, want \"items/mailer: no line\" in it", err)
	}
	world.fail = nil
	if err := a.WorkOnce(t.Context(), "items/mailer"); err != nil {
		t.Errorf("WorkOnce(items/mailer) = %v, want nil", err)
	}
	if err := a.WorkOnce(t.Context(), "items/other"); err == nil || !strings.Contains(err.Error(), `workers ["items/other"]`) {
		t.Errorf("WorkOnce(items/other) = %v, want an error with its name", err)
	}
}

// Watchers are notified of commits of any process.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := eventlog.NewMemory()
		a := open(t, m.Share())
		var told atomic.Int32
		a.Watch(func() { told.Add(1) })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); a.Run(ctx) }()
		time.Sleep(time.Second)
		for i, by := range []*app.App{a, open(t, m.Share())} {
			before := told.Load()
			execute(t, by, Count{1})
			time.Sleep(time.Second)
			if told.Load() == before {
				t.Errorf("the watchers of process %d were notified %d times, want at least once", i, told.Load()-before)
			}
		}
		cancel()
		<-done
	})
}
