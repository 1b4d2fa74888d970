package app_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/app"
)

// withFingerprint opens the log with a fingerprint, and counts the events that it applies.
func withFingerprint(t *testing.T, m *app.Memory, fingerprint string) (*app.App, int) {
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
	*app.Memory
	read int
}

func (c *counting) Records(ctx context.Context, after int64) iter.Seq2[app.Record, error] {
	return func(yield func(app.Record, error) bool) {
		for r, err := range c.Memory.Records(ctx, after) {
			c.read++
			if !yield(r, err) {
				return
			}
		}
	}
}

func TestSnapshot(t *testing.T) {
	m := app.NewMemory()
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
		t.Errorf("read %d events, and has the state\n%s\nnot\n%s", read, dump(t, same), dump(t, a))
	}
	execute(t, same, Count{1})
	if n := total(t, a); n != 102 {
		t.Errorf("the total is %d", n)
	}
	other, read := withFingerprint(t, m, "other")
	if read != 103 || dump(t, other) != dump(t, a) {
		t.Errorf("other code has read %d events, and has the state\n%s\nnot\n%s", read, dump(t, other), dump(t, a))
	}

	// Snapshots from before an amendment are not used.
	if err := app.Amend(t.Context(), m.Share(), app.Amendment{Seq: 5, Skip: true, Reason: "never mind"}); err != nil {
		t.Fatal(err)
	}
	amended, read := withFingerprint(t, m, "same")
	if n := total(t, amended); read < 100 || n != 101 || total(t, a) != n {
		t.Errorf("read %d events, and the total is %d", read, n)
	}
	if err := a.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again, read := withFingerprint(t, m, "same"); read > 2 || dump(t, again) != dump(t, a) {
		t.Errorf("read %d events", read)
	}
	status, err := a.Status(t.Context())
	if err != nil || status.Features[0].Snapshot != 104 || status.Seq != 104 {
		t.Errorf("%+v, %v", status, err)
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
			m, mapping := app.NewMemory(), tags()
			if test.hasMap {
				mapping.Map = func(r app.Record) (app.Payload, error) { return r.Payload(), nil }
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
				t.Errorf("the features start from %s, not %s", got, test.want)
			}
		})
	}
}

// rewrite changes the snapshot of items in a store. A sealed one has the right checksum.
func rewrite(t *testing.T, m *app.Memory, sealed bool, change func(string) string) {
	t.Helper()
	err := m.Share().Write(t.Context(), func(tx app.Tx) error {
		text, err := tx.Get("snapshot/items/same")
		if err != nil {
			return err
		}
		changed := change(string(text))
		if sealed {
			changed = changed[:strings.LastIndex(changed, "\n")]
			changed += fmt.Sprintf("\n%x", sha256.Sum256([]byte(changed)))
		}
		if changed == string(text) {
			t.Fatal("nothing was changed")
		}
		return tx.Put("snapshot/items/same", []byte(changed))
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
	for _, test := range []struct {
		name   string
		sealed bool // with the right checksum
		change func(string) string
		says   string
	}{
		{"cut", false, func(text string) string { return text[:len(text)/2] }, "checksum"},
		{"shorter", false, func(text string) string { return text[:len(text)-3] }, "checksum"},
		{"empty", false, func(string) string { return "" }, "checksum"},
		{"one bit of the state", false, replace(`"total":2`, `"total":3`), "checksum"},
		{"one bit of the head", false, replace(`"seq":2`, `"seq":3`), "checksum"},
		{"one bit of the checksum", false, func(text string) string { return text[:len(text)-1] + string(text[len(text)-1]^1) }, "checksum"},
		{"mistyped", true, replace(`"total":2`, `"total":"2"`), "does not fit app_test.State: total: must be an integer"},
		{"unknown field", true, replace(`"total":2`, `"totals":2`), `does not fit app_test.State: field "totals" is unknown, "total" is missing`},
		{"of another log", true, replace(`"id":"`, `"id":"x`), "snapshot was taken from another log"},
		{"of a longer log", true, replace(`"seq":2`, `"seq":7`), "snapshot was taken from another log"},
		{"of other code", true, replace(`"same"`, `"other"`), "snapshot was taken by other code"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := app.NewMemory()
			a := open(t, m)
			execute(t, a, Count{1})
			execute(t, a, Count{1})
			if err := a.Snapshot(t.Context()); err != nil {
				t.Fatal(err)
			}
			rewrite(t, m, test.sealed, test.change)
			var log strings.Builder
			o := quiet()
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			again, err := app.Open(t.Context(), m.Share(), o, items())
			if err != nil || total(t, again) != 2 {
				t.Errorf("the total is %d, %v", total(t, again), err)
			}
			if got := strings.ReplaceAll(log.String(), `\`, ``); !strings.Contains(got, test.says) || !strings.Contains(got, "snapshot ignored") {
				t.Errorf("warning: %s", got)
			}
			_, checks, err := app.Replay(t.Context(), m.Share(), quiet(), items())
			if err != nil || len(checks) != 1 || checks[0].Result == app.SnapshotMatches {
				t.Errorf("replay says %+v, %v", checks, err)
			}
		})
	}
}

// Replay compares each snapshot with the state after the same event.
func TestReplayComparesSnapshots(t *testing.T) {
	m := app.NewMemory()
	both := builds()
	a := open(t, m, both...)
	check := func(want ...app.SnapshotCheck) *app.App {
		t.Helper()
		a, checks, err := app.Replay(t.Context(), m.Share(), quiet(), both...)
		if err != nil || !slices.Equal(checks, want) {
			t.Fatalf("got checks %+v, %v", checks, err)
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
		t.Errorf("the total is %d", n)
	}

	rewrite(t, m, true, func(text string) string { return strings.Replace(text, `"total":10`, `"total":99`, 1) })
	fresh := check(app.SnapshotCheck{Feature: "items", Seq: 10, Result: app.SnapshotDiffers}, matches[1])
	execute(t, fresh, Count{1})
	if n := total(t, fresh); n != 12 || total(t, a) != 12 {
		t.Errorf("the total is %d", n)
	}
	if err := fresh.Snapshot(t.Context()); err != nil { // the way out
		t.Fatal(err)
	}
	check(app.SnapshotCheck{Feature: "items", Seq: 13, Result: app.SnapshotMatches}, app.SnapshotCheck{Feature: "tags", Seq: 13, Result: app.SnapshotMatches})

	if err := app.Amend(t.Context(), m.Share(), app.Amendment{Seq: 1, Skip: true, Reason: "a test"}); err != nil {
		t.Fatal(err)
	}
	check(app.SnapshotCheck{Feature: "items", Seq: 13, Result: app.SnapshotUnused}, app.SnapshotCheck{Feature: "tags", Seq: 13, Result: app.SnapshotUnused})
}

// Old builds leave at most one snapshot behind.
func TestSnapshotsAreDropped(t *testing.T) {
	m := app.NewMemory()
	execute(t, open(t, m), Count{1})
	for _, fingerprint := range []string{"a", "b", "c", "d"} {
		a, _ := withFingerprint(t, m, fingerprint)
		execute(t, a, Count{1})
		if err := a.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	names, err := m.Names(t.Context(), "snapshot/")
	if err != nil || strings.Join(names, " ") != "snapshot/items/c snapshot/items/d" {
		t.Errorf("%v, %v", names, err)
	}
}

// A state that JSON cannot hold is replayed, and its status says why.
func TestUnkeptState(t *testing.T) {
	m := app.NewMemory()
	feature := app.Feature{Name: "hidden", State: app.StateOf(func() *hidden { return &hidden{} }), Commands: []app.Command{app.CommandOf[hide]("hide", 1)}}
	a := open(t, m, feature)
	execute(t, a, hide{3})
	if err := a.Snapshot(t.Context()); err != nil {
		t.Error(err)
	}
	b := open(t, m.Share(), feature)
	if result := execute(t, b, hide{4}); result != "7" {
		t.Errorf("the sum is %s", result)
	}
	status, err := a.Status(t.Context())
	if err != nil || !strings.Contains(status.Features[0].Unkept, "hidden.sum is not encoded as JSON") {
		t.Errorf("%+v, %v", status, err)
	}
}

type hidden struct{ sum int }

type hide struct{ N int }

func (hide) Check(context.Context, *hidden) error { return nil }
func (c hide) Apply(s *hidden, _ app.Event) int   { s.sum += c.N; return s.sum }
