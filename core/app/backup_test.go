package app_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

// backedUp returns a backup of a store.
func backedUp(t *testing.T, s eventlog.Store) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := s.View(t.Context(), func(v eventlog.View) error {
		_, err := app.NewAdmin(nil, app.Options{Program: "hello"}).WriteBackup(t.Context(), &out, v)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func readBackup(backup []byte) (*app.Backup, error) {
	return app.ReadBackup(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(backup)), nil })
}

// lines returns the lines of a backup.
func lines(t *testing.T, backup []byte) string {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(backup))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// packed returns the backup with the given lines.
func packed(text string) []byte {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	io.WriteString(zip, text)
	zip.Close()
	return out.Bytes()
}

// whole returns everything in a store, except snapshots.
func whole(t *testing.T, s eventlog.Store) string {
	t.Helper()
	var all strings.Builder
	for r, err := range s.Records(t.Context(), 0) {
		fmt.Fprintf(&all, "%d %s %v %s %s %d %s %q %s %s %v\n", r.Seq, r.ID, r.Time, r.Actor, r.Type, r.Version, r.Data, r.Key, r.Result, r.Cause, err)
	}
	names, err := s.Names(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.HasPrefix(name, "snapshot/") {
			value, err := s.Get(t.Context(), name)
			fmt.Fprintf(&all, "%s = %s %v\n", name, value, err)
		}
	}
	return all.String()
}

// A restored log has the same events, keys, amendments and positions of workers, so nothing is
// repeated or lost.
func TestBackup(t *testing.T) {
	m, world := eventlog.NewMemory(), &outside{}
	a := open(t, m, mailing(world))
	execute(t, a, Add{Name: "<a>", Key: "the key"})
	execute(t, a, Count{1})
	if err := a.WorkOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := amend(t.Context(), m.Share(), app.Amendment{Seq: 2, Type: "items/count", Data: []byte(`{"by": 7}`), Reason: "a <test>"}); err != nil {
		t.Fatal(err)
	}
	next := last(t, m) + 1
	odd := []eventlog.Record{
		{ID: "ид\x00☃", Type: "app/odd", Data: []byte(`{"s": "<☃>"}`), Key: "\xff", Result: []byte("null")},
		{ID: "text", Type: "app/odd", Data: []byte("no JSON"), Key: "k", Result: []byte{}},
		{ID: "none", Type: "app/odd"},
	}
	err := m.Write(t.Context(), func(tx eventlog.Tx) error {
		for i, r := range odd {
			r.Seq, r.Time, r.Version = next+int64(i), time.Date(1969, 12, 31, 0, 0, 0, 1000, time.UTC), 1
			if err := tx.Append(r); err != nil {
				return err
			}
		}
		return errors.Join(tx.Put("empty", []byte{}), tx.Put("binary", []byte("\x00\xff")), tx.Put("spaces", []byte(`{ "a" : 1 }`)), tx.Put("null", []byte("null")))
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := readBackup(backedUp(t, m))
	if err != nil {
		t.Fatal(err)
	}
	if b.Program != "hello" || time.Since(b.Time) > time.Minute {
		t.Errorf(`the backup is of %q, made at %v; want "hello", less than a minute ago`, b.Program, b.Time)
	}
	restored := eventlog.NewMemory()
	running := open(t, restored.Share(), mailing(world)) // on the empty log
	digest, err := app.NewAdmin(restored.Share(), app.Options{}, mailing(world)).Copy(t.Context(), b)
	if err != nil || digest.Events != last(t, m) || digest.Unreplayed != "" {
		t.Fatalf("%+v, %v, want Unreplayed %q", digest, err, "")
	}
	if got, want := whole(t, restored), whole(t, m); got != want {
		t.Errorf("restored\n%s\nwant\n%s", got, want)
	}
	if got, want := dump(t, running), dump(t, a); got != want {
		t.Errorf("a process that ran on the empty log has %s, want %s", got, want)
	}
	sent, events := world.list(), last(t, restored)
	execute(t, running, Add{Name: "<a>", Key: "the key"})
	if err := running.WorkOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := last(t, restored); n != events || !strings.HasPrefix(world.list(), sent+" total=") {
		t.Errorf("the repeated command leaves %d events, and the worker has sent %q; want %d, and %q at its start", n, world.list(), events, sent+" total=")
	}
	if _, err := app.NewAdmin(restored, app.Options{}, items()).Copy(t.Context(), b); !errors.Is(err, app.ErrNotEmpty) {
		t.Errorf("over a log with events: %v, want app.ErrNotEmpty", err)
	}
}

// A log with an event that cannot be applied can be backed up and restored.
func TestBackupStuck(t *testing.T) {
	m := eventlog.NewMemory()
	execute(t, open(t, m.Share()), Count{1})
	err := m.Write(t.Context(), func(tx eventlog.Tx) error {
		return tx.Append(eventlog.Record{Seq: 2, ID: "x", Time: time.Now().UTC(), Type: "items/gone", Version: 1, Data: []byte("{}")})
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := readBackup(backedUp(t, m))
	if err != nil {
		t.Fatal(err)
	}
	restored := eventlog.NewMemory()
	digest, err := app.NewAdmin(restored, app.Options{}, items()).Copy(t.Context(), b)
	if err != nil || digest.Unreplayed != "event 2 cannot be applied" {
		t.Errorf("%+v, %v; want Unreplayed %q", digest, err, "event 2 cannot be applied")
	}
	if got, want := whole(t, restored), whole(t, m); got != want {
		t.Errorf("the restored log is\n%s\nwant\n%s", got, want)
	}
}

// A file that is not an intact backup is refused, and nothing is restored.
func TestBadBackup(t *testing.T) {
	m := eventlog.NewMemory()
	a := open(t, m)
	for range 3 {
		execute(t, a, Count{1})
	}
	good := backedUp(t, m)
	text := lines(t, good)
	for _, test := range []struct {
		name, want string
		backup     []byte
	}{
		{"empty", "not a backup", nil},
		{"text", "not a backup", []byte("hello, hello, hello")},
		{"another gzip file", "use that build", packed("hello\n")},
		{"without a head", "not a backup", packed(text[strings.Index(text, "\n")+1:])},
		{"newer", "the backup has version 2, but this build knows version 1", packed(strings.Replace(text, `"version":1`, `"version":2`, 1))},
		{"a new field", `unknown field "new"; if a newer build wrote the backup`, packed(strings.Replace(text, `"seq":1,`, `"seq":1,"new":true,`, 1))},
		{"cut off", "cut off", good[:len(good)-20]},
		{"without an end", "cut off", packed(text[:strings.LastIndex(text, `{"end"`)])},
		{"without an event", "wrong checksum", packed(strings.Join(strings.Split(text, "\n")[:3], "\n") + text[strings.LastIndex(text, "\n{\"end\""):])},
		{"changed", "wrong checksum", packed(strings.Replace(text, `{"by":1}`, `{"by":2}`, 1))},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := readBackup(test.backup); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want %q in it", err, test.want)
			}
		})
	}
	for n := range good { // each prefix
		if _, err := readBackup(good[:n]); err == nil {
			t.Errorf("%d of %d bytes are accepted, want an error", n, len(good))
		}
	}
}

// A copy that fails, or that differs, changes nothing.
func TestCopyFails(t *testing.T) {
	m := eventlog.NewMemory()
	execute(t, open(t, m.Share()), Count{1})
	for _, test := range []struct {
		name string
		ctx  func() context.Context
		to   func(*eventlog.Memory) eventlog.Store
	}{
		{"commit", t.Context, func(to *eventlog.Memory) eventlog.Store { return &faulty{Memory: to, fail: errors.New("disk full")} }},
		{"differs", t.Context, func(to *eventlog.Memory) eventlog.Store { return careless{to} }},
		{"cancelled", func() context.Context {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return ctx
		}, func(to *eventlog.Memory) eventlog.Store { return to }},
	} {
		t.Run(test.name, func(t *testing.T) {
			to := eventlog.NewMemory()
			err := m.View(t.Context(), func(v eventlog.View) error {
				_, err := app.NewAdmin(test.to(to), app.Options{}, items()).Copy(test.ctx(), v)
				return err
			})
			if err == nil || whole(t, to) != "" {
				t.Errorf("error %v, and the target has %s, want %q", err, whole(t, to), "")
			}
		})
	}
}

// A careless store changes what it stores.
type careless struct{ *eventlog.Memory }

func (c careless) Write(ctx context.Context, f func(eventlog.Tx) error) error {
	return c.Memory.Write(ctx, func(tx eventlog.Tx) error { return f(carelessTx{tx}) })
}

type carelessTx struct{ eventlog.Tx }

func (tx carelessTx) Append(records ...eventlog.Record) error {
	for _, r := range records {
		r.Time = r.Time.Add(time.Microsecond)
		if err := tx.Tx.Append(r); err != nil {
			return err
		}
	}
	return nil
}
