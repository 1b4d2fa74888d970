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

// If a worker cannot be created, or its fields cannot be read, the fields are kept for the next
// try.
func TestWorkerCannotBeMade(t *testing.T) {
	for name, fail := range map[string]func() (*Mailer, error){
		"error": func() (*Mailer, error) { return nil, errors.New("no line") },
		"panic": func() (*Mailer, error) { panic("no line") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, world := eventlog.NewMemory(), &outside{}
				p := start(t, m, mailing(world))
				execute(t, p.App, Add{Name: "a"})
				time.Sleep(time.Second)
				p.end()
				broken := mailing(world)
				broken.Workers = []app.Worker{app.WorkerOf("mailer", func(context.Context) (*Mailer, error) { return fail() }, app.On((*Mailer).OnAdd))}
				p = start(t, m, broken)
				time.Sleep(time.Minute)
				p.end()
				kept, err := m.Get(t.Context(), "worker/items/mailer")
				if err != nil || !strings.Contains(string(kept), `"state":{"sent":1}`) {
					t.Errorf("%s, %v, want %q in it", kept, err, `"state":{"sent":1}`)
				}
			})
		})
	}
}

// A lease is renewed during a stream of events that the worker does not follow.
func TestLeaseWhileBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, worlds := eventlog.NewMemory(), []*outside{{}, {}}
		first := start(t, m, mailing(worlds[0]))
		defer first.end()
		time.Sleep(time.Second)
		second := start(t, m, mailing(worlds[1]))
		defer second.end()
		owner := worker(t, m).Process
		for range 11 * 60 / 3 {
			execute(t, first.App, Count{1})
			time.Sleep(3 * time.Second)
			if now := worker(t, m).Process; now != owner {
				t.Fatalf("the worker now runs in %s, want %s as before", now, owner)
			}
		}
		if got := worlds[0].list() + worlds[1].list(); strings.Count(got, "total") != 1 {
			t.Errorf("they have done %q and %q, want one total", worlds[0].list(), worlds[1].list())
		}
	})
}

// A clock that is set back delays neither the next process nor periodic methods.
func TestClockSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var back atomic.Int64
		o := quiet()
		o.Now = func() time.Time { return time.Now().Add(time.Duration(-back.Load())) }
		m, world := eventlog.NewMemory(), &outside{}
		dying := &dead{Memory: m.Share(), gone: make(chan struct{})}
		run := func(s eventlog.Store) (end func()) {
			a, err := app.Open(t.Context(), s, o, mailing(world))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); a.Run(ctx) }()
			return func() { cancel(); <-done }
		}
		end := run(dying)
		time.Sleep(time.Second)
		close(dying.gone)
		end()
		back.Store(int64(24 * time.Hour))
		defer run(m.Share())()
		execute(t, open(t, m.Share()), Add{Name: "a"})
		time.Sleep(15 * time.Minute)
		if got := world.list(); !strings.HasPrefix(got, "a total=") {
			t.Errorf(`got %q, want it to start with "a total="`, got)
		}
	})
}

// An event that kills its process does so once per Retry.
func TestRetryKills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, world := eventlog.NewMemory(), &outside{fail: func(string, int) error { return errors.New("no") }}
		p := start(t, m, mailing(world))
		execute(t, p.App, Add{Name: "a"})
		time.Sleep(5 * time.Minute)
		p.end()
		if err := app.NewAdmin(m.Share(), app.Options{}).Retry(t.Context(), "items/mailer", 1); err != nil {
			t.Fatal(err)
		}
		killing := &outside{held: make(chan struct{})}
		for range 3 {
			dying := &dead{Memory: m.Share(), gone: make(chan struct{})}
			a := open(t, dying, mailing(killing))
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); a.Run(ctx) }()
			time.Sleep(time.Minute)
			close(dying.gone)
			cancel()
			<-done
		}
		if got := killing.list(); got != "a" {
			t.Errorf("tried as %q, want \"a\"", got)
		}
		time.Sleep(time.Minute)
		if w := worker(t, m); len(w.Aside) != 1 || w.Aside[0].Tries != 7 || !strings.Contains(w.Aside[0].Error, "the process ended") {
			t.Errorf(`the worker is %+v, want one event set aside after 7 tries with "the process ended"`, w)
		}
	})
}

// An event whose handling was interrupted is tried by the next process.
func TestRetryIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, world := eventlog.NewMemory(), &outside{fail: func(string, int) error { return errors.New("no") }}
		p := start(t, m, mailing(world))
		execute(t, p.App, Add{Name: "a"})
		time.Sleep(5 * time.Minute)
		p.end()
		if err := app.NewAdmin(m.Share(), app.Options{}).Retry(t.Context(), "items/mailer", 1); err != nil {
			t.Fatal(err)
		}
		p = start(t, m, mailing(&outside{held: make(chan struct{})}))
		time.Sleep(time.Second)
		p.end()
		if w := worker(t, m); len(w.Aside) != 1 || w.Aside[0].Tries != 6 {
			t.Errorf("the worker is %+v, want one event set aside after 6 tries", w)
		}
		p = start(t, m, mailing(&outside{}))
		time.Sleep(time.Second)
		p.end()
		if w := worker(t, m); len(w.Aside) != 0 {
			t.Errorf("the worker is %+v, want nothing set aside", w)
		}
	})
}

// Watchers are notified of the progress of a worker in their own process.
func TestWatchWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, world := eventlog.NewMemory(), &outside{held: make(chan struct{}), fail: func(string, int) error { return errors.New("no") }}
		p := start(t, m, mailing(world))
		defer p.end()
		var told atomic.Int32
		p.Watch(func() { told.Add(1) })
		execute(t, p.App, Add{Name: "a"})
		time.Sleep(time.Minute)
		before := told.Load()
		time.Sleep(time.Minute)
		if told.Load() != before {
			t.Errorf("the watchers were notified %d times without a change, want 0", told.Load()-before)
		}
		before = told.Load()
		close(world.held)
		time.Sleep(5 * time.Minute)
		if len(worker(t, m).Aside) != 1 || told.Load() == before {
			t.Errorf("the worker is %+v, and the watchers were notified %d times; want one event set aside, and a notification", worker(t, m), told.Load()-before)
		}
	})
}

// Watchers are not notified when another process renews its lease.
func TestWatchLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := eventlog.NewMemory()
		p := start(t, m, mailing(&outside{}))
		defer p.end()
		time.Sleep(time.Second)
		q := start(t, m, mailing(&outside{}))
		defer q.end()
		time.Sleep(10 * time.Second) // they have begun
		var told atomic.Int32
		q.Watch(func() { told.Add(1) })
		time.Sleep(time.Minute)
		if n := told.Load(); n != 0 {
			t.Errorf("they are told %d times of nothing, want 0", n)
		}
		execute(t, p.App, Add{Name: "a"})
		time.Sleep(time.Second)
		if told.Load() == 0 {
			t.Errorf("the watchers were notified of an event %d times, want at least once", told.Load())
		}
	})
}

// Twofold executes commands of two types, and of one type concurrently.
type Twofold struct{ tries int }

func (w *Twofold) OnAdd(ctx context.Context, c Add, e app.Event) error {
	w.tries++
	if c.Name != "start" {
		return nil
	}
	if w.tries == 1 {
		_, err := app.Do(ctx, Add{Name: "failed"})
		return errors.Join(err, errors.New("no line"))
	}
	var all sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		all.Go(func() { _, errs[i] = app.Do(ctx, Count{1}) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// A worker may execute a different command in a retry, and several commands concurrently.
func TestWorkerDoesOtherwise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := eventlog.NewMemory()
		f := items()
		f.Workers = []app.Worker{app.WorkerOf("twofold", func(context.Context) (*Twofold, error) { return &Twofold{}, nil }, app.On((*Twofold).OnAdd))}
		p := start(t, m, f)
		defer p.end()
		execute(t, p.App, Add{Name: "start"})
		time.Sleep(5 * time.Minute)
		if w := worker(t, m); len(w.Aside) != 0 || total(t, p.App) != 4 {
			t.Errorf("the worker is %+v, and the total is %d; want nothing set aside, and 4", w, total(t, p.App))
		}
		var types []string
		for r, err := range m.Records(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			types = append(types, r.Type)
		}
		if want := slices.Repeat([]string{"items/count"}, 4); fmt.Sprint(types) != fmt.Sprint(append([]string{"items/add", "items/add"}, want...)) {
			t.Errorf("the log has the types %v, want items/add twice, and then %v", types, want)
		}
	})
}

// A house knows the sessions of its stores.
type house struct {
	*eventlog.Memory
	mu    sync.Mutex
	ended map[string]bool
	hung  map[string]bool // their writes do not return
	asked int             // how often
}

// A monitored store is a session of a house. Its writes fail after the session has ended.
type monitored struct {
	*eventlog.Memory
	h    *house
	name string
}

func (m monitored) Session() string { return m.name }

func (m monitored) Ended(_ context.Context, sessions []string) (ended []string, err error) {
	m.h.mu.Lock()
	defer m.h.mu.Unlock()
	m.h.asked++
	for _, s := range sessions {
		if m.h.ended[s] {
			ended = append(ended, s)
		}
	}
	return ended, nil
}

func (m monitored) Write(ctx context.Context, f func(eventlog.Tx) error) error {
	m.h.mu.Lock()
	ended, hung := m.h.ended[m.name], m.h.hung[m.name]
	m.h.mu.Unlock()
	if hung {
		<-ctx.Done()
	}
	if ended {
		return errors.New("the process has ended")
	}
	return m.Memory.Write(ctx, f)
}

// start runs an app in a session of the house, with a clock that differs.
func (h *house) start(t *testing.T, name string, clock time.Duration, features ...app.Feature) (a *app.App, kill func()) {
	t.Helper()
	o := quiet()
	o.Now = func() time.Time { return time.Now().Add(clock) }
	a, err := app.Open(t.Context(), monitored{h.Memory.Share(), h, name}, o, features...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); a.Run(ctx) }()
	return a, func() {
		h.mu.Lock()
		h.ended[name] = true
		h.mu.Unlock()
		cancel()
		<-done
	}
}

// If the store notices the end of a process, another one runs its workers soon. It does not if the
// process has only lost its connections for a moment. Waiting is cheap.
func TestTakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, worlds := &house{Memory: eventlog.NewMemory(), ended: map[string]bool{}}, []*outside{{}, {}}
		_, killFirst := h.start(t, "first", 0, mailing(worlds[0]))
		time.Sleep(time.Second)
		second, killSecond := h.start(t, "second", 0, mailing(worlds[1]))
		time.Sleep(time.Minute)
		owner := worker(t, h.Memory).Process
		h.mu.Lock()
		if h.asked < 100 || h.asked > 130 {
			t.Errorf("asked %d times in a minute, want 100 to 130", h.asked)
		}
		h.ended["first"] = true
		h.mu.Unlock()
		time.Sleep(900 * time.Millisecond)
		h.mu.Lock()
		h.ended["first"] = false
		h.mu.Unlock()
		time.Sleep(time.Minute)
		if now := worker(t, h.Memory).Process; now != owner {
			t.Errorf("%s has taken over from %s, which has reconnected, want them equal", now, owner)
		}

		killFirst()
		execute(t, second, Add{Name: "a"})
		time.Sleep(1600 * time.Millisecond)
		if got := worlds[1].list(); got != "a" {
			t.Errorf("after the first process was killed, the second has done %q, want \"a\"", got)
		}
		killSecond()
	})
}

// Clocks that differ by an hour disturb neither the owner of a lease nor those that wait for it. A
// process that hangs loses its lease.
func TestClocksDiffer(t *testing.T) {
	for _, clock := range []time.Duration{-time.Hour, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			h, worlds := &house{Memory: eventlog.NewMemory(), ended: map[string]bool{}, hung: map[string]bool{}}, []*outside{{}, {}}
			first, kill := h.start(t, "first", clock, mailing(worlds[0]))
			defer kill()
			time.Sleep(time.Second)
			second, kill := h.start(t, "second", 0, mailing(worlds[1]))
			defer kill()
			for range 600 {
				time.Sleep(100 * time.Millisecond)
				document, err := h.Get(t.Context(), "worker/items/mailer")
				if err != nil || !strings.Contains(string(document), `"session":"first"`) {
					t.Fatalf("clock %v: %s, %v, want %q in it", clock, document, err, `"session":"first"`)
				}
			}
			execute(t, first, Add{Name: "a"})
			time.Sleep(time.Second)
			h.mu.Lock()
			h.hung["first"] = true
			h.mu.Unlock()
			execute(t, second, Add{Name: "b"})
			time.Sleep(12 * time.Second)
			if got := worlds[0].list() + worlds[1].list(); got != "a" {
				t.Errorf("clock %v: too early: got %q, want \"a\"", clock, got)
			}
			time.Sleep(9 * time.Second)
			if got := worlds[1].list(); !strings.HasPrefix(got, "b") { // with another clock, it may tick
				t.Errorf(`clock %v: got %q, want it to start with "b"`, clock, got)
			}
		})
	}
}
