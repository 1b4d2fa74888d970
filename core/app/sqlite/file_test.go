package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/storetest"
)

// A file that is not a store is refused with a remedy, and left unchanged.
func TestOddFiles(t *testing.T) {
	made := func(t *testing.T, path string, statements ...string) {
		file, err := os.OpenFile(path, os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		file.Close()
		c, err := connect(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, statement := range statements {
			if err := c.exec(statement); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name, want string
		make       func(t *testing.T, path string)
	}{
		{"text", "not a SQLite file; move it", func(t *testing.T, path string) { os.WriteFile(path, []byte("hello\n"), 0o600) }},
		{"long text", "not a SQLite file; move it", func(t *testing.T, path string) {
			os.WriteFile(path, []byte(strings.Repeat("hello\n", 10_000)), 0o600)
		}},
		{"a folder", "", func(t *testing.T, path string) { os.Mkdir(path, 0o700) }},
		{"another application", "another application; use another", func(t *testing.T, path string) {
			made(t, path, "PRAGMA application_id=7", "PRAGMA user_version=1", "CREATE TABLE log (seq)")
		}},
		{"no application", "another application; use another", func(t *testing.T, path string) {
			made(t, path, "CREATE TABLE log (seq)")
		}},
		{"newer", "version 3, but this build knows versions up to 2; use the newer build", func(t *testing.T, path string) {
			s := open(t, path)
			s.Close()
			made(t, path, "PRAGMA user_version=3")
		}},
		{"cut off", "", func(t *testing.T, path string) {
			s := open(t, path)
			storetest.Append(s, 100)
			s.Close()
			os.Truncate(path, 4096)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log.db")
			test.make(t, path)
			before, _ := os.ReadFile(path)
			s, err := Open(t.Context(), path)
			if err == nil { // what is cut off is found when it is read
				_, err = storetest.Append(s, 1)
				s.Close()
			}
			if err == nil || s != nil && test.want != "" || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) && s == nil {
				t.Fatalf("Open(%s) = %v, %v; want no store and an error that contains %q and the path", path, s, err, test.want)
			}
			t.Log(err)
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Errorf("the file has changed: got %q, want %q", string(after), string(before))
			}
		})
	}
}

// An empty file is a new store, and so is a partially created one.
func TestBegun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := connect(path, "journal_mode=WAL")
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	s := open(t, path)
	if _, err := storetest.Append(s, 3); err != nil {
		t.Fatal(err)
	}
	if err := storetest.Check(open(t, path), 3); err != nil {
		t.Error(err)
	}
}

// Other users cannot read the files.
func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	dir := filepath.Join(t.TempDir(), "data")
	s := open(t, filepath.Join(dir, "log.db"))
	storetest.Append(s, 1)
	filepath.WalkDir(dir, func(path string, entry fs.DirEntry, _ error) error {
		info, err := entry.Info()
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: mode %v, %v; want no access for others, and no error", path, info.Mode(), err)
		}
		return nil
	})
}

// Several processes can open a new file at once.
func TestOpenAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 5 {
				s, err := Open(t.Context(), path)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := storetest.Append(s, 1); err != nil {
					t.Error(err)
				}
				for _, err := range s.Records(t.Context(), 0) {
					if err != nil {
						t.Error(err)
					}
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if err := storetest.Check(open(t, path), 40); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(path + "-*"); len(left) != 2 {
		t.Errorf("the other files are %q, want two", left)
	}
}

func TestClosed(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "log.db"))
	storetest.Append(s, 3)
	for _, err := range s.Records(t.Context(), 2) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if left, _ := filepath.Glob(s.path + "-*"); len(left) > 0 {
		t.Errorf("files are left: %q, want none", left)
	}
	_, stampErr := s.Stamp(t.Context())
	_, getErr := s.Get(t.Context(), "a")
	var readErr error
	for _, readErr = range s.Records(t.Context(), 0) {
	}
	for _, err := range []error{stampErr, getErr, readErr, s.Scrub(t.Context()), s.View(t.Context(), nil), s.Write(t.Context(), func(eventlog.Tx) error { return nil })} {
		if !errors.Is(err, errClosed) {
			t.Errorf("after Close: %v, want errClosed", err)
		}
	}
}

// The stamp stays the same while only its own store writes, also during checkpoints.
func TestOwnStamp(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "log.db"))
	before, err := s.Stamp(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 300 { // each writes some pages, and after 1000 of them the WAL begins anew
		if _, err := more(s, 100); err != nil {
			t.Fatal(err)
		}
		if after, err := s.Stamp(t.Context()); after != before || err != nil {
			t.Fatalf("the stamp is %d, %v; want %d as before, and no error", after, err, before)
		}
		for _, err := range s.Records(t.Context(), 0) { // a reader that does not continue
			if err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if info, err := os.Stat(s.path + "-wal"); err != nil || info.Size() > 8<<20 {
		t.Errorf("the WAL has %v bytes; %v, want at most %v", info.Size(), err, 8<<20)
	}
}

// After Scrub, content that was replaced or deleted is in no file, also while another store is
// open.
func TestScrub(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log.db")
	s, other := open(t, path), open(t, path)
	secret := func(n int) []byte { return []byte(`"` + strings.Repeat("secret", n) + `"`) }
	for range 20 { // pages split, and documents move
		if _, err := more(other, 50); err != nil {
			t.Fatal(err)
		}
		err := s.Write(t.Context(), func(tx eventlog.Tx) error {
			return errors.Join(tx.Put(fmt.Sprint("a/", rand.IntN(1000)), secret(1)), tx.Put("big", secret(3000)))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	last, err := s.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range []int{1, 100, 10_000} {
		r := storetest.Record(last + 1 + int64(i))
		r.Key, r.Data, r.Result = fmt.Sprint("secret", i), secret(n), secret(n)
		if err := other.Write(t.Context(), func(tx eventlog.Tx) error { return tx.Append(r) }); err != nil {
			t.Fatal(err)
		}
	}
	if found := filesWith(t, dir, "secret"); len(found) == 0 {
		t.Fatalf(`no file in %s contains "secret", want one before the erasure`, dir)
	}
	err = s.Write(t.Context(), func(tx eventlog.Tx) error {
		names, err := tx.Names("")
		for _, name := range names {
			err = errors.Join(err, tx.Put(name, nil))
		}
		for i := range int64(3) {
			err = errors.Join(err, tx.Replace(storetest.Record(last+1+i)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	if found := filesWith(t, dir, "secret"); len(found) > 0 {
		t.Errorf("the content is in %q, want none", found)
	}
	if err := errors.Join(storetest.Check(other, last+3), storetest.Check(s, last+3)); err != nil {
		t.Error(err)
	}
	s.timeout = 50 * time.Millisecond
	err = other.View(t.Context(), func(eventlog.View) error {
		if _, err := more(s, 1); err != nil {
			return err
		}
		return s.Scrub(t.Context())
	})
	if err == nil || !strings.Contains(err.Error(), "another process reads it; retry when it has finished") {
		t.Errorf("while another store reads, want %q in it: %v", "another process reads it; retry when it has finished", err)
	}
	if err := s.Scrub(t.Context()); err != nil {
		t.Error(err)
	}
}

// filesWith returns the files in a folder that contain a text.
func filesWith(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(content, []byte(text)) {
			found = append(found, filepath.Base(path))
		}
	}
	return found
}

// Swap replaces a store, intact or not, and keeps it.
func TestSwap(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(path string) error
		kept  int64
	}{
		{"intact", func(string) error { return nil }, 100},
		{"none", func(path string) error { return os.RemoveAll(filepath.Dir(path)) }, 0},
		{"lost", os.Remove, 0},
		{"truncated", func(path string) error { return os.Truncate(path, 0) }, 0},
		{"cut off", func(path string) error { return os.Truncate(path, 5000) }, 0},
		{"text", func(path string) error { return os.WriteFile(path, []byte("hello"), 0o600) }, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			path, with, kept := filepath.Join(dir, "data", "log.db"), filepath.Join(dir, "with.db"), filepath.Join(dir, "data", "old.db")
			filled := func(file string, n int) *Store {
				s := open(t, file)
				if _, err := storetest.Append(s, n); err != nil {
					t.Fatal(err)
				}
				return s
			}
			old := filled(path, 100)
			if err := filled(with, 3).Close(); err != nil {
				t.Fatal(err)
			}
			if test.kept > 0 {
				if err := Swap(t.Context(), path, with, kept); err == nil || !strings.Contains(err.Error(), "another process has it open; stop all servers") {
					t.Errorf("while it is open, want %q in it: %v", "another process has it open; stop all servers", err)
				}
			}
			if err := old.Close(); err != nil {
				t.Fatal(err)
			}
			if err := test.spoil(path); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := Swap(t.Context(), path, with, kept); err != nil {
				t.Fatal(err)
			}
			s := open(t, path)
			if err := storetest.Check(s, 3); err != nil {
				t.Error(err)
			}
			if _, err := storetest.Append(s, 1); err != nil {
				t.Error(err)
			}
			if test.kept > 0 {
				if err := storetest.Check(open(t, kept), test.kept); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// withoutActor creates the tables of builds that recorded no actors.
const withoutActor = `
CREATE TABLE log (
	seq     INTEGER PRIMARY KEY,
	id      TEXT    NOT NULL,
	at      INTEGER NOT NULL, -- microseconds since 1970
	type    TEXT    NOT NULL,
	version INTEGER NOT NULL,
	data    BLOB    NOT NULL,
	key     TEXT,
	result  BLOB
);
CREATE UNIQUE INDEX log_key ON log (key) WHERE key IS NOT NULL;
CREATE TABLE documents (name TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL);
PRAGMA application_id=0x70747263;
PRAGMA user_version=1;
`

// The store of an older build gets actors, causes and a document for each amendment, even if
// several processes open it at once. A process of the older build that has it open can continue to
// use it.
func TestMigrate(t *testing.T) {
	for range 3 {
		path := filepath.Join(t.TempDir(), "log.db")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		old, err := connect(path, "journal_mode=WAL")
		if err != nil {
			t.Fatal(err)
		}
		defer old.close()
		if err := old.exec(withoutActor); err != nil {
			t.Fatal(err)
		}
		insert := func(seq int64) error {
			r := storetest.Record(seq)
			return old.exec("INSERT INTO log (seq, id, at, type, version, data) VALUES (?,?,?,?,?,?)", r.Seq, r.ID, r.Time.UnixMicro(), r.Type, int64(r.Version), []byte(r.Data))
		}
		if err := errors.Join(insert(1), insert(2), old.exec(putSQL, "amendments", []byte(`{"2":{"seq":2,"skip":true,"reason":"x","time":"2026-01-01T00:00:00Z"}}`))); err != nil {
			t.Fatal(err)
		}
		err = ReadOnly(t.Context(), path, func(v eventlog.TypeView) error {
			types, err := app.StoredTypes(v)
			if fmt.Sprint(types) != "[{things/make 1 1 1 1}]" {
				t.Errorf("before the migration, the types are %v, want \"[{things/make 1 1 1 1}]\"", types)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				s, err := Open(t.Context(), path)
				if err == nil {
					err = s.Close()
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if err := insert(3); err != nil {
			t.Fatal("the older build:", err)
		}
		if version, err := old.value("PRAGMA user_version"); version != 2 || err != nil {
			t.Errorf("the version is %d, so that the older build can open the file, want 2: %v", version, err)
		}
		s := open(t, path)
		if _, err := more(s, 1); err != nil {
			t.Fatal(err)
		}
		actors := []string{}
		for r, err := range s.Records(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			want := storetest.Record(r.Seq)
			actors = append(actors, r.Actor)
			if r.ID != want.ID || string(r.Data) != string(want.Data) || r.Time != want.Time {
				t.Errorf("got %+v, want ID %v, Data %v, Time %v", r, want.ID, string(want.Data), want.Time)
			}
		}
		if got := strings.Join(actors, ","); got != ",,,ada" {
			t.Errorf("the actors are %s, want \",,,ada\"", got)
		}
		if names, err := s.Names(t.Context(), ""); err != nil || strings.Join(names, " ") != "amended amendment/0000000000000000002" {
			t.Errorf("the documents are %q, %v; want amended and amendment/0000000000000000002", names, err)
		}
		if am, err := app.NewAdmin(s, app.Options{}).FindAmendment(t.Context(), 2); err != nil || am == nil || !am.Skip {
			t.Errorf("the amendment is %+v, %v; want one that skips, and no error", am, err)
		}
	}
}
