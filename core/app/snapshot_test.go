package app_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

// withFingerprint opens the log with a fingerprint, and counts the events that it applies.
func withFingerprint(t *testing.T, m *eventlog.Memory, fingerprint string) (*app.App, int) {
	t.Helper()
	o := quiet()
	o.Fingerprint = func(string) string { return fingerprint }
	s := &counting{Memory: m.Share()}
	a, err := app.Open(t.Context(), s, o, items())
	if err != nil {
		t.Fatal(err)
	}
	return a, s.read
}

type counting struct {
	*eventlog.Memory
	read int
}

func (c *counting) Records(ctx context.Context, after int64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		for r, err := range c.Memory.Records(ctx, after) {
			c.read++
			if !yield(r, err) {
				return
			}
		}
	}
}

func TestSnapshot(t *testing.T) {
	m := eventlog.NewMemory()
	a := open(t, m)
	for range 100 {
		execute(t, a, Count{1})
	}
	execute(t, a, Add{Name: "first"})
	if err := a.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	execute(t, a, Count{1})
	same, read := withFingerprint(t, m, "same")
	if read > 2 || dump(t, same) != dump(t, a) || dump(t, same) != replayed(t, m) {
		t.Errorf("read %d events, and has the state\n%s\nnot\n%s, want at most 2", read, dump(t, same), dump(t, a))
	}
	execute(t, same, Count{1})
	if n := total(t, a); n != 102 {
		t.Errorf("the total is %d, want 102", n)
	}
	other, read := withFingerprint(t, m, "other")
	if read != 103 || dump(t, other) != dump(t, a) {
		t.Errorf("other code has read %d events, and has the state\n%s\nnot\n%s, want 103", read, dump(t, other), dump(t, a))
	}

	// Snapshots from before an amendment are not used.
	if err := amend(t.Context(), m.Share(), app.Amendment{Seq: 5, Skip: true, Reason: "never mind"}); err != nil {
		t.Fatal(err)
	}
	amended, read := withFingerprint(t, m, "same")
	if n := total(t, amended); read < 100 || n != 101 || total(t, a) != n {
		t.Errorf("read %d events, and the totals are %d and %d; want at least 100, and 101 twice", read, n, total(t, a))
	}
	if err := a.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again, read := withFingerprint(t, m, "same"); read > 2 || dump(t, again) != dump(t, a) {
		t.Errorf("a new process read %d events and has %s; want at most 2 and %s", read, dump(t, again), dump(t, a))
	}
	status, err := a.Status(t.Context())
	if err != nil || status.Features[0].Snapshot != 104 || status.Seq != 104 {
		t.Errorf("%+v, %v, want Features[0].Snapshot 104, Seq 104", status, err)
	}
}

// A feature uses its snapshot while its own code is unchanged. If a feature has a Map, the code of
// all features counts. A feature without a fingerprint uses the snapshots of the same program.
func TestFingerprintOfFeature(t *testing.T) {
	for _, test := range []struct {
		name          string
		hasMap        bool
		before, after map[string]string // fingerprints
		want          string            // last events in the snapshots of items and tags
	}{
		{"edit elsewhere", false, map[string]string{"items": "a", "tags": "b"}, map[string]string{"items": "a", "tags": "b"}, "1 1"},
		{"one edited", false, map[string]string{"items": "a", "tags": "b"}, map[string]string{"items": "a", "tags": "c"}, "1 0"},
		{"one unknown", false, map[string]string{"items": "a", "tags": "b"}, map[string]string{"tags": "b"}, "0 1"},
		{"one unknown before and after", false, map[string]string{"tags": "b"}, map[string]string{"tags": "b"}, "1 1"},
		{"none known before", false, nil, map[string]string{"items": "a", "tags": "b"}, "0 0"},
		{"none known", false, nil, nil, "1 1"},
		{"edit elsewhere with Map", true, map[string]string{"items": "a", "tags": "b"}, map[string]string{"items": "a", "tags": "b"}, "1 1"},
		{"one edited with Map", true, map[string]string{"items": "a", "tags": "b"}, map[string]string{"items": "a", "tags": "c"}, "0 0"},
		{"one unknown with Map", true, map[string]string{"items": "a", "tags": "b"}, map[string]string{"tags": "b"}, "0 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, mapping := eventlog.NewMemory(), tags()
			if test.hasMap {
				mapping.Map = func(r eventlog.Record) (eventlog.Payload, error) { return r.Payload(), nil }
			}
			openWith := func(fingerprints map[string]string) *app.App {
				t.Helper()
				o := quiet()
				o.Fingerprint = func(feature string) string { return fingerprints[feature] }
				a, err := app.Open(t.Context(), m.Share(), o, items(), mapping)
				if err != nil {
					t.Fatal(err)
				}
				return a
			}
			before := openWith(test.before)
			execute(t, before, Count{1})
			if err := before.Snapshot(t.Context()); err != nil {
				t.Fatal(err)
			}
			status, err := openWith(test.after).Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(status.Features[0].Snapshot, status.Features[1].Snapshot); got != test.want {
				t.Errorf("the features start from %s, want %s", got, test.want)
			}
		})
	}
}

// documents returns the names of the documents of the snapshots of items, with the head last.
func documents(t *testing.T, m *eventlog.Memory) []string {
	t.Helper()
	names, err := m.Names(t.Context(), "snapshot/items/")
	if err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(strings.Count(b, "/"), strings.Count(a, "/"))
	})
	return names
}

// rewrite changes a document, in which the first line is the checksum. A sealed one has the right
// one.
func rewrite(t *testing.T, m *eventlog.Memory, name string, sealed bool, change func(string) string) {
	t.Helper()
	err := m.Share().Write(t.Context(), func(tx eventlog.Tx) error {
		text, err := tx.Get(name)
		if err != nil {
			return err
		}
		changed := change(string(text))
		if sealed {
			_, content, _ := strings.Cut(changed, "\n")
			changed = fmt.Sprintf("%x\n%s", sha256.Sum256([]byte(name+"\n"+content)), content)
		}
		if changed == string(text) {
			t.Fatalf("the damage left the document as it was: %q", changed)
		}
		if changed == "" {
			return tx.Put(name, nil)
		}
		return tx.Put(name, []byte(changed))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A snapshot that is damaged, or of another log, is ignored with a warning that says why.
func TestBadSnapshot(t *testing.T) {
	replace := func(old, new string) func(string) string {
		return func(text string) string { return strings.Replace(text, old, new, 1) }
	}
	const head, chunk = true, false
	for _, test := range []struct {
		name   string
		isHead bool
		sealed bool // with the right checksum
		change func(string) string
		says   string
	}{
		{"cut", chunk, false, func(text string) string { return text[:len(text)/2] }, "checksum"},
		{"shorter", chunk, false, func(text string) string { return text[:len(text)-3] }, "checksum"},
		{"almost empty", chunk, false, func(string) string { return "x" }, "checksum"},
		{"missing", chunk, false, func(string) string { return "" }, "is missing"},
		{"one bit of the state", chunk, false, replace(`"total":2`, `"total":3`), "checksum"},
		{"one bit of the checksum", chunk, false, func(text string) string { return string(text[0]^1) + text[1:] }, "checksum"},
		{"mistyped", chunk, true, replace(`"total":2`, `"total":"2"`), "does not fit app_test.State: total: must be an integer"},
		{"unknown field", chunk, true, replace(`"total":2`, `"totals":2`), `does not fit app_test.State: field "totals" is unknown, "total" is missing`},
		{"truncated", chunk, true, func(text string) string { return text[:len(text)-3] }, "does not fit app_test.State: unexpected EOF"},
		{"cut head", head, false, func(text string) string { return text[:len(text)/2] }, "checksum"},
		{"one bit of the head", head, false, replace(`"seq":2`, `"seq":3`), "checksum"},
		{"fewer chunks", head, true, replace(`"chunks":1`, `"chunks":0`), "unexpected EOF"},
		{"more chunks", head, true, replace(`"chunks":1`, `"chunks":2`), "is missing"},
		{"other chunks", head, true, replace(`"attempt":"`, `"attempt":"x`), "is missing"},
		{"unknown field in the head", head, true, replace(`"seq":2`, `"seq":2,"x":1`), `field "x" is unknown`},
		{"of another log", head, true, replace(`"id":"`, `"id":"x`), "snapshot was taken from another log"},
		{"of a longer log", head, true, replace(`"seq":2`, `"seq":7`), "snapshot was taken from another log"},
		{"of other code", head, true, replace(`"same"`, `"other"`), "snapshot was taken by other code"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := eventlog.NewMemory()
			a := open(t, m)
			execute(t, a, Count{1})
			execute(t, a, Count{1})
			if err := a.Snapshot(t.Context()); err != nil {
				t.Fatal(err)
			}
			names := documents(t, m)
			name := names[0]
			if test.isHead {
				name = names[len(names)-1]
			}
			rewrite(t, m, name, test.sealed, test.change)
			var log strings.Builder
			o := quiet()
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			again, err := app.Open(t.Context(), m.Share(), o, items())
			if err != nil || total(t, again) != 2 {
				t.Errorf("the total is %d, %v, want 2", total(t, again), err)
			}
			if got := strings.ReplaceAll(log.String(), `\`, ``); !strings.Contains(got, test.says) || !strings.Contains(got, "snapshot ignored") {
				t.Errorf(`warning: %s, want %q and "snapshot ignored" in it`, got, test.says)
			}
			_, checks, err := app.NewAdmin(m.Share(), quiet(), items()).Replay(t.Context())
			if err != nil || len(checks) != 1 || checks[0].Result == app.SnapshotMatches {
				t.Errorf("replay: got %+v, %v; want one check, which fails", checks, err)
			}
		})
	}
}

// Replay compares each snapshot with the state after the same event.
func TestReplayComparesSnapshots(t *testing.T) {
	m := eventlog.NewMemory()
	both := builds()
	a := open(t, m, both...)
	check := func(want ...app.SnapshotCheck) *app.App {
		t.Helper()
		a, checks, err := app.NewAdmin(m.Share(), quiet(), both...).Replay(t.Context())
		if err != nil || !slices.Equal(checks, want) {
			t.Fatalf("got checks %+v, %v, want %v", checks, err, want)
		}
		return a
	}
	check(app.SnapshotCheck{Feature: "items", Result: app.SnapshotNone}, app.SnapshotCheck{Feature: "tags", Result: app.SnapshotNone})
	for range 10 {
		execute(t, a, Count{1})
	}
	if err := a.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	execute(t, a, Tag{[]int{1}})
	execute(t, a, Count{1})
	matches := []app.SnapshotCheck{{Feature: "items", Seq: 10, Result: app.SnapshotMatches}, {Feature: "tags", Seq: 10, Result: app.SnapshotMatches}}
	if n := total(t, check(matches...)); n != 11 {
		t.Errorf("the total is %d, want 11", n)
	}

	rewrite(t, m, documents(t, m)[0], true, func(text string) string { return strings.Replace(text, `"total":10`, `"total":99`, 1) })
	fresh := check(app.SnapshotCheck{Feature: "items", Seq: 10, Result: app.SnapshotDiffers}, matches[1])
	execute(t, fresh, Count{1})
	if n := total(t, fresh); n != 12 || total(t, a) != 12 {
		t.Errorf("the totals are %d and %d, want 12 and 12", n, total(t, a))
	}
	if err := fresh.Snapshot(t.Context()); err != nil { // the way out
		t.Fatal(err)
	}
	check(app.SnapshotCheck{Feature: "items", Seq: 13, Result: app.SnapshotMatches}, app.SnapshotCheck{Feature: "tags", Seq: 13, Result: app.SnapshotMatches})

	if err := amend(t.Context(), m.Share(), app.Amendment{Seq: 1, Skip: true, Reason: "a test"}); err != nil {
		t.Fatal(err)
	}
	check(app.SnapshotCheck{Feature: "items", Seq: 13, Result: app.SnapshotUnused}, app.SnapshotCheck{Feature: "tags", Seq: 13, Result: app.SnapshotUnused})
}

// Old builds leave at most one snapshot behind, and one in an older format none.
func TestSnapshotsAreDropped(t *testing.T) {
	m := eventlog.NewMemory()
	execute(t, open(t, m), Count{1})
	err := m.Write(t.Context(), func(tx eventlog.Tx) error { return tx.Put("snapshot/items/b", []byte("{}\n{}\n0123")) })
	if err != nil {
		t.Fatal(err)
	}
	for _, fingerprint := range []string{"a", "b", "c", "d"} {
		a, _ := withFingerprint(t, m, fingerprint)
		execute(t, a, Count{1})
		if err := a.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := regexp.MustCompile(`/\w{16}/`).ReplaceAllString(strings.Join(documents(t, m), " "), "/…/"),
		"snapshot/items/c/…/000000 snapshot/items/d/…/000000 snapshot/items/c/head snapshot/items/d/head"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for _, fingerprint := range []string{"c", "d"} {
		if _, read := withFingerprint(t, m, fingerprint); read > 3 {
			t.Errorf("with %s it reads %d events, want at most 3", fingerprint, read)
		}
	}
}

// A snapshot is used only if it saves half of the events.
func TestSnapshotSavesLittle(t *testing.T) {
	m := eventlog.NewMemory()
	a := open(t, m)
	for i := range 40 {
		if i == 15 {
			if err := a.Snapshot(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		execute(t, a, Count{1})
		if _, read := withFingerprint(t, m, "same"); i > 15 && i < 30 && read > 17 || i > 30 && read <= i {
			t.Fatalf("of %d events it reads %d, want at most 17 with a snapshot, and all without", i+1, read)
		}
	}
}

// A watched store calls before with the number of each Write, which fails with its error.
type watched struct {
	*eventlog.Memory
	writes int
	before func(write int) error // may be nil
}

func (w *watched) Write(ctx context.Context, f func(eventlog.Tx) error) error {
	if before := w.before; before != nil {
		if w.writes++; before(w.writes) != nil {
			return before(w.writes)
		}
	}
	return w.Memory.Write(ctx, f)
}

// Snapshots of a large state are many chunks. If one is not finished, for whatever reason, the
// previous one stays, and the next one removes what was written.
func TestSnapshotInterrupted(t *testing.T) {
	m := eventlog.NewMemory()
	s := &watched{Memory: m.Share()}
	a := open(t, s)
	for i := range 7 {
		execute(t, a, Add{Name: fmt.Sprint(i, strings.Repeat("x", 1_700_000))})
	}
	var stored int64 // last event in the last snapshot
	snapshot := func(ctx context.Context, before func(write int) error) error {
		t.Helper()
		execute(t, a, Count{1})
		s.writes, s.before = 0, before
		err := a.Snapshot(ctx)
		s.before = nil
		if err == nil {
			stored = last(t, m)
		}
		b, read := withFingerprint(t, m, "same")
		status, statusErr := b.Status(t.Context())
		if statusErr != nil || status.Features[0].Snapshot != stored || read > 15 || total(t, b) != total(t, a) {
			t.Errorf("after %v: snapshot of event %d, %d events read, total %d; %v; want event %d, at most 15 and %d", err, status.Features[0].Snapshot, read, total(t, b), statusErr, stored, total(t, a))
		}
		return err
	}
	if err := snapshot(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	want := len(documents(t, m))
	if want < 12 {
		t.Errorf("%d documents, want at least 12", want)
	}
	for _, name := range documents(t, m) {
		if document, err := m.Get(t.Context(), name); err != nil || len(document) > 1_000_000 {
			t.Errorf("document %s has %d bytes, %v, want at most 1_000_000", name, len(document), err)
		}
	}
	for last := range 3 {
		lost := errors.New("the disk is away")
		err := snapshot(t.Context(), func(write int) error {
			if write > last {
				return lost
			}
			return nil
		})
		if !errors.Is(err, lost) {
			t.Errorf("writes after %d fail: got error %v, want %v", last, err, lost)
		}
	}
	if names := documents(t, m); len(names) <= want {
		t.Errorf("%d documents, want more than %d", len(names), want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := snapshot(ctx, func(write int) error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("the process ends: %v, want context.Canceled", err)
	}
	err := snapshot(t.Context(), func(write int) error {
		if write == 2 {
			s.before = nil
			execute(t, a, Count{1})
		}
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "the state has changed meanwhile") {
		t.Errorf("a command changes the state: %v, want \"the state has changed meanwhile\" in it", err)
	}
	other := open(t, m.Share())
	err = snapshot(t.Context(), func(write int) error {
		if write != 2 {
			return nil
		}
		stored = last(t, m)
		return other.Snapshot(t.Context())
	})
	if err == nil || !strings.Contains(err.Error(), "another process has taken a snapshot meanwhile") {
		t.Errorf("another process takes one, want %q in it: %v", "another process has taken a snapshot meanwhile", err)
	}
	if names := documents(t, m); len(names) != want {
		t.Errorf("%d documents, want %d", len(names), want)
	}
}

// Servers take snapshots that are due before they are ready and when they have served, and only
// those that need little time while they serve.
func TestSnapshotsWhenDue(t *testing.T) {
	for _, test := range []struct {
		name          string
		slow, off     bool
		before, after int64 // events in the snapshot before and after serving
		serving       int64
	}{
		{"fast", false, false, 10_000, 21_000, 21_000},
		{"slow", true, false, 10_000, 21_000, 10_000},
		{"off", false, true, 0, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := eventlog.NewMemory()
				grow := func(n int64) {
					for range n / 500 {
						var records []eventlog.Record
						for seq := range int64(500) {
							seq += last(t, m) + 1
							records = append(records, eventlog.Record{Seq: seq, ID: fmt.Sprint(seq), Time: time.Now(), Type: "slow/add", Version: 1, Data: []byte("{}")})
						}
						if err := m.Share().Write(t.Context(), func(tx eventlog.Tx) error { return tx.Append(records...) }); err != nil {
							t.Fatal(err)
						}
					}
				}
				o := quiet()
				o.NoSnapshot = test.off
				feature := app.Feature{Name: "slow", State: app.StateOf(func() *slow { return &slow{Slow: slowText{test.slow}} }), Commands: []app.CommandType{app.CommandTypeOf[addSlow]("add", 1)}}
				a, err := app.Open(t.Context(), m.Share(), o, feature)
				if err != nil {
					t.Fatal(err)
				}
				check := func(when string, want int64) {
					t.Helper()
					if status, err := a.Status(t.Context()); err != nil || status.Features[0].Snapshot != want {
						t.Errorf("%s: snapshot of event %d, want %d; %v", when, status.Features[0].Snapshot, want, err)
					}
				}
				grow(10_000)
				if _, err := a.Dump(t.Context()); err != nil {
					t.Fatal(err)
				}
				a.SnapshotDue(t.Context())
				check("before", test.before)
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() { a.Run(ctx); close(ended) }()
				grow(11_000)
				time.Sleep(3 * time.Minute)
				check("serving", test.serving)
				stop()
				<-ended
				check("after", test.after)
				if test.off {
					return
				}

				names, err := m.Names(t.Context(), "snapshot/slow/")
				if err != nil {
					t.Fatal(err)
				}
				for _, name := range names {
					if !strings.HasSuffix(name, "/head") {
						rewrite(t, m, name, false, func(text string) string { return text + "x" })
					}
				}
				if a, err = app.Open(t.Context(), m.Share(), o, feature); err != nil {
					t.Fatal(err)
				}
				check("damaged", 0)
				a.SnapshotDue(t.Context())
				check("replaced", 21_000)
				if _, checks, err := app.NewAdmin(m.Share(), o, feature).Replay(t.Context()); err != nil || checks[0].Result != app.SnapshotMatches {
					t.Errorf("%+v, %v, want Result %v", checks, err, app.SnapshotMatches)
				}
			})
		})
	}
}

// slow is a state that may be slow to encode.
type slow struct {
	N    int
	Slow slowText
}

type slowText struct{ isSlow bool }

func (s slowText) MarshalJSON() ([]byte, error) {
	if s.isSlow {
		time.Sleep(time.Second)
	}
	return fmt.Append(nil, s.isSlow), nil
}

func (s *slowText) UnmarshalJSON(text []byte) error { s.isSlow = string(text) == "true"; return nil }

type addSlow struct{}

func (addSlow) Check(context.Context, *slow) error { return nil }
func (addSlow) Apply(s *slow, _ app.Event) int     { s.N++; return s.N }

// A state that JSON cannot hold is replayed, and its status says why.
func TestUnkeptState(t *testing.T) {
	m := eventlog.NewMemory()
	feature := app.Feature{Name: "hidden", State: app.StateOf(func() *hidden { return &hidden{} }), Commands: []app.CommandType{app.CommandTypeOf[hide]("hide", 1)}}
	a := open(t, m, feature)
	execute(t, a, hide{3})
	if err := a.Snapshot(t.Context()); err != nil {
		t.Error(err)
	}
	b := open(t, m.Share(), feature)
	if result := execute(t, b, hide{4}); result != "7" {
		t.Errorf("the sum is %s, want \"7\"", result)
	}
	status, err := a.Status(t.Context())
	if err != nil || !strings.Contains(status.Features[0].Unkept, "hidden.sum is not encoded as JSON") {
		t.Errorf("%+v, %v, want \"hidden.sum is not encoded as JSON\" in it", status, err)
	}
}

type hidden struct{ sum int }

type hide struct{ N int }

func (hide) Check(context.Context, *hidden) error { return nil }
func (c hide) Apply(s *hidden, _ app.Event) int   { s.sum += c.N; return s.sum }
