package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

func TestExecute(t *testing.T) {
	m := eventlog.NewMemory()
	a := open(t, m)
	c := Add{Name: "first", unsaid: "!"}
	result := execute(t, a, c)
	if !strings.Contains(result, `"name":"first"`) {
		t.Errorf("Apply saw a field that the log does not have: %s, want %q in it", result, `"name":"first"`)
	}
	if _, err := app.DoRaw(t.Context(), a, Add{Name: "first"}); err == nil || !strings.Contains(err.Error(), `there is an item "first"`) {
		t.Errorf("the same name again: got error %v, want %q in it", err, `there is an item "first"`)
	}
	if n := last(t, m); n != 1 {
		t.Errorf("the log has %d events, want 1", n)
	}
	if live, again := dump(t, a), replayed(t, m); live != again {
		t.Errorf("the live state is %s\nwant %s, as replayed", live, again)
	}
	item, err := app.Query(app.With(t.Context(), a), Get{"first"})
	if err != nil || item.Seq != 1 || item.Made.Location() != time.UTC || item.Made.Nanosecond()%1000 != 0 {
		t.Errorf("got %+v, %v; want Seq 1, and Made in UTC without a fraction of a microsecond", item, err)
	}
	if _, err := app.Do(t.Context(), Add{Name: "x"}); err == nil || !strings.Contains(err.Error(), "no app") {
		t.Errorf("without an app: %v, want \"no app\" in it", err)
	}
}

// A failing command adds no event, does not change the state, and does not affect concurrent
// commands.
func TestNothingBricks(t *testing.T) {
	for _, how := range []string{"check", "apply", "encode"} {
		t.Run(how, func(t *testing.T) {
			m := eventlog.NewMemory()
			a := open(t, m)
			execute(t, a, Count{1})
			execute(t, a, Add{Name: "first"})
			before := dump(t, a)
			if _, err := app.DoRaw(t.Context(), a, Break{how}); err == nil || !strings.Contains(err.Error(), "items/break") {
				t.Errorf("got error %v, want \"items/break\" in it", err)
			}
			if n := last(t, m); n != 2 {
				t.Errorf("the log has %d events, want 2", n)
			}
			if after := dump(t, a); after != before {
				t.Errorf("the state is\n%s\nwant\n%s\nas before", after, before)
			}
			var group sync.WaitGroup
			for range 20 {
				group.Go(func() { app.DoRaw(t.Context(), a, Break{how}) })
				group.Go(func() { execute(t, a, Count{1}) })
			}
			group.Wait()
			if n := total(t, a); n != 21 {
				t.Errorf("the total is %d, want 21", n)
			}
			if live, again := dump(t, a), replayed(t, m); live != again {
				t.Errorf("the live state is %s\nwant %s, as replayed", live, again)
			}
		})
	}
}

// A commit that fails leaves the state as it was.
func TestCommitFails(t *testing.T) {
	for _, done := range []bool{false, true} {
		t.Run(fmt.Sprint("done ", done), func(t *testing.T) {
			s := &faulty{Memory: eventlog.NewMemory()}
			a := open(t, s)
			execute(t, a, Count{1})
			full := errors.New("the disk is full")
			if s.fail = full; done {
				s.fail, s.after = nil, errors.Join(full, eventlog.ErrOutcomeUnknown)
			}
			if _, err := app.DoRaw(t.Context(), a, Count{10}); !errors.Is(err, full) {
				t.Errorf("got error %v, want %v", err, full)
			}
			s.after = nil
			want := 1
			if done {
				want = 11
			}
			if n := total(t, a); n != want {
				t.Errorf("the total is %d, want %d", n, want)
			}
			execute(t, a, Count{100})
			if n := total(t, a); n != want+100 {
				t.Errorf("then the total is %d, want %v", n, want+100)
			}
			if live, again := dump(t, a), replayed(t, s.Memory); live != again {
				t.Errorf("the live state is %s\nwant %s, as replayed", live, again)
			}
		})
	}
}

// A query does not see a command that is not durable yet, whatever its outcome.
func TestNoQuerySeesTheUncommitted(t *testing.T) {
	for _, fails := range []bool{true, false} {
		s := &faulty{Memory: eventlog.NewMemory()}
		a := open(t, s)
		answered := make(chan int, 1)
		s.hold = func() {
			go func() { answered <- total(t, a) }()
			for len(answered) == 0 && !waitsForLock("TestNoQuerySeesTheUncommitted") {
				runtime.Gosched()
			}
			if len(answered) > 0 {
				t.Errorf("fails = %t: the query was answered before the commit, want it to wait", fails)
			}
		}
		want := 5
		if fails {
			s.fail, want = errors.New("the disk is full"), 0
		}
		app.DoRaw(t.Context(), a, Count{5})
		if n := <-answered; n != want {
			t.Errorf("fails = %t: total = %d, want %d", fails, n, want)
		}
	}
}

// waitsForLock reports whether a goroutine that a test has started waits for the lock of an app.
// synctest.Wait cannot tell: it does not regard a goroutine that waits for a mutex as blocked.
func waitsForLock(test string) bool {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(stack, " [select") && strings.Contains(stack, "app.lockContext(") && strings.Contains(stack, test) {
			return true
		}
	}
	return false
}

func TestKeys(t *testing.T) {
	m := eventlog.NewMemory()
	a, other := open(t, m), open(t, m.Share())
	first := execute(t, a, Add{Name: "one", Key: "k1"})
	if again := execute(t, other, Add{Name: "one", Key: "k1"}); again != first {
		t.Errorf("the repeated command returns %s, want %s as at first", again, first)
	}
	if _, err := app.DoRaw(t.Context(), a, Add{Name: "two", Key: "k1"}); err == nil || !strings.Contains(err.Error(), "use a new key") {
		t.Errorf("another command with the key: %v, want \"use a new key\" in it", err)
	}
	ctx := app.WithKey(t.Context(), "k2")
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			if result, err := app.DoRaw(ctx, a, Count{7}); err != nil || string(result) != "7" {
				t.Errorf("%s, %v, want \"7\"", result, err)
			}
		})
	}
	group.Wait()
	if n := last(t, m); n != 2 {
		t.Errorf("the log has %d events, want 2", n)
	}
	if _, err := app.DoRaw(app.WithKey(t.Context(), strings.Repeat("k", 300)), a, Count{1}); err == nil {
		t.Error("a key of 300 bytes is accepted")
	}
}

// Callers have separate keys. Errors and limits are about the key that the caller gave.
func TestKeysOfCallers(t *testing.T) {
	m := eventlog.NewMemory()
	a := open(t, m)
	for i, caller := range []string{"", "ann", "bob", "ann"} {
		want := []string{"1", "2", "3", "2"}[i]
		if result, err := app.DoRaw(app.WithKeyOf(t.Context(), caller, "k"), a, Count{1}); string(result) != want || err != nil {
			t.Errorf("the result of %q is %s, %v, want %v", caller, result, err, want)
		}
	}
	_, err := app.DoRaw(app.WithKeyOf(t.Context(), "ann", "k"), a, Count{2})
	if want := `idempotency key "k" was used for another command or with other arguments: event`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("other arguments with the key: got %v, want %q in it", err, want)
	}
	if _, err := app.DoRaw(app.WithKeyOf(t.Context(), "ann", strings.Repeat("k", 256)), a, Count{1}); err != nil {
		t.Error(err)
	}
}

// A caller without a name who sends the stored key of another command gets a key of its own, not
// the result of that command.
func TestKeysThatLookStored(t *testing.T) {
	m := eventlog.NewMemory()
	a := open(t, m)
	if _, err := app.DoRaw(app.WithKeyOf(t.Context(), "ann", "k"), a, Count{1}); err != nil {
		t.Fatal(err)
	}
	for seq, want := range []string{"2", "3", "4"} {
		stored, err := app.NewAdmin(m, app.Options{}).Find(t.Context(), int64(seq+1))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got, err := app.DoRaw(app.WithKey(t.Context(), stored.Key), a, Count{1}); string(got) != want || err != nil {
				t.Errorf("with the key %q: got %s, %v, want %s", stored.Key, got, err, want)
			}
		}
	}
	ann := app.WithKeyOf(t.Context(), "ann", "add")
	if _, err := app.DoRaw(ann, a, Add{Name: "one"}); err != nil {
		t.Fatal(err)
	}
	stored, err := app.NewAdmin(m, app.Options{}).Find(t.Context(), last(t, m))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := app.DoRaw(t.Context(), a, Add{Name: "one", Key: stored.Key}); !errors.Is(err, app.ErrRefused) {
		t.Errorf("Keyed with the key %q: got %s, %v, want app.ErrRefused", stored.Key, got, err)
	}
}

// A clock that is set back changes the times of events, but not their order, the replayed state or
// the results of keys.
func TestEventsAndTheClock(t *testing.T) {
	m, o := eventlog.NewMemory(), quiet()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	o.Now = func() time.Time { return now }
	a, err := app.Open(t.Context(), m, o, items())
	if err != nil {
		t.Fatal(err)
	}
	first := execute(t, a, Add{Name: "one", Key: "k"})
	now = now.AddDate(-1, 0, 0)
	if again := execute(t, a, Add{Name: "one", Key: "k"}); again != first {
		t.Errorf("the repeated command returns %s, want %s as at first", again, first)
	}
	if second := execute(t, a, Add{Name: "two"}); !strings.Contains(second, `"made":"2025-01-02T03:04:05Z","seq":2`) {
		t.Errorf("the second event: got %s, want %q in it", second, `"made":"2025-01-02T03:04:05Z","seq":2`)
	}
	if live, again := dump(t, a), replayed(t, m); live != again {
		t.Errorf("live %s, replayed %s, want them equal", live, again)
	}
}

// A cancelled command is not executed.
func TestGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := eventlog.NewMemory()
		a := open(t, m)
		release := make(chan struct{})
		go m.Share().Write(t.Context(), func(eventlog.Tx) error { <-release; return nil })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var group sync.WaitGroup
		for range 5 {
			group.Go(func() {
				if _, err := app.DoRaw(ctx, a, Count{1}); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got error %v, want context.DeadlineExceeded", err)
				}
			})
		}
		group.Go(func() {
			if _, err := app.DoRaw(t.Context(), a, Count{10}); err != nil {
				t.Errorf("without a deadline DoRaw returned %v, want no error", err)
			}
		})
		time.Sleep(2 * time.Second)
		close(release)
		group.Wait()
		if n := total(t, a); n != 10 {
			t.Errorf("the total is %d, want 10", n)
		}
	})
}

// With several handles on one log and many callers no update is lost, and all states are equal.
func TestTogether(t *testing.T) {
	m := eventlog.NewMemory()
	var apps []*app.App
	for range 4 {
		apps = append(apps, open(t, m.Share()))
	}
	var group sync.WaitGroup
	for i := range 64 {
		a := apps[i%len(apps)]
		group.Go(func() {
			before := 0
			for n := range 25 {
				execute(t, a, Count{1})
				now := total(t, a)
				if now <= before {
					t.Errorf("the total was %d and is %d, want more", before, now)
				}
				before = now
				if n%10 == 0 {
					execute(t, a, Add{Name: fmt.Sprintf("%d.%d", i, n)})
				}
			}
		})
	}
	group.Wait()
	for _, a := range apps {
		if n := total(t, a); n != 64*25 {
			t.Errorf("the total is %d, want %v", n, 64*25)
		}
		if live, again := dump(t, a), replayed(t, m); live != again {
			t.Errorf("the live state is %s\nwant %s, as replayed", live, again)
		}
	}
}

func TestCommandsWithinQueries(t *testing.T) {
	a := open(t, eventlog.NewMemory(), app.Feature{
		Name:     "odd",
		State:    app.StateOf(func() *odd { return &odd{} }),
		Commands: []app.CommandType{app.CommandTypeOf[nested]("nested", 1)},
	}, items())
	if _, err := app.DoRaw(t.Context(), a, nested{}); err == nil || !strings.Contains(err.Error(), "in a check or a query") {
		t.Errorf("got error %v, want \"in a check or a query\" in it", err)
	}
}

type odd struct{}

type nested struct{}

func (nested) Check(ctx context.Context, _ *odd) error {
	if _, err := app.Query(ctx, Total{}); err != nil { // another feature's state may be looked at
		return err
	}
	_, err := app.Do(ctx, Count{1})
	return err
}
func (nested) Apply(*odd, app.Event) int { return 0 }

// Own returns the actor of the context in a check, in a query and in the event.
type Own struct{}

func (Own) Check(ctx context.Context, _ *State) error {
	if actor := app.Actor(ctx); actor == "eve" {
		return fmt.Errorf("%s may not", actor)
	}
	return nil
}

func (Own) Apply(_ *State, e app.Event) string { return e.Actor }

func (Own) Answer(ctx context.Context, _ *State) (string, error) { return app.Actor(ctx), nil }

// own returns a feature with Own, whose worker answers each Count with an Own, twice: for itself,
// and for the actor of the event.
func own() app.Feature {
	f := items()
	f.Commands = append(f.Commands, app.CommandTypeOf[Own]("own", 1))
	f.Workers = []app.Worker{app.WorkerOf("counter", func(context.Context) (*struct{}, error) { return &struct{}{}, nil },
		app.On(func(_ *struct{}, ctx context.Context, _ Count, e app.Event) error {
			_, err := app.Do(ctx, Own{})
			_, err2 := app.Do(app.WithActor(ctx, e.Actor), Own{})
			return errors.Join(err, err2)
		}))}
	return f
}

// The log records the actor of a command. Check, Apply, Answer and workers see it, and replay gives
// Apply the same.
func TestActor(t *testing.T) {
	type callerKey struct{}
	m, o := eventlog.NewMemory(), quiet()
	o.Actor = func(ctx context.Context) string {
		name, _ := ctx.Value(callerKey{}).(string)
		return name
	}
	a, err := app.Open(t.Context(), m, o, own())
	if err != nil {
		t.Fatal(err)
	}
	ada := context.WithValue(t.Context(), callerKey{}, "ada")
	for _, test := range []struct {
		ctx  context.Context
		want string
	}{
		{ada, "ada"},
		{app.WithActor(ada, "bob"), "bob"},
		{app.With(app.WithActor(ada, "bob"), a), "bob"},
		{app.WithActor(app.With(t.Context(), a), "bob"), "bob"},
		{app.With(ada, a), "ada"},
		{app.WithActor(ada, ""), "ada"},
		{t.Context(), ""},
	} {
		result, err := app.DoRaw(test.ctx, a, Own{})
		answer, err2 := app.QueryRaw[State, string](test.ctx, a, Own{})
		if want := fmt.Sprintf("%q", test.want); string(result) != want || string(answer) != want || err != nil || err2 != nil {
			t.Errorf("want %s, got %s and %s: %v, %v", want, result, answer, err, err2)
		}
	}
	if got := app.Actor(app.With(ada, a)); got != "ada" {
		t.Errorf("in a tool the actor is %q, want \"ada\"", got)
	}
	if got := app.Actor(ada); got != "" {
		t.Errorf("without an app the actor is %q, want %q", got, "")
	}
	if _, err := app.DoRaw(app.WithActor(ada, "eve"), a, Own{}); !errors.Is(err, app.ErrRefused) || !strings.Contains(err.Error(), "eve may not") {
		t.Errorf("the check returns %v, want app.ErrRefused, \"eve may not\" in it", err)
	}
	if _, err := app.DoRaw(ada, a, Count{1}); err != nil {
		t.Fatal(err)
	}
	if err := a.WorkOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := amend(app.WithActor(t.Context(), "local:ops"), m.Share(), app.Amendment{Seq: 1, Skip: true, Reason: "a test"}); err != nil {
		t.Fatal(err)
	}
	var actors []string
	for r, err := range m.Records(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		actors = append(actors, r.Actor)
	}
	if got := strings.Join(actors, " "); got != "ada bob bob bob ada ada  ada worker:items/counter ada local:ops" {
		t.Errorf("the actors in the log are %q, want %q", got, "ada bob bob bob ada ada  ada worker:items/counter ada local:ops")
	}
}

// A lookups counts the lookups of idempotency keys, and refuses commits with a conflict.
type lookups struct {
	*eventlog.Memory
	finds     int
	conflicts int // how many commits to refuse
}

type countedTx struct {
	eventlog.Tx
	s *lookups
}

func (tx countedTx) Find(keys ...string) (map[string]eventlog.Record, error) {
	tx.s.finds++
	return tx.Tx.Find(keys...)
}

func (s *lookups) Write(ctx context.Context, f func(eventlog.Tx) error) error {
	return s.Memory.Write(ctx, func(tx eventlog.Tx) error {
		err := f(countedTx{tx, s})
		if err == nil && s.conflicts > 0 {
			s.conflicts--
			err = eventlog.ErrConflict
		}
		return err
	})
}

// The idempotency keys of all commands of a commit are looked up at once.
func TestKeysAreLookedUpAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := eventlog.NewMemory()
		s := &lookups{Memory: m.Share()}
		a := open(t, s)
		hold := make(chan struct{})
		go m.Write(t.Context(), func(eventlog.Tx) error { <-hold; return nil })
		synctest.Wait()
		results := make(chan string, 4)
		for _, key := range []string{"a", "b", "a", ""} {
			go func() {
				result, err := app.DoRaw(app.WithKey(t.Context(), key), a, Count{1})
				if err != nil {
					t.Error(err)
				}
				results <- string(result)
			}()
			synctest.Wait()
		}
		close(hold)
		var got []string
		for range 4 {
			got = append(got, <-results)
		}
		slices.Sort(got)
		if want := []string{"1", "1", "2", "3"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if s.finds != 1 {
			t.Errorf("%d lookups, want 1", s.finds)
		}
	})
}

// A command is retried after conflicts, but not forever.
func TestConflicts(t *testing.T) {
	s := &lookups{Memory: eventlog.NewMemory(), conflicts: 3}
	a := open(t, s)
	if got := execute(t, a, Count{1}); got != "1" {
		t.Errorf("got %s, want \"1\"", got)
	}
	s.conflicts = 1000
	if _, err := app.DoRaw(t.Context(), a, Count{1}); !errors.Is(err, eventlog.ErrConflict) {
		t.Errorf("got error %v, want eventlog.ErrConflict", err)
	}
	s.conflicts = 0
	if got := execute(t, a, Count{1}); got != "2" {
		t.Errorf("got %s, want \"2\"", got)
	}
}

// Fickle can be decoded once, so not again after a conflict.
type Fickle struct{ Text fickleText }

type fickleText string

// decodings counts how often a fickleText has been decoded, by its value.
var decodings sync.Map

func (f *fickleText) UnmarshalJSON(raw []byte) error {
	if _, ok := decodings.LoadOrStore(string(raw), true); ok {
		return errors.New("cannot be decoded twice")
	}
	return json.Unmarshal(raw, (*string)(f))
}

func (c Fickle) Check(context.Context, *State) error { return nil }
func (c Fickle) Apply(s *State, _ app.Event) int     { s.Total++; return s.Total }

// A command that cannot be decoded for a retry fails. It does not stop the others.
func TestConflictOfCommandThatCannotBeDecodedAgain(t *testing.T) {
	s := &lookups{Memory: eventlog.NewMemory(), conflicts: 1}
	f := items()
	f.Commands = append(f.Commands, app.CommandTypeOf[Fickle]("fickle", 1))
	a := open(t, s, f)
	_, err := app.DoRaw(t.Context(), a, Fickle{Text: fickleText(t.Name())})
	if want := "decode command items/fickle from its own JSON: Text: cannot be decoded twice"; err == nil || err.Error() != want {
		t.Errorf("DoRaw(Fickle) returns the error %v, want %s", err, want)
	}
	if got := execute(t, a, Count{1}); got != "1" {
		t.Errorf("DoRaw(Count{1}) = %s, want 1", got)
	}
}

// A process that learns of events only because it executes a command lets its workers follow them,
// even if the command is refused.
func TestRefusedCommandFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, world := eventlog.NewMemory(), &outside{}
		p := start(t, m, mailing(world))
		defer p.end()
		time.Sleep(time.Second + time.Millisecond) // the next poll is far
		execute(t, open(t, m.Share()), Add{Name: "a"})
		if _, err := app.DoRaw(t.Context(), p.App, Add{Name: "a"}); !errors.Is(err, app.ErrRefused) {
			t.Error(err)
		}
		synctest.Wait()
		if got := world.list(); got != "a" {
			t.Errorf("the worker has done %q, want \"a\"", got)
		}
	})
}
