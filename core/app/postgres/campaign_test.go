package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

// entries is a state that counts entries by name.
type entries struct {
	Count map[string]int `json:"count"`
}

// Entry adds an entry. A worker echoes those whose names start with ping.
type Entry struct {
	Name string `json:"name"`
	Text string `json:"text,omitempty"`
}

func (Entry) Check(context.Context, *entries) error { return nil }
func (c Entry) Apply(s *entries, _ app.Event) int   { s.Count[c.Name]++; return s.Count[c.Name] }

// Counted asks how often there is an entry.
type Counted struct{ Name string }

func (q Counted) Answer(_ context.Context, s *entries) (int, error) { return s.Count[q.Name], nil }

// An echo is a worker that adds an entry for each ping.
type echo struct{}

func (*echo) OnEntry(ctx context.Context, c Entry, _ app.Event) error {
	if !strings.HasPrefix(c.Name, "ping") {
		return nil
	}
	_, err := app.Do(ctx, Entry{Name: "echo of " + c.Name})
	return err
}

func entriesFeature() app.Feature {
	return app.Feature{
		Name:     "entries",
		State:    app.StateOf(func() *entries { return &entries{Count: map[string]int{}} }),
		Commands: []app.CommandType{app.CommandTypeOf[Entry]("entry", 1)},
		Queries:  []app.QueryType{app.QueryTypeOf[Counted]("counted")},
		Workers:  []app.Worker{app.WorkerOf("echo", func(context.Context) (*echo, error) { return &echo{}, nil }, app.On((*echo).OnEntry))},
	}
}

// recovery is how long a server may take to execute a command after a fault.
const recovery = 5 * time.Second

// A pair is two servers on one log, whose clocks differ by an hour. The connections of the first go
// through a proxy that cuts them.
type pair struct {
	testing.TB
	p          *proxy
	address    string // of the log, without the proxy
	one, two   *Store
	appOf      map[*Store]*app.App
	mu         sync.Mutex
	next       int
	answered   []string // entries that were acknowledged
	faults     int
	unanswered []string
}

// firstName is the name of the connections of the first server.
const firstName = "campaign-one"

func newPair(t testing.TB) *pair {
	address := newSchema(t)
	r := &pair{TB: t, p: newProxy(t, address), address: address, appOf: map[*Store]*app.App{}}
	r.one, r.two = open(t, r.p.address+"&application_name="+firstName), open(t, address)
	for s, clock := range map[*Store]time.Duration{r.one: -30 * time.Minute, r.two: 30 * time.Minute} {
		o := app.Options{
			Logger:      slog.New(slog.NewTextHandler(io.Discard, nil)),
			Fingerprint: func(string) string { return "same" },
			Now:         func() time.Time { return time.Now().Add(clock) },
		}
		a, err := app.Open(t.Context(), s, o, entriesFeature())
		if err != nil {
			t.Fatal(err)
		}
		r.appOf[s] = a
	}
	return r
}

// add executes a command that adds a new entry, with a key if asked, and returns its name.
func (r *pair) add(s *Store, kind, text string, keyed bool) (string, error) {
	r.mu.Lock()
	r.next++
	name := fmt.Sprintf("%s %d", kind, r.next)
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(r.Context(), 2*recovery)
	defer cancel()
	if keyed {
		ctx = app.WithKey(ctx, name)
	}
	_, err := app.DoRaw(ctx, r.appOf[s], Entry{name, text})
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.answered = append(r.answered, name)
	} else {
		r.unanswered = append(r.unanswered, name)
	}
	return name, err
}

// must executes a command, which has to succeed in time.
func (r *pair) must(s *Store, after string) {
	r.Helper()
	begin := time.Now()
	if _, err := r.add(s, "later", "", false); err != nil || time.Since(begin) > recovery {
		r.Errorf("%s: server %d: a command took %v, want at most %v: %v", after, map[*Store]int{r.one: 1, r.two: 2}[s], time.Since(begin), recovery, err)
	}
}

// work runs the workers of a server until they have echoed a ping.
func (r *pair) work(s *Store) error {
	ctx, cancel := context.WithCancel(r.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.appOf[s].Run(ctx) }()
	defer func() {
		begin := time.Now()
		cancel()
		<-done
		if took := time.Since(begin); took > time.Second {
			r.Errorf("the server took %v to stop, want at most %v", took, time.Second)
		}
	}()
	ping, err := r.add(r.two, "ping", "", false)
	if err != nil {
		return err
	}
	for begin := time.Now(); time.Since(begin) < 2*recovery; time.Sleep(5 * time.Millisecond) {
		n, err := app.Query(app.With(r.Context(), r.appOf[r.two]), Counted{"echo of " + ping})
		if err != nil {
			return err
		}
		if n > 0 {
			r.mu.Lock()
			r.answered = append(r.answered, "echo of "+ping)
			r.mu.Unlock()
			return nil
		}
	}
	return errors.New("the worker has not followed")
}

// operations are what the first server does while its connections are cut.
var operations = []struct {
	name  string
	limit int // of messages without -long
	do    func(*pair) error
}{
	{"a command", 3, func(r *pair) error { _, err := r.add(r.one, "entry", "", false); return err }},
	{"a command with a key", 2, func(r *pair) error { _, err := r.add(r.one, "entry", "", true); return err }},
	{"a query", 2, func(r *pair) error {
		_, err := app.Query(app.With(r.Context(), r.appOf[r.one]), Counted{"x"})
		return err
	}},
	{"a command of 10 MB", 1, func(r *pair) error {
		_, err := r.add(r.one, "big", strings.Repeat("0123456789", 1<<20), true)
		return err
	}},
	{"a snapshot", 2, func(r *pair) error { return r.appOf[r.one].Snapshot(r.Context()) }},
	{"a lease and a step of a worker, and its release", 3, func(r *pair) error {
		for _, s := range []*Store{r.one, r.two} {
			begin := time.Now()
			if err := r.work(s); err != nil || time.Since(begin) > recovery {
				return fmt.Errorf("the worker took %v in %s: %w", time.Since(begin), s.config.RuntimeParams["application_name"], err)
			}
		}
		return nil
	}},
}

// prepare makes the first server keep the lock, or share it with the second one.
func (r *pair) prepare(keeps bool) {
	r.Helper()
	if !keeps {
		r.must(r.two, "before")
		r.must(r.one, "before")
		return
	}
	waitFor(r, "the first server keeps the lock", func() bool {
		r.one.asked.Store(0)
		r.must(r.one, "before")
		r.one.writing <- struct{}{}
		defer func() { <-r.one.writing }()
		return r.one.holds
	})
}

// after checks that both servers execute commands.
func (r *pair) after(fault string, err error) {
	r.Helper()
	r.faults++
	if err != nil {
		r.Errorf("%s: %v, want no error", fault, err)
	}
	r.must(r.one, fault)
	r.must(r.two, fault)
}

// cutEach does an operation once for each message between the first server and the database, and
// cuts the connection at that message. If there are more than limit messages, it chooses some.
func (r *pair) cutEach(name string, do func(*pair) error, keeps bool, lost string, lose *atomic.Int64, limit int, random *rand.Rand) {
	r.Helper()
	const many = 1 << 40
	r.prepare(keeps)
	lose.Store(many)
	err := do(r)
	messages := int(many - lose.Swap(0))
	r.after(name+" without a fault", err)
	numbers := random.Perm(messages)
	numbers = numbers[:min(len(numbers), limit)]
	slices.Sort(numbers)
	for _, n := range numbers {
		r.prepare(keeps)
		lose.Store(int64(n + 1))
		err := do(r)
		lose.Store(0)
		r.after(fmt.Sprintf("%s, lock kept: %t, lost %s %d of %d", name, keeps, lost, n+1, messages), err)
	}
}

// terminateEach does an operation once for each connection of the first server, which the database
// ends before. The second server writes meanwhile. If sees is set, the first server notices that it
// has.
func (r *pair) terminateEach(name string, do func(*pair) error, sees bool) {
	r.Helper()
	for i := 0; ; i++ {
		r.prepare(true)
		conn, err := pgx.Connect(r.Context(), r.address)
		if err != nil {
			r.Fatal(err)
		}
		rows, _ := conn.Query(r.Context(), "SELECT pid FROM pg_stat_activity WHERE application_name = $1 ORDER BY backend_start", firstName)
		pids, err := pgx.CollectRows(rows, pgx.RowTo[int32])
		if err == nil && i < len(pids) {
			_, err = conn.Exec(r.Context(), "SELECT pg_terminate_backend($1)", pids[i])
		}
		conn.Close(r.Context())
		if err != nil {
			r.Fatal(err)
		}
		if i >= len(pids) {
			return
		}
		r.two.asked.Store(time.Now().UnixNano()) // so that it does not ask the first server for the lock at once
		r.must(r.two, "terminated")
		r.must(r.two, "terminated")
		if sees {
			if _, err := app.Query(app.With(r.Context(), r.appOf[r.one]), Counted{"x"}); err != nil {
				r.Error(err)
			}
		}
		r.after(fmt.Sprintf("%s, after the end of connection %d of %d, which the server has noticed: %t", name, i+1, len(pids), sees), do(r))
	}
}

// check fails the test unless the log has each acknowledged entry once, and the others at most
// once.
func (r *pair) check() {
	r.Helper()
	count := map[string]int{}
	for e, err := range open(r, r.address).Records(r.Context(), 0) {
		if err != nil {
			r.Fatal(err)
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(string(e.Data), `{"name":"`), `"`)
		count[name]++
	}
	for _, name := range r.answered {
		if count[name] != 1 {
			r.Errorf("the log has the acknowledged entry %q %d times, want 1", name, count[name])
		}
	}
	for _, name := range r.unanswered {
		if count[name] > 1 {
			r.Errorf("the log has entry %q %d times, want at most 1", name, count[name])
		}
	}
	r.Logf("%d faults; %d commands were acknowledged, %d failed", r.faults, len(r.answered), len(r.unanswered))
}

// Connections of a server end one by one, at each message of a command, a query, a snapshot, a
// lease and a step of a worker. After each, both servers of the log execute commands, and each
// acknowledged command is in the log once.
func TestEachConnectionEnds(t *testing.T) {
	for i, operation := range operations {
		t.Run(operation.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(*seed, uint64(i)))
			r := newPair(t)
			limit := operation.limit
			if *long {
				limit *= 12
			}
			for _, keeps := range []bool{true, false} {
				r.cutEach(operation.name, operation.do, keeps, "request", &r.p.losesRequest, limit, random)
				r.cutEach(operation.name, operation.do, keeps, "answer", &r.p.losesAnswer, limit, random)
			}
			for _, sees := range []bool{true, false} {
				if sees && operation.limit > 1 || *long {
					r.terminateEach(operation.name, operation.do, sees)
				}
			}
			r.check()
		})
	}
}

// A copy of a log, as by restore and log copy, is interrupted at each message, while two servers
// use the empty log. The copy is complete or does not exist, and the servers continue.
func TestCopyIsInterrupted(t *testing.T) {
	server(t)
	limit := 1
	if *long {
		limit = 40
	}
	const events = 60
	backup := eventlog.NewMemory()
	err := backup.Write(t.Context(), func(tx eventlog.Tx) error {
		for n := range int64(events) { // more than a transaction keeps in memory
			data := fmt.Appendf(nil, `{"name":"old %d","text":"%s"}`, n, strings.Repeat("x", maxBytes/events*5/4))
			r := eventlog.Record{Seq: n + 1, ID: fmt.Sprint("id", n), Time: time.Now(), Type: "entries/entry", Version: 1, Data: data}
			if err := tx.Append(r); err != nil {
				return err
			}
		}
		return tx.Put("old", []byte("1"))
	})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(*seed, 0))
	restore := func(lose func(*proxy) *atomic.Int64, n int64) (messages int64) {
		t.Run(fmt.Sprint("message ", n), func(t *testing.T) { messages = interruptCopy(t, backup, events, lose, n) })
		return messages
	}
	for _, lose := range []func(*proxy) *atomic.Int64{
		func(p *proxy) *atomic.Int64 { return &p.losesRequest },
		func(p *proxy) *atomic.Int64 { return &p.losesAnswer },
	} {
		messages := restore(lose, 1<<40)
		for range limit {
			restore(lose, 1+random.Int64N(messages))
		}
	}

	// The log is copied while servers write.
	r := newPair(t)
	for range 20 {
		r.must(r.one, "before")
	}
	source := open(t, r.p.address)
	for n := range limit {
		r.p.losesAnswer.Store(int64(random.IntN(8)) + 1)
		to := eventlog.NewMemory()
		err := source.View(t.Context(), func(v eventlog.View) error {
			_, err := app.NewAdmin(to, app.Options{}, entriesFeature()).Copy(t.Context(), v)
			return err
		})
		r.p.losesAnswer.Store(0)
		last, lastErr := to.Last(t.Context())
		if lastErr != nil || (last > 0) != (err == nil) {
			t.Errorf("copy %d returned %v, and has %d events (%v); want events only without an error", n, err, last, lastErr)
		}
		r.after("log copy", nil)
	}
	r.check()
}

// interruptCopy copies a backup to the log of two servers while the nth message is lost, and
// returns the number of messages.
func interruptCopy(t *testing.T, backup *eventlog.Memory, events int64, lose func(*proxy) *atomic.Int64, n int64) int64 {
	r := newPair(t)
	copier := open(t, r.p.address)
	time.Sleep(20 * time.Millisecond) // until the servers are idle
	lose(r.p).Store(n)
	err := backup.View(t.Context(), func(v eventlog.View) error {
		_, err := app.NewAdmin(copier, app.Options{}, entriesFeature()).Copy(t.Context(), v)
		return err
	})
	left := lose(r.p).Swap(0)
	last, lastErr := r.two.Last(t.Context())
	old, oldErr := r.two.Get(t.Context(), "old")
	if complete := last == events && string(old) == "1"; lastErr != nil || oldErr != nil || !complete && (last > 0 || old != nil) || complete != (err == nil) && !errors.Is(err, eventlog.ErrOutcomeUnknown) {
		t.Errorf(`message %d: the copy returned %v, and the log has %d events and the document %q; %v, %v; want all of it without an error, or nothing`, n, err, last, old, lastErr, oldErr)
	}
	r.after(fmt.Sprintf("copy, message %d", n), nil)
	r.check()
	return n - left
}
