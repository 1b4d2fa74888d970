package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"

	"github.com/petrock/petrock/core/app/eventlog"
)

// Stores wait for each other at the [fairLock]. SQLite's own lock is held only during recovery
// after a crash, and by the last process that closes the file.
const (
	lockTimeout = 30 * time.Second // for both locks
	busyDelay   = time.Millisecond // between tries of a statement
)

// Result codes of SQLite: see https://www.sqlite.org/rescode.html.
const (
	busy       = 5
	ioError    = 10
	corrupt    = 11
	full       = 13
	constraint = 19
	notSQLite  = 26
	writeError = ioError | 3<<8
)

// A conn is a connection to the file, with its prepared statements. It uses the driver directly:
// for small statements, package database/sql would double the cost. It is safe for concurrent use.
type conn struct {
	mu    sync.Mutex
	raw   driver.Conn // nil when closed
	stmts map[string]stmt
	args  []driver.NamedValue // of the running statement
	isOld bool                // the log has no causes, and perhaps no actors
}

// A stmt has the methods of the driver's statements.
type stmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// connect opens an existing file, and sets the pragmas of the connection.
func connect(path string, pragmas ...string) (*conn, error) {
	return connectWith(path, "mode=rw", pragmas...)
}

// connectWith is connect with parameters: see https://www.sqlite.org/uri.html.
func connectWith(path, parameters string, pragmas ...string) (*conn, error) {
	name := filepath.ToSlash(path)
	if !strings.HasPrefix(name, "/") {
		name = "/" + name // C:/…
	}
	raw, err := new(sqlite.Driver).Open((&url.URL{Scheme: "file", Path: name, RawQuery: parameters}).String())
	if err != nil {
		return nil, err
	}
	c := &conn{raw: raw, stmts: map[string]stmt{}}
	for _, pragma := range pragmas {
		if err := c.exec("PRAGMA " + pragma); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	return c, nil
}

func (c *conn) exec(sql string, args ...any) error {
	return c.execContext(context.Background(), sql, args...)
}

// execContext runs a statement. It does not retry after ctx has ended.
func (c *conn) execContext(ctx context.Context, sql string, args ...any) error {
	return c.runStmt(ctx, sql, args, func(s stmt, args []driver.NamedValue) error {
		// With another context, the driver would start a goroutine.
		_, err := s.ExecContext(context.Background(), args)
		return err
	})
}

// query calls f with each row of a statement, until f returns false. f may keep the values, but not
// the slice.
func (c *conn) query(sql string, args []any, f func([]driver.Value) bool) error {
	return c.runStmt(context.Background(), sql, args, func(s stmt, args []driver.NamedValue) error {
		rows, err := s.QueryContext(context.Background(), args)
		if err != nil {
			return err
		}
		values := make([]driver.Value, len(rows.Columns()))
		for err == nil {
			if err = rows.Next(values); err == nil && !f(values) {
				err = io.EOF
			}
		}
		if err == io.EOF {
			err = nil
		}
		return errors.Join(err, rows.Close())
	})
}

// value returns the integer that a statement selects; 0 for NULL.
func (c *conn) value(sql string, args ...any) (value int64, err error) {
	err = c.query(sql, args, func(row []driver.Value) bool {
		value, _ = row[0].(int64)
		return false
	})
	return value, err
}

// runStmt calls f with a prepared statement, and retries while the file is busy. Other goroutines
// can use the connection between tries.
func (c *conn) runStmt(ctx context.Context, sql string, args []any, f func(stmt, []driver.NamedValue) error) error {
	var start time.Time
	for {
		err := c.tryStmt(sql, args, f)
		if hasCode(err, corrupt) {
			return fmt.Errorf("%w: the file is damaged; restore a backup", err)
		}
		if !hasCode(err, busy) {
			return err
		}
		if start.IsZero() {
			start = time.Now()
		} else if time.Since(start) > lockTimeout {
			return fmt.Errorf("timeout after %v: another program has locked the file; stop it, and retry: %w", lockTimeout, eventlog.ErrUnavailable)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(busyDelay):
		}
	}
}

// tryStmt prepares a statement, if needed, and calls f with it.
func (c *conn) tryStmt(sql string, args []any, f func(stmt, []driver.NamedValue) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.raw == nil {
		return errClosed
	}
	s, ok := c.stmts[sql]
	if !ok {
		prepared, err := c.raw.Prepare(sql)
		if err != nil {
			return err
		}
		s = prepared.(stmt)
		c.stmts[sql] = s
	}
	c.args = c.args[:0]
	for i, arg := range args {
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: arg})
	}
	defer clear(c.args) // they may be big
	return f(s, c.args)
}

// close closes the statements and the connection. It can be called twice.
func (c *conn) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.raw == nil {
		return nil
	}
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	errs = append(errs, c.raw.Close())
	c.raw, c.stmts = nil, nil
	return errors.Join(errs...)
}

// code returns the extended result code of SQLite; 0 for other errors.
func code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}

// hasCode reports whether err has the given primary result code.
func hasCode(err error, primary int) bool { return err != nil && code(err)&0xff == primary }

// marked returns an error of the store in a file, with [eventlog.ErrFull] if there is no space.
// SQLite reports some of these as I/O errors without their cause, so marked tries to write a file.
func marked(path string, err error) error {
	isFull := hasCode(err, full) || hasNoSpace(err)
	if hasCode(err, ioError) && !isFull {
		file, createErr := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-space-*")
		if createErr == nil {
			_, writeErr := file.Write(make([]byte, 64<<10))
			createErr = errors.Join(writeErr, file.Sync(), file.Close(), os.Remove(file.Name()))
		}
		isFull = hasNoSpace(createErr)
	}
	if isFull {
		return fmt.Errorf("%w: %w", err, eventlog.ErrFull)
	}
	return err
}

// A counter shows processes whether another one has written, at a tenth of the cost of asking
// SQLite. It is a number in the lock file. The writer that holds the lock makes it odd before a
// commit and even after it. If a process dies in between, the number stays odd, and until the next
// write every stamp counts as changed.
//
// The sequence number of the last committed event follows it. If the log ends before that event, a
// part of it was lost.
type counter struct {
	mu     sync.Mutex // held while this process commits
	file   *os.File   // nil without file locks
	own    int64      // sum of this store's increments
	odd    int64      // how often the number was found to be odd
	before int64      // number before the running commit
	last   int64      // last committed event before the running commit
}

// counterAt is the position of the number in the file. On Windows the first byte of a locked file
// cannot be read.
const counterAt = 8

// open opens the lock file, which must exist.
func (c *counter) open(path string) (err error) {
	c.file, err = os.OpenFile(path, os.O_RDWR, 0)
	return err
}

// stamp returns a value that differs from earlier ones if another store has, or may have, committed
// since.
func (c *counter) stamp() (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, _, err := c.read()
	if err != nil {
		return 0, err
	}
	if n%2 != 0 {
		c.odd++
		return -c.odd, nil
	}
	return n - c.own, nil
}

// begin marks the start of a commit. Stamps of this store wait until end is called.
func (c *counter) begin() (err error) {
	c.mu.Lock()
	if c.before, c.last, err = c.read(); err == nil {
		err = c.write(c.before|1, c.last)
	}
	if err != nil {
		c.mu.Unlock()
	}
	return err
}

// end marks the end of a commit, successful or not. last is the last committed event; it never
// decreases. If end cannot write the number, the number stays odd.
func (c *counter) end(last int64) {
	next := c.before | 1
	if c.write(next+1, max(c.last, last)) == nil {
		next++
	}
	c.own += next - c.before
	c.mu.Unlock()
}

func (c *counter) read() (n, last int64, err error) {
	var text [16]byte
	if _, err := c.file.ReadAt(text[:], counterAt); err != nil && !errors.Is(err, io.EOF) {
		return 0, 0, err
	}
	return int64(binary.LittleEndian.Uint64(text[:])), int64(binary.LittleEndian.Uint64(text[8:])), nil
}

func (c *counter) write(n, last int64) error {
	text := binary.LittleEndian.AppendUint64(make([]byte, 0, 16), uint64(n))
	_, err := c.file.WriteAt(binary.LittleEndian.AppendUint64(text, uint64(last)), counterAt)
	return err
}

// close closes the file. It can be called twice.
func (c *counter) close() error {
	if c.file == nil {
		return nil
	}
	if err := c.file.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}
