package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/petrock/petrock/core/app"
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
		{"newer", "version 2, but this build knows versions up to 1; use the newer build", func(t *testing.T, path string) {
			s := open(t, path)
			s.Close()
			made(t, path, "PRAGMA user_version=2")
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
				t.Fatalf("got error %v", err)
			}
			t.Log(err)
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Error("the file has changed")
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
	if err := s.Backup(t.Context(), filepath.Join(dir, "copy.db")); err != nil {
		t.Fatal(err)
	}
	filepath.WalkDir(dir, func(path string, entry fs.DirEntry, _ error) error {
		info, err := entry.Info()
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
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
		t.Errorf("other files: %q", left)
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
		t.Errorf("files are left: %q", left)
	}
	_, stampErr := s.Stamp(t.Context())
	_, getErr := s.Get(t.Context(), "a")
	var readErr error
	for _, readErr = range s.Records(t.Context(), 0) {
	}
	for _, err := range []error{stampErr, getErr, readErr, s.Backup(t.Context(), "no"), s.Write(t.Context(), func(app.Tx) error { return nil })} {
		if !errors.Is(err, errClosed) {
			t.Errorf("after Close: %v", err)
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
			t.Fatalf("the stamp was %d and is %d; %v", before, after, err)
		}
		for _, err := range s.Records(t.Context(), 0) { // a reader that does not continue
			if err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if info, err := os.Stat(s.path + "-wal"); err != nil || info.Size() > 8<<20 {
		t.Errorf("the WAL has %v bytes; %v", info.Size(), err)
	}
}

func TestBackup(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "log.db"))
	if _, err := storetest.Append(s, 1000); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		for ctx.Err() == nil {
			if _, err := storetest.Append(s, 3); err != nil {
				t.Error(err)
			}
		}
	})
	least := int64(1000)
	for _, name := range []string{"1.db", "2 '☃.db"} {
		path := filepath.Join(dir, name)
		if err := s.Backup(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		if err := s.Backup(t.Context(), path); err == nil || !strings.Contains(err.Error(), "already exists; remove it") {
			t.Errorf("over a file: %v", err)
		}
		backup := open(t, path)
		last, err := backup.Last(t.Context())
		if err != nil || last < least || last%3 != 1 {
			t.Errorf("the copy has %d records, and there were %d; %v", last, least, err)
		}
		if err := storetest.Check(backup, last); err != nil {
			t.Error(err)
		}
		if _, err := storetest.Append(backup, 1); err != nil {
			t.Error(err)
		}
		least = last
	}
	cancel()
	group.Wait()
	if err := s.Backup(ctx, filepath.Join(dir, "3.db")); !errors.Is(err, context.Canceled) {
		t.Errorf("when the context has ended: %v", err)
	}
	if err := s.Backup(t.Context(), filepath.Join(dir, "no", "4.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a folder: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.tmp")); len(left) > 0 {
		t.Errorf("files are left: %q", left)
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

// The store of an older build gets actors, also if several processes open it at once. The older build can
// continue to use it. Its events have no actor.
func TestAddActor(t *testing.T) {
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
		if err := errors.Join(insert(1), insert(2)); err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				c, err := connect(path) // without the lock files, all of them add the column
				if err == nil {
					err = errors.Join((&Store{writer: c}).prepare(), c.close())
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
				t.Errorf("got %+v", r)
			}
		}
		if got := strings.Join(actors, ","); got != ",,,ada" {
			t.Errorf("the actors are %s", got)
		}
	}
}
