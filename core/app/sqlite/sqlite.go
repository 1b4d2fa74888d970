// Package sqlite implements [app.Store] on a SQLite file, which several processes on one machine can
// share.
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

// schema creates the tables. Without file locks, two processes may run it on the same file.
const schema = `
CREATE TABLE IF NOT EXISTS log (
	seq     INTEGER PRIMARY KEY,
	id      TEXT    NOT NULL,
	at      INTEGER NOT NULL, -- microseconds since 1970
	type    TEXT    NOT NULL,
	version INTEGER NOT NULL,
	data    BLOB    NOT NULL,
	key     TEXT,
	result  BLOB,
	actor   TEXT -- files of older builds get it in addActor
);
CREATE UNIQUE INDEX IF NOT EXISTS log_key ON log (key) WHERE key IS NOT NULL;
CREATE TABLE IF NOT EXISTS documents (name TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL);
`

var errClosed = errors.New("the store is closed")

// A Store is a SQLite file in WAL mode. It implements [app.Store]. Writes are durable: synchronous is
// FULL. Processes take turns to write, with locks on two files next to it, which are never removed.
type Store struct {
	path string

	writing     chan struct{} // full during a write and during Close
	fileLock    fairLock
	timeout     time.Duration // of a write that waits for its turn
	noFileLocks bool          // the file system supports only the locks of SQLite
	closed      atomic.Bool

	count   counter
	writer  *conn      // without file locks, its data_version is the stamp
	readers chan *conn // unused connections

	last   int64 // last sequence number at stamp lastAt; -1 if unknown
	lastAt int64 // the stamp of last
	rows   []any // buffer for the arguments of a statement
}

var _ app.Store = (*Store)(nil)

// maxReaders is the maximum number of idle connections for reading.
const maxReaders = 4

// Open opens the store in a file, and creates the file and its folder if needed. It returns an error
// if the file is not a store, or if the store has lost its last events. It waits for other processes
// only if the store is new.
func Open(ctx context.Context, path string) (s *Store, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // so that all processes use the same locks
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("create folder for the store: %w", err)
	}
	s = &Store{
		path:     path,
		last:     -1,
		writing:  make(chan struct{}, 1),
		fileLock: newFairLock(path),
		readers:  make(chan *conn, maxReaders),
		timeout:  lockTimeout,
	}
	defer func() {
		if hasCode(err, notSQLite) {
			err = errors.New("not a SQLite file; move it away, or use another file")
		}
		if err != nil {
			err = errors.Join(fmt.Errorf("open %s: %w", path, err), s.Close())
			s = nil
		}
	}()
	release, err := s.acquireToOpen(ctx)
	if err != nil {
		return s, err
	}
	defer release()
	var committed int64
	if !s.noFileLocks {
		if err := s.count.open(path + lockSuffix); err != nil {
			return s, err
		}
		if _, committed, err = s.count.read(); err != nil {
			return s, err
		}
	}
	const smallestPage = 512
	if info, err := os.Stat(path); committed > 0 && (err != nil || info.Size() < smallestPage) {
		return s, s.lostEvents(0, committed) // SQLite would remove the WAL of an empty file
	}

	// SQLite would create the file with a mode that lets other users read it. No other store opens a
	// new file now, because this one holds the lock.
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
		err = s.lostEvents(last, committed)
	}
	return s, err
}

// lostEvents returns the error for a log that ends before the last committed event.
func (s *Store) lostEvents(last, committed int64) error {
	name := filepath.Base(s.path)
	return fmt.Errorf("the log ends at event %d, but event %d was committed: %[3]s or %[3]s-wal was truncated, removed or replaced by an older copy; restore a backup, or, to continue without the lost events, stop all servers and remove %[3]s.lock", last, committed, name)
}

// acquireToOpen waits for the lock if the file is not a complete store yet. Otherwise it takes the lock
// only if it is free, so that a store can be read while a suspended process holds the lock.
func (s *Store) acquireToOpen(ctx context.Context) (release func(), err error) {
	if !isComplete(s.path) {
		return s.acquire(ctx)
	}
	acquired, err := s.fileLock.tryAcquire()
	s.noFileLocks = errors.Is(err, errNoLocks)
	if s.noFileLocks {
		err = nil
	}
	return func() {
		if acquired {
			s.fileLock.release()
		}
	}, err
}

// isComplete reports whether a file has the header of a store with its tables. It may report false while
// the tables are only in the WAL.
func isComplete(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	var header [100]byte // see https://www.sqlite.org/fileformat.html
	_, err = file.ReadAt(header[:], 0)
	const writeVersion, id = 18, 68
	return err == nil && header[writeVersion] == 2 && binary.BigEndian.Uint32(header[id:]) == applicationID
}

// prepare verifies that the file is a store, creates the tables of a new one, and completes those of an
// older build.
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
		return errors.New("this SQLite file belongs to another application; use another file")
	case version > schemaVersion:
		return fmt.Errorf("the file has version %d, but this build knows versions up to %d; use the newer build", version, schemaVersion)
	}
	if err := s.writer.exec("PRAGMA journal_mode=WAL"); err != nil {
		return err
	}
	if !isNew {
		return s.addActor()
	}
	script := fmt.Sprintf("BEGIN IMMEDIATE;%sPRAGMA application_id=%d;PRAGMA user_version=%d;COMMIT", schema, applicationID, schemaVersion)
	if err := s.writer.exec(script); err != nil {
		return errors.Join(err, s.writer.exec("ROLLBACK"))
	}
	return nil
}

// addActor adds the column actor to the log of an older build, which can still use the file: its events
// have no actor. Another process may add the column at the same time.
func (s *Store) addActor() error {
	const hasActor = "SELECT count(*) FROM pragma_table_info('log') WHERE name = 'actor'"
	found, err := s.writer.value(hasActor)
	if err != nil || found > 0 {
		return err
	}
	if err = s.writer.exec("ALTER TABLE log ADD COLUMN actor TEXT"); err != nil {
		if found, _ := s.writer.value(hasActor); found > 0 {
			return nil
		}
	}
	return err
}

// errTimeout is the cause of a context that ended because a write waited too long.
var errTimeout = errors.New("timeout")

// acquire waits for the turn to write. Without file locks it waits only for writers of this process.
func (s *Store) acquire(ctx context.Context) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, errTimeout)
	defer cancel()
	select {
	case s.writing <- struct{}{}:
	case <-ctx.Done():
		return nil, s.timeoutError(ctx)
	}
	if s.closed.Load() {
		<-s.writing
		return nil, errClosed
	}
	if !s.noFileLocks {
		err = s.fileLock.acquire(ctx)
		s.noFileLocks = errors.Is(err, errNoLocks)
	}
	switch {
	case s.noFileLocks:
		return func() { <-s.writing }, nil
	case err != nil:
		<-s.writing
		if ctx.Err() != nil {
			err = s.timeoutError(ctx)
		}
		return nil, err
	default:
		return func() { s.fileLock.release(); <-s.writing }, nil
	}
}

// timeoutError returns the error of a wait that ended with ctx.
func (s *Store) timeoutError(ctx context.Context) error {
	if context.Cause(ctx) != errTimeout {
		return ctx.Err()
	}
	return fmt.Errorf("wait to write to %s: timeout after %v, because %s holds the lock; stop it if it hangs, and retry", s.path, s.timeout, s.fileLock.holder())
}

// Close waits for writers and closes the file. SQLite runs a checkpoint when the last process closes
// it. Close can be called twice.
func (s *Store) Close() error {
	s.writing <- struct{}{}
	defer func() { <-s.writing }()
	s.closed.Store(true)
	err := s.closeReaders()
	if s.writer != nil {
		err = errors.Join(err, s.writer.close())
	}
	return errors.Join(err, s.fileLock.close(), s.count.close())
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

// Backup copies the store to a new file, which can be opened as a store. Other processes can read and
// write meanwhile. If Backup fails, it leaves no file.
func (s *Store) Backup(ctx context.Context, path string) (err error) {
	if s.closed.Load() {
		return errClosed
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("back up to %s: %w", path, err)
		}
	}()
	if _, err := os.Lstat(path); err == nil {
		return errors.New("the file already exists; remove it, or use another file")
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	temp := file.Name()
	defer os.Remove(temp)
	if err := file.Close(); err != nil {
		return err
	}
	c, err := connect(s.path)
	if err != nil {
		return err
	}
	err = c.runStmt(ctx, "VACUUM INTO ?", []any{temp}, func(s stmt, args []driver.NamedValue) error {
		_, err := s.ExecContext(ctx, args)
		return err
	})
	if err := errors.Join(err, c.close()); err != nil {
		return err
	}
	if err := syncPath(temp, os.O_RDWR); err != nil { // Windows flushes only files that are open for writing
		return err
	}
	err = os.Link(temp, path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = os.Rename(temp, path) // some file systems have no hard links
	}
	if err != nil {
		return err
	}
	syncPath(filepath.Dir(path), os.O_RDONLY) // not all systems can flush folders
	return nil
}

// syncPath flushes a file, or the entries of a folder, to the disk.
func syncPath(path string, flag int) error {
	file, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
