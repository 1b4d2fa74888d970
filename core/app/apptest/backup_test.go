package apptest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

func openPath(t testing.TB, path string) eventlog.Store {
	t.Helper()
	s, err := openStore(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// writeBackup writes a backup of a store to a file.
func writeBackup(t testing.TB, s eventlog.Store, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := s.View(t.Context(), func(v eventlog.View) error {
		_, err := app.NewAdmin(nil, app.Options{Program: "tally"}).WriteBackup(t.Context(), file, v)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func readBackup(path string) (*app.Backup, error) {
	return app.ReadBackup(func() (io.ReadCloser, error) { return os.Open(path) })
}

// records returns the log of a store as text, an event a line.
func records(t testing.TB, s eventlog.Store) []byte {
	t.Helper()
	var all bytes.Buffer
	for r, err := range s.Records(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if err := json.NewEncoder(&all).Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	return all.Bytes()
}

// Backups taken while two processes write have every command that was answered before, and are the
// beginning of the log.
func TestBackupWhileWriting(t *testing.T) { onEachStore(t, testBackupWhileWriting) }

func testBackupWhileWriting(t *testing.T, path string) {
	dir := t.TempDir()
	writers := []child{startChild(t, "write", path), startChild(t, "write", path)}
	s := openPath(t, path)
	var restored [][]byte
	for i := range 3 {
		var answered Noted
		for range 50 {
			if err := json.Unmarshal([]byte(writers[i%2].line(t)), &answered); err != nil {
				t.Fatal(err)
			}
		}
		file := filepath.Join(dir, fmt.Sprint(i, ".jsonl.gz"))
		writeBackup(t, s, file)
		b, err := readBackup(file)
		if err != nil {
			t.Fatal(err)
		}
		to := openPath(t, filepath.Join(dir, fmt.Sprint("restored", i), "log.db"))
		digest, err := app.NewAdmin(to, app.Options{}, tally()).Copy(t.Context(), b)
		if err != nil || digest.Events < answered.Seq {
			t.Errorf("a backup has %d events, %v; want at least the %d that were answered, and no error", digest.Events, err, answered.Seq)
		}
		restored = append(restored, records(t, to))
	}
	for _, w := range writers {
		w.end(t)
	}
	all := records(t, s)
	for i, backup := range restored {
		if !bytes.HasPrefix(all, backup) {
			t.Errorf("backup %d has %d bytes that differ from the beginning of the log", i, len(backup))
		}
	}
}

// restoreChild restores the backup next to its empty log.
func restoreChild(ctx context.Context, _ *app.App) error {
	path := os.Args[1]
	b, err := readBackup(path + ".jsonl.gz")
	if err != nil {
		return err
	}
	s, err := openStore(ctx, path)
	if err != nil {
		return err
	}
	fmt.Println("begin")
	_, err = app.NewAdmin(s, app.Options{}, tally()).Copy(ctx, b)
	return errors.Join(err, s.Close())
}

// If a restore is killed, the log is empty or complete, and the restore can be repeated.
func TestKilledRestore(t *testing.T) {
	random := rand.New(rand.NewPCG(*seed, 1))
	dir := t.TempDir()
	from := openPath(t, filepath.Join(dir, "from.db"))
	a, err := app.Open(t.Context(), from, app.Options{}, tally())
	if err != nil {
		t.Fatal(err)
	}
	big := string(bytes.Repeat([]byte("note "), 5000)) // so that the copy needs several chunks
	for range 300 {
		if _, err := app.DoRaw(t.Context(), a, Note{Name: big}); err != nil {
			t.Fatal(err)
		}
	}
	want := records(t, from)
	path := filepath.Join(dir, "to.db")
	writeBackup(t, from, path+".jsonl.gz")
	empty := 0
	for range rounds(2, 50) {
		c := startChild(t, "restore", path)
		c.line(t)
		time.Sleep(time.Duration(random.IntN(400)) * time.Millisecond)
		c.Process.Kill()
		c.Wait()
		s := openPath(t, path)
		switch got := records(t, s); {
		case len(got) == 0:
			empty++
		case !bytes.Equal(got, want):
			t.Fatalf("the log has %d bytes, want none or %d", len(got), len(want))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d restores were killed before the end", empty)
	s := openPath(t, path)
	if len(records(t, s)) == 0 {
		c := startChild(t, "restore", path)
		c.end(t)
	}
	if !bytes.Equal(records(t, s), want) {
		t.Errorf("the last restore is not complete: got %s, want %s", records(t, s), want)
	}
}

// Events are erased while two processes write. They go on, and all processes have the state without
// these events, whose content is in no file.
func TestEraseWhileWriting(t *testing.T) { onEachStore(t, testEraseWhileWriting) }

func testEraseWhileWriting(t *testing.T, path string) {
	witness := startChild(t, "dump", path)
	fmt.Fprintln(witness.in)
	witness.line(t)
	s := openPath(t, path)
	a, err := app.Open(t.Context(), s, app.Options{}, tally())
	if err != nil {
		t.Fatal(err)
	}
	secret := []byte("top secret note")
	for range 3 {
		if _, err := app.DoRaw(app.WithKey(t.Context(), fmt.Sprint(string(secret), rand.Int())), a, Note{Name: string(secret), By: 1000}); err != nil {
			t.Fatal(err)
		}
	}
	writers := []child{startChild(t, "write", path), startChild(t, "write", path)}
	for seq := range int64(3) {
		for _, w := range writers {
			for range 20 {
				w.line(t)
			}
		}
		if _, err := app.NewAdmin(s, app.Options{}).Erase(t.Context(), app.Erasure{First: seq + 1, Last: seq + 1}); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range writers {
		for range 20 {
			w.line(t)
		}
		w.end(t)
	}
	states := map[string]bool{}
	for _, c := range []child{witness, startChild(t, "dump", path)} {
		fmt.Fprintln(c.in)
		states[c.line(t)] = true
		c.end(t)
	}
	last, err := s.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"tally":{"count":%d,"sum":0,`, last-6) // without the erased events, and their records
	for state := range states {
		if len(states) != 1 || !bytes.HasPrefix([]byte(state), []byte(want)) {
			t.Errorf("the processes have %d states, one of them %s; want one that starts with %s", len(states), state, want)
		}
	}
	files, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err != nil {
			t.Error(err)
		} else if bytes.Contains(text, secret) {
			t.Errorf("%s contains %q, want it erased", filepath.Base(file), secret)
		}
	}
}
