// Package sqlite is the embedded store of an app: one SQLite file, for several processes on one
// machine.
package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/petrock/petrock/core/app"
)

// Header fields that identify the file and its schema.
const (
	applicationID = 0x70747263 // "ptrc"
	schemaVersion = 1
)

// schema creates the tables of a new file. Without file locks two processes may run it. Documents
// are few, and may be big.
const schema = `
CREATE TABLE IF NOT EXISTS log (
	seq     INTEGER PRIMARY KEY,
	id      TEXT    NOT NULL,
	at      INTEGER NOT NULL, -- microseconds since 1970
	type    TEXT    NOT NULL,
	version INTEGER NOT NULL,
	data    BLOB    NOT NULL,
	key     TEXT,
	result  BLOB
);
CREATE UNIQUE INDEX IF NOT EXISTS log_key ON log (key) WHERE key IS NOT NULL;
CREATE TABLE IF NOT EXISTS documents (name TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL);
`

// errClosed is returned after Close.
var errClosed = errors.New("the store is closed")

// A Store is a SQLite file in WAL mode. Writes are durable: synchronous is FULL. Processes take
// turns to write, with a turnstile of two files next to it, which are never removed. It implements
// [app.Store].
type Store struct {
	path string

	turn     chan struct{} // holds a value during a write and during Close
	gate     turnstile
	patience time.Duration // how long a write waits for its turn
	alone    bool          // there are no locks but those of SQLite
	closed   atomic.Bool

	count   counter
	writer  *conn      // without file locks it also provides stamps: its own commits do not change them
	readers chan *conn // unused connections

	last   int64 // last sequence number as of lastAt; -1 if unknown
	lastAt int64 // a stamp
	rows   []any // of the statement that is being built
}

var _ app.Store = (*Store)(nil)

// maxReaders is the number of connections that are kept for reading.
const maxReaders = 4

// Open opens the store in a file, and creates the file and its folder if needed. It returns an
// error for any other file, and leaves that unchanged, and for a store that has lost its last
// events. It waits for other processes only if the store is new.
func Open(ctx context.Context, path string) (s *Store, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // so that all processes use the same turnstile
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("create the folder of the store: %w", err)
	}
	s = &Store{
		path:    path,
		last:    -1,
		turn:    make(chan struct{}, 1),
		gate:    newTurnstile(path),
		readers: make(chan *conn, maxReaders),

		patience: patience,
	}
	defer func() {
		if is(err, notSQLite) {
			err = errors.New("not a SQLite file; move it away, or name another one")
		}
		if err != nil {
			err = errors.Join(fmt.Errorf("opening %s: %w", path, err), s.Close())
			s = nil
		}
	}()
	leave, err := s.enterToOpen(ctx)
	if err != nil {
		return s, err
	}
	defer leave()
	var committed int64
	if !s.alone {
		if err := s.count.open(path + roomSuffix); err != nil {
			return s, err
		}
		if _, committed, err = s.count.read(); err != nil {
			return s, err
		}
	}
	const smallestPage = 512
	if info, err := os.Stat(path); committed > 0 && (err != nil || info.Size() < smallestPage) {
		return s, s.shortened(0, committed) // SQLite would remove the WAL
	}

	// If the file is new, the turn is held, so no other store opens it now. If SQLite created it,
	// others could read it.
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case err == nil:
		err = file.Close()
	case errors.Is(err, os.ErrExist):
		err = nil
	}
	if err != nil {
		return s, err
	}
	// Without fullfsync, macOS does not wait for the disk.
	if s.writer, err = connect(path, "synchronous=FULL", "fullfsync=1", "journal_size_limit=67108864"); err != nil {
		return s, err
	}
	if err := s.prepare(); err != nil {
		return s, err
	}
	last, err := s.writer.value(lastSQL)
	if err == nil && last < committed {
		err = s.shortened(last, committed)
	}
	return s, err
}

// shortened returns the error for a log that ends before the last committed event.
func (s *Store) shortened(last, committed int64) error {
	name := filepath.Base(s.path)
	return fmt.Errorf("the log ends at event %d, but event %d was committed: %[3]s or %[3]s-wal was truncated, removed or replaced by an older copy; restore a backup, or, to go on without the lost events, stop all servers and remove %[3]s.lock", last, committed, name)
}

// enterToOpen waits for the turn if the file is not a complete store yet. Otherwise it takes the
// turn only if that is free, so that a store can be read while a process that has stopped holds it.
func (s *Store) enterToOpen(ctx context.Context) (leave func(), err error) {
	if !isComplete(s.path) {
		return s.enter(ctx)
	}
	in, err := s.gate.try()
	if s.alone = errors.Is(err, errNoLocks); s.alone {
		err = nil
	}
	return func() {
		if in {
			s.gate.leave()
		}
	}, err
}

// isComplete reports whether the header of a file is that of a store with its tables. It may report
// false while they are only in the WAL.
func isComplete(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	var header [100]byte // see https://www.sqlite.org/fileformat.html
	_, err = file.ReadAt(header[:], 0)
	const inWAL, id = 18, 68
	return err == nil && header[inWAL] == 2 && binary.BigEndian.Uint32(header[id:]) == applicationID
}

// prepare verifies that the file is a store, and creates the tables of a new one.
func (s *Store) prepare() error {
	id, err := s.writer.value("PRAGMA application_id")
	if err != nil {
		return err
	}
	version, err := s.writer.value("PRAGMA user_version")
	if err != nil {
		return err
	}
	tables, err := s.writer.value("SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return err
	}
	isNew := id == 0 && version == 0 && tables == 0
	switch {
	case isNew:
	case id != applicationID:
		return errors.New("this SQLite file belongs to another application; name another one")
	case version > schemaVersion:
		return fmt.Errorf("a newer build has written this file, as version %d, and this one knows versions up to %d; use the newer build", version, schemaVersion)
	}
	if err := s.writer.exec("PRAGMA journal_mode=WAL"); err != nil || !isNew {
		return err
	}
	script := fmt.Sprintf("BEGIN IMMEDIATE;%sPRAGMA application_id=%d;PRAGMA user_version=%d;COMMIT", schema, applicationID, schemaVersion)
	if err := s.writer.exec(script); err != nil {
		return errors.Join(err, s.writer.exec("ROLLBACK"))
	}
	return nil
}

// errLate is the cause of a context that has ended because a write waited too long.
var errLate = errors.New("the turn to write did not come in time")

// enter waits for the turn to write. Without file locks it only orders the writers of this process.
func (s *Store) enter(ctx context.Context) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.patience, errLate)
	defer cancel()
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, s.late(ctx)
	}
	if s.closed.Load() {
		<-s.turn
		return nil, errClosed
	}
	if !s.alone {
		err = s.gate.enter(ctx)
		s.alone = errors.Is(err, errNoLocks)
	}
	switch {
	case s.alone:
		return func() { <-s.turn }, nil
	case err != nil:
		<-s.turn
		if ctx.Err() != nil {
			err = s.late(ctx)
		}
		return nil, err
	default:
		return func() { s.gate.leave(); <-s.turn }, nil
	}
}

// late returns the error of a wait for the turn that ended with ctx.
func (s *Store) late(ctx context.Context) error {
	if context.Cause(ctx) != errLate {
		return ctx.Err()
	}
	return fmt.Errorf("waiting to write to %s: no turn for %v, because %s holds the lock; end it if it hangs, and retry", s.path, s.patience, s.gate.holder())
}

// Close waits for writers and closes the file. The last process to close it checkpoints. It can be
// called twice.
func (s *Store) Close() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.closed.Store(true)
	err := s.closeReaders()
	if s.writer != nil {
		err = errors.Join(err, s.writer.close())
	}
	return errors.Join(err, s.gate.close(), s.count.close())
}

// closeReaders closes the unused connections.
func (s *Store) closeReaders() error {
	var errs []error
	for {
		select {
		case c := <-s.readers:
			errs = append(errs, c.close())
		default:
			return errors.Join(errs...)
		}
	}
}

// Backup copies the current store to a new file, while others read and write. If it fails, there is
// no copy. The copy can be opened as a store.
func (s *Store) Backup(ctx context.Context, path string) (err error) {
	if s.closed.Load() {
		return errClosed
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("backing up to %s: %w", path, err)
		}
	}()
	if _, err := os.Lstat(path); err == nil {
		return errors.New("the file already exists; remove it, or name another one")
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	unfinished := file.Name()
	defer os.Remove(unfinished)
	if err := file.Close(); err != nil {
		return err
	}
	c, err := connect(s.path)
	if err != nil {
		return err
	}
	err = c.with(ctx, "VACUUM INTO ?", []any{unfinished}, func(s stmt, args []driver.NamedValue) error {
		_, err := s.ExecContext(ctx, args)
		return err
	})
	if err := errors.Join(err, c.close()); err != nil {
		return err
	}
	if err := persist(unfinished, os.O_RDWR); err != nil { // Windows flushes only files that are open for writing
		return err
	}
	err = os.Link(unfinished, path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = os.Rename(unfinished, path) // some file systems have no hard links
	}
	if err != nil {
		return err
	}
	persist(filepath.Dir(path), os.O_RDONLY) // not all systems can flush folders
	return nil
}

// persist flushes a file, or the entries of a folder, to the disk.
func persist(path string, how int) error {
	file, err := os.OpenFile(path, how, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
