// Package sqlite implements [eventlog.Store] on a SQLite file, which several processes on one
// machine can share.
package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/internal/amendments"
)

// Header fields that identify the file and its schema.
const (
	applicationID = 0x70747263 // "ptrc"
	schemaVersion = 2
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
	actor   TEXT, -- files of older builds get it in migrate
	cause   BLOB  -- likewise
);
CREATE UNIQUE INDEX IF NOT EXISTS log_key ON log (key) WHERE key IS NOT NULL;
CREATE TABLE IF NOT EXISTS documents (name TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL);
`

// smallestPage is the size of the smallest SQLite file.
const smallestPage = 512

var errClosed = fmt.Errorf("the store is closed: %w", fs.ErrClosed)

// A Store is a SQLite file in WAL mode. It implements [eventlog.Store]. Writes are durable:
// synchronous is FULL. Processes take turns to write, with locks on two files next to it, which are
// never removed.
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

var _ eventlog.Store = (*Store)(nil)

// maxReaders is the maximum number of idle connections for reading.
const maxReaders = 4

// Open opens the store in a file, and creates the file and its folder if needed. It returns an
// error if the file is not a store, or if the store has lost its last events. It waits for other
// processes only if the store is new.
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
			err = errors.Join(fmt.Errorf("open %s: %w", path, marked(path, err)), s.Close())
			s = nil
		}
	}()
	return s, s.open(ctx)
}

// open opens the file, and changes the tables of an older build.
func (s *Store) open(ctx context.Context) error {
	release, err := s.acquireToOpen(ctx)
	if err != nil {
		return err
	}
	release = sync.OnceFunc(release)
	defer release()
	committed, err := s.createFile()
	if err != nil {
		return err
	}
	// Without fullfsync, macOS does not wait for the disk.
	if s.writer, err = connect(s.path, "synchronous=FULL", "fullfsync=1", "journal_size_limit=67108864"); err != nil {
		return err
	}
	isOld, err := s.prepare()
	if err != nil {
		return err
	}
	last, err := s.writer.value(lastSQL)
	if err == nil && last < committed {
		err = s.lostEvents(last, committed)
	}
	if err == nil && isOld {
		release()
		err = s.Write(ctx, migrate)
	}
	return err
}

// createFile creates an empty file if it does not exist. It returns the last event that was
// committed according to the lock file; 0 if it is unknown.
func (s *Store) createFile() (committed int64, err error) {
	if !s.noFileLocks {
		if err := s.count.open(s.path + lockSuffix); err != nil {
			return 0, err
		}
		if _, committed, err = s.count.read(); err != nil {
			return 0, err
		}
	}
	if info, err := os.Stat(s.path); committed > 0 && (err != nil || info.Size() < smallestPage) {
		return 0, s.lostEvents(0, committed) // SQLite would remove the WAL of an empty file
	}

	// SQLite would create the file with a mode that lets other users read it. No other store opens
	// a new file now, because this one holds the lock.
	file, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case err == nil:
		err = file.Close()
	case errors.Is(err, os.ErrExist):
		err = nil
	}
	return committed, err
}

// lostEvents returns the error for a log that ends before the last committed event.
func (s *Store) lostEvents(last, committed int64) error {
	name := filepath.Base(s.path)
	return fmt.Errorf("the log ends at event %d, but event %d was committed: %[3]s or %[3]s-wal was truncated, removed or replaced by an older copy; restore a backup with --replace, or, to continue without the lost events, stop all servers and remove %[3]s.lock", last, committed, name)
}

// acquireToOpen waits for the lock if the file is not a complete store yet. Otherwise it takes the
// lock only if it is free, so that a store can be read while a suspended process holds the lock.
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

// isComplete reports whether a file has the header of a store with its tables. It may report false
// while the tables are only in the WAL.
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

// prepare verifies that the file is a store, and creates the tables of a new one. isOld reports
// whether the tables are of an older build.
func (s *Store) prepare() (isOld bool, err error) {
	id, err := s.writer.value("PRAGMA application_id")
	if err != nil {
		return false, err
	}
	version, err := s.writer.value("PRAGMA user_version")
	if err != nil {
		return false, err
	}
	tables, err := s.writer.value("SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return false, err
	}
	isNew := id == 0 && version == 0 && tables == 0
	switch {
	case isNew:
	case id != applicationID:
		return false, errors.New("this SQLite file belongs to another application; use another file")
	case version > schemaVersion:
		return false, fmt.Errorf("the file has version %d, but this build knows versions up to %d; use the newer build", version, schemaVersion)
	}
	if err := s.writer.exec("PRAGMA journal_mode=WAL"); err != nil {
		return false, err
	}
	if !isNew {
		return version < schemaVersion, nil
	}
	script := fmt.Sprintf("BEGIN IMMEDIATE;%sPRAGMA application_id=%d;PRAGMA user_version=%d;COMMIT", schema, applicationID, schemaVersion)
	if err := s.writer.exec(script); err != nil {
		return false, errors.Join(err, s.writer.exec("ROLLBACK"))
	}
	return false, nil
}

// migrate changes the tables of an older build, which can no longer open the file then. Another
// process may have done so before.
func migrate(writer eventlog.Tx) error {
	t := writer.(*tx)
	if !t.inTransaction {
		if err := t.begin(context.Background()); err != nil {
			return err
		}
	}
	for column, kind := range map[string]string{"actor": "TEXT", "cause": "BLOB"} {
		found, err := t.s.writer.value("SELECT count(*) FROM pragma_table_info('log') WHERE name = ?", column)
		if err == nil && found == 0 {
			err = t.s.writer.exec("ALTER TABLE log ADD COLUMN " + column + " " + kind)
		}
		if err != nil {
			return err
		}
	}
	if err := amendments.Migrate(t); err != nil {
		return err
	}
	return errors.Join(t.flushBuffered(), t.s.writer.exec(fmt.Sprintf("PRAGMA user_version=%d", schemaVersion)))
}

// errTimeout is the cause of a context that ended because a write waited too long.
var errTimeout = errors.New("timeout")

// acquire waits for the turn to write. Without file locks it waits only for writers of this
// process.
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
	return fmt.Errorf("wait to write to %s: timeout after %v, because %s holds the lock; stop it if it hangs, and retry: %w", s.path, s.timeout, s.fileLock.holder(), eventlog.ErrUnavailable)
}

// Close waits for writers and closes the file. SQLite runs a checkpoint when the last process
// closes it. Close can be called twice.
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

// Swap replaces the store in path, which need not be intact, with the one in the file with, and
// keeps the old file as old. It is for restoring a backup. It fails if a process has the old store
// open.
func Swap(ctx context.Context, path, with, old string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("replace %s: %w", path, err)
		}
	}()
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	lock := newFairLock(path)
	err = lock.acquire(ctx)
	hasLocks := err == nil
	if err != nil && !errors.Is(err, errNoLocks) {
		return err
	}
	defer func() { err = errors.Join(err, lock.close()) }()
	last, err := lastEvent(with)
	if err != nil {
		return err
	}
	if err := setAside(ctx, path, old); err != nil {
		return err
	}
	if err := os.Rename(with, path); err != nil {
		return err
	}
	syncPath(filepath.Dir(path), os.O_RDONLY) // not all systems can flush folders
	if !hasLocks {
		return nil
	}
	var count counter // its last event may be a later one of the old store
	if err := count.open(path + lockSuffix); err != nil {
		return err
	}
	n, _, err := count.read()
	if err == nil {
		err = count.write((n|1)+1, last)
	}
	return errors.Join(err, count.close())
}

// lastEvent returns the last sequence number of a store that is closed.
func lastEvent(path string) (int64, error) {
	c, err := connect(path)
	if err != nil {
		return 0, err
	}
	last, err := c.value(lastSQL)
	return last, errors.Join(err, c.close())
}

// setAside keeps the file of a store under another name as well, and moves its WAL away. It fails
// if a process has the store open.
func setAside(ctx context.Context, path, old string) error {
	if info, err := os.Stat(path); err == nil {
		// Without the WAL the file is complete. SQLite refuses to remove the WAL of a file in use.
		// It would remove the WAL of an empty file.
		if info.Size() >= smallestPage && isInUse(ctx, path) {
			return errors.New("another process has it open; stop all servers first")
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		err = os.Link(path, old)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			err = os.Rename(path, old) // some file systems have no hard links
		}
		if err != nil {
			return err
		}
	}
	for _, suffix := range []string{"-wal", "-shm"} { // left if the store is damaged
		if err := os.Rename(path+suffix, old+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// isInUse moves the WAL of a store into its file. It reports whether that failed because another
// process has the file open.
func isInUse(ctx context.Context, path string) bool {
	c, err := connect(path)
	if err != nil {
		return false
	}
	defer c.close()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return errors.Is(c.execContext(ctx, "PRAGMA journal_mode=DELETE"), context.DeadlineExceeded)
}

// syncPath flushes a file, or the entries of a folder, to the disk.
func syncPath(path string, flag int) error {
	file, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
