// Package sqlite is the embedded store of an app: one SQLite file, for several processes on one machine.
package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/petrock/petrock/core/app"
)

// Whose the file is, and what it looks like.
const (
	applicationID = 0x70747263 // "ptrc"
	schemaVersion = 1
)

// schema is what a new file holds. Where there are no locks, two may make it. Names of documents are few, and their
// values may be big.
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

// errClosed says that a store is used after Close.
var errClosed = errors.New("the store is closed")

// A Store is a SQLite file in WAL mode. What was written is on the disk: synchronous is FULL. Who writes has passed a turnstile of
// two files beside it, which stay, so that processes take turns. It is an [app.Store].
type Store struct {
	path string

	turn   chan struct{} // holds one value while somebody writes, or closes
	gate   turnstile
	alone  bool // there are no locks but SQLite's own
	closed atomic.Bool

	count   counter
	writer  *conn      // without locks it is asked for stamps too: what it commits itself does not change them
	readers chan *conn // that nobody uses now

	last   int64 // sequence number in the log, as of a stamp; -1 if it is not known
	lastAt int64 // that stamp
	rows   []any // of the statement that is being made
}

var _ app.Store = (*Store)(nil)

// maxReaders is how many connections are kept for reading.
const maxReaders = 4

// Open opens the store in a file. The file and its folder are made if they are not there. A file that is something else is left
// as it is, and refused.
func Open(ctx context.Context, path string) (s *Store, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // beside which the turnstile is that others pass
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of the store: %w", err)
	}
	s = &Store{
		path:    path,
		last:    -1,
		turn:    make(chan struct{}, 1),
		gate:    turnstile{path: path, locker: newLocker()},
		readers: make(chan *conn, maxReaders),
	}
	defer func() {
		if is(err, notSQLite) {
			err = errors.New("this is not a SQLite file; move it out of the way, or name another one")
		}
		if err != nil {
			err = errors.Join(fmt.Errorf("opening %s: %w", path, err), s.Close())
			s = nil
		}
	}()
	leave, err := s.enter(ctx)
	if err != nil {
		return s, err
	}
	defer leave()
	if !s.alone {
		if err := s.count.open(path + roomSuffix); err != nil {
			return s, err
		}
	}

	// Nobody else opens it now. SQLite would let others read a file that it makes itself.
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
	// Without fullfsync, macOS is content with what the disk has not written yet.
	if s.writer, err = connect(path, "synchronous=FULL", "fullfsync=1", "journal_size_limit=67108864"); err != nil {
		return s, err
	}
	return s, s.prepare()
}

// prepare looks whether the file is ours, and gives a new one its tables.
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

// enter waits for the turn to write. Where the file system has no locks, it is that of this process alone.
func (s *Store) enter(ctx context.Context) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
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
		return nil, err
	default:
		return func() { s.gate.leave(); <-s.turn }, nil
	}
}

// Close waits for those who write, and closes the file. The last process to close it tidies up. It can be called twice.
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

// closeReaders closes the connections that nobody uses.
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

// Backup copies the store to a file that must not be there yet, as it is now, while others go on reading and writing. The copy
// is whole or it is not there; it can be opened as a store.
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
		return errors.New("there is a file already; remove it, or name another one")
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
	if err := persist(unfinished, os.O_RDWR); err != nil { // Windows does not do it for who may only read
		return err
	}
	err = os.Link(unfinished, path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = os.Rename(unfinished, path) // there are file systems without links
	}
	if err != nil {
		return err
	}
	persist(filepath.Dir(path), os.O_RDONLY) // which some systems cannot
	return nil
}

// persist has a file, or what a folder lists, on the disk.
func persist(path string, how int) error {
	file, err := os.OpenFile(path, how, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
