package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
)

// Statements that read. Each column costs time, so the type and the actor are one, with a line
// break between them. oldPageSQL is for files of version 1.
const (
	stampSQL = "PRAGMA data_version"
	lastSQL  = "SELECT max(seq) FROM log"
	columns  = "seq, id, at, type || coalesce(char(10) || actor, ''), version, data, key, result"
	pageSQL  = "SELECT " + columns + ", cause FROM log WHERE seq > ? AND seq <= ? ORDER BY seq"
	findSQL  = "SELECT " + columns + ", cause FROM log WHERE key = ?"
	getSQL   = "SELECT value FROM documents WHERE name = ?"
	namesSQL = "SELECT name FROM documents WHERE name >= ? ORDER BY name"

	documentsSQL = "SELECT name, value FROM documents WHERE name >= ? ORDER BY name"
	oldPageSQL   = "SELECT seq, id, at, type, version, data, key, result, NULL FROM log WHERE seq > ? AND seq <= ? ORDER BY seq"

	typesSQL  = "SELECT type, version, count(*), min(seq), max(seq) FROM log WHERE seq > ? GROUP BY type, version"
	ofTypeSQL = "SELECT seq FROM log WHERE type = ? AND version = ? ORDER BY seq"
)

// A page of the log ends at either limit.
const (
	pageRows  = 512
	pageBytes = 1 << 20
)

// Records implements [eventlog.Store]. It reads the log, which has no gaps, in pages, so a slow
// reader does not block checkpoints.
func (s *Store) Records(ctx context.Context, after int64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		last, err := s.Last(ctx)
		if err != nil {
			yield(eventlog.Record{}, err)
			return
		}
		pages(after, last, func(page []eventlog.Record, after, last int64) ([]eventlog.Record, error) {
			err := s.read(ctx, func(c *conn) (err error) {
				page, err = c.page(page, after, last)
				return err
			})
			return page, err
		}, yield)
	}
}

// View implements [eventlog.Store]. The view is an [eventlog.TypeView]. Until f returns,
// checkpoints cannot truncate the WAL.
func (s *Store) View(ctx context.Context, f func(eventlog.View) error) error {
	var failed error // of f, whose errors are not those of a read
	err := s.read(ctx, func(c *conn) (err error) {
		failed, err = c.view(ctx, func(v eventlog.TypeView) error { return f(v) })
		return err
	})
	return errors.Join(failed, err)
}

// view calls f with the store as it is at one moment. failed is the error of f.
func (c *conn) view(ctx context.Context, f func(eventlog.TypeView) error) (failed, err error) {
	if err := c.execContext(ctx, "BEGIN"); err != nil {
		return nil, err
	}
	last, err := c.value(lastSQL) // the first read fixes the moment
	if err == nil {
		failed = f(view{ctx, c, last})
	}
	return failed, errors.Join(err, c.exec("ROLLBACK"))
}

// A view implements [eventlog.TypeView] on a connection within a transaction.
type view struct {
	ctx  context.Context
	c    *conn
	last int64
}

func (v view) Records(after int64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		pages(after, v.last, func(page []eventlog.Record, after, last int64) ([]eventlog.Record, error) {
			if err := v.ctx.Err(); err != nil {
				return nil, err
			}
			return v.c.page(page, after, last)
		}, yield)
	}
}
func (v view) Get(name string) ([]byte, error)       { return v.c.document(name) }
func (v view) Names(prefix string) ([]string, error) { return v.c.names(prefix) }
func (v view) Documents(prefix, after string) iter.Seq2[eventlog.Document, error] {
	return documents(prefix, after, func(page []eventlog.Document, after string) ([]eventlog.Document, error) {
		if err := v.ctx.Err(); err != nil {
			return nil, err
		}
		return v.c.documents(page, prefix, after)
	})
}

func (v view) Types(after int64) (types []eventlog.TypeCount, err error) {
	err = v.c.query(typesSQL, []any{after}, func(row []driver.Value) bool {
		var t eventlog.TypeCount
		t.Type, _ = row[0].(string)
		version, _ := row[1].(int64)
		t.Version = int(version)
		t.Count, _ = row[2].(int64)
		t.First, _ = row[3].(int64)
		t.Last, _ = row[4].(int64)
		types = append(types, t)
		return true
	})
	return types, err
}

func (v view) OfType(eventType string, version int) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		stopped := false
		err := v.c.query(ofTypeSQL, []any{eventType, int64(version)}, func(row []driver.Value) bool {
			seq, _ := row[0].(int64)
			stopped = !yield(seq, v.ctx.Err())
			return !stopped
		})
		if err != nil && !stopped {
			yield(0, err)
		}
	}
}

func (v view) Record(seq int64) (eventlog.Record, error) {
	page, err := v.c.page(nil, seq-1, seq)
	if err == nil && len(page) == 0 {
		err = fmt.Errorf("event %d does not exist", seq)
	}
	if err != nil {
		return eventlog.Record{}, err
	}
	return page[0], nil
}

// ReadOnly calls f with the store in a file as it is at one moment. It does not wait for writers.
// It creates and changes nothing, except that SQLite may create its -shm file next to a -wal file.
// f can be called twice. If the store does not exist, the error matches [fs.ErrNotExist]. Use it to
// look at a log that another program owns.
func ReadOnly(ctx context.Context, path string, f func(eventlog.TypeView) error) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	before, err := os.Stat(path)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path + "-wal"); err == nil {
		return readOnly(ctx, path, "mode=ro", f)
	}
	// No process uses the store, so SQLite can read it without its other files.
	err = readOnly(ctx, path, "mode=ro&immutable=1", f)
	_, walErr := os.Stat(path + "-wal")
	after, statErr := os.Stat(path)
	if walErr == nil || statErr != nil || after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) {
		return readOnly(ctx, path, "mode=ro", f) // a process has opened the store meanwhile
	}
	return err
}

func readOnly(ctx context.Context, path, parameters string, f func(eventlog.TypeView) error) error {
	c, err := connectWith(path, parameters, "query_only=1")
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer c.close()
	id, err := c.value("PRAGMA application_id")
	if err == nil && id != applicationID {
		return fmt.Errorf("open %s: not an event log", path)
	}
	if err == nil {
		var version int64
		version, err = c.value("PRAGMA user_version")
		c.isOld = version < schemaVersion
	}
	var failed error
	if err == nil {
		failed, err = c.view(ctx, f)
	}
	if err != nil {
		err = fmt.Errorf("read %s: %w", path, err)
	}
	return errors.Join(failed, err)
}

// Last implements [eventlog.Store].
func (s *Store) Last(ctx context.Context) (last int64, err error) {
	err = s.read(ctx, func(c *conn) error {
		last, err = c.value(lastSQL)
		return err
	})
	return last, err
}

// pages yields the records of several pages. next appends the records of the next page.
func pages(after, last int64, next func(page []eventlog.Record, after, last int64) ([]eventlog.Record, error), yield func(eventlog.Record, error) bool) {
	var page []eventlog.Record
	for after = max(after, 0); after < last; {
		var err error
		page, err = next(page[:0], after, last)
		if err == nil && len(page) == 0 {
			err = fmt.Errorf("event %d is missing; restore a backup", after+1)
		}
		if err != nil {
			yield(eventlog.Record{}, err)
			return
		}
		after = page[len(page)-1].Seq
		for i := range page {
			if !yield(page[i], nil) {
				return
			}
		}
		clear(page) // they may be big
	}
}

// page appends records to a page, until it is full.
func (c *conn) page(page []eventlog.Record, after, last int64) ([]eventlog.Record, error) {
	bytes, sql := 0, pageSQL
	if c.isOld {
		sql = oldPageSQL
	}
	err := c.query(sql, []any{after, last}, func(row []driver.Value) bool {
		r := record(row)
		page = append(page, r)
		bytes += len(r.Data) + len(r.Result)
		return len(page) < pageRows && bytes < pageBytes
	})
	return page, err
}

// record decodes a row of the log.
func record(row []driver.Value) (r eventlog.Record) {
	r.Seq, _ = row[0].(int64)
	r.ID, _ = row[1].(string)
	at, _ := row[2].(int64)
	r.Time = time.UnixMicro(at).UTC()
	both, _ := row[3].(string)
	r.Type, r.Actor, _ = strings.Cut(both, "\n")
	version, _ := row[4].(int64)
	r.Version = int(version)
	data, _ := row[5].([]byte)
	r.Data = json.RawMessage(data)
	r.Key, _ = row[6].(string)
	result, _ := row[7].([]byte)
	r.Result = json.RawMessage(result)
	cause, _ := row[8].([]byte)
	r.Cause = json.RawMessage(cause)
	return r
}

// Stamp implements [eventlog.Store].
func (s *Store) Stamp(context.Context) (int64, error) {
	if s.closed.Load() {
		return 0, errClosed
	}
	if s.count.file == nil {
		return s.writer.value(stampSQL)
	}
	return s.count.stamp()
}

// Get implements [eventlog.Store].
func (s *Store) Get(ctx context.Context, name string) (value []byte, err error) {
	err = s.read(ctx, func(c *conn) error {
		value, err = c.document(name)
		return err
	})
	return value, err
}

// document returns a document, nil if it does not exist.
func (c *conn) document(name string) (value []byte, err error) {
	err = c.query(getSQL, []any{name}, func(row []driver.Value) bool {
		if value, _ = row[0].([]byte); value == nil {
			value = []byte{} // the driver returns nil for an empty value
		}
		return false
	})
	return value, err
}

// Names implements [eventlog.Store].
func (s *Store) Names(ctx context.Context, prefix string) (names []string, err error) {
	err = s.read(ctx, func(c *conn) error {
		names, err = c.names(prefix)
		return err
	})
	return names, err
}

// names returns the names of the documents that start with a prefix.
func (c *conn) names(prefix string) (names []string, err error) {
	err = c.query(namesSQL, []any{prefix}, func(row []driver.Value) bool {
		name, _ := row[0].(string)
		if !strings.HasPrefix(name, prefix) {
			return false
		}
		names = append(names, name)
		return true
	})
	return names, err
}

// Documents implements [eventlog.Store].
func (s *Store) Documents(ctx context.Context, prefix, after string) iter.Seq2[eventlog.Document, error] {
	return documents(prefix, after, func(page []eventlog.Document, after string) ([]eventlog.Document, error) {
		err := s.read(ctx, func(c *conn) (err error) {
			page, err = c.documents(page, prefix, after)
			return err
		})
		return page, err
	})
}

// documents yields the documents of several pages. next appends the documents of the next page.
func documents(prefix, after string, next func(page []eventlog.Document, after string) ([]eventlog.Document, error)) iter.Seq2[eventlog.Document, error] {
	return func(yield func(eventlog.Document, error) bool) {
		var page []eventlog.Document
		for after := after; ; after = page[len(page)-1].Name {
			var err error
			if page, err = next(page[:0], after); err != nil {
				yield(eventlog.Document{}, err)
				return
			}
			if len(page) == 0 {
				return
			}
			for _, d := range page {
				if !yield(d, nil) {
					return
				}
			}
		}
	}
}

// documents appends documents to a page, until it is full.
func (c *conn) documents(page []eventlog.Document, prefix, after string) ([]eventlog.Document, error) {
	bytes, from := 0, prefix
	if after != "" && after >= prefix {
		from = after + "\x00" // the next name
	}
	err := c.query(documentsSQL, []any{from}, func(row []driver.Value) bool {
		name, _ := row[0].(string)
		value, _ := row[1].([]byte)
		if !strings.HasPrefix(name, prefix) {
			return false
		}
		page = append(page, eventlog.Document{Name: name, Value: append([]byte{}, value...)})
		bytes += len(value)
		return len(page) < pageRows && bytes < pageBytes
	})
	return page, err
}

// read calls f with a connection for reading.
func (s *Store) read(ctx context.Context, f func(*conn) error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.closed.Load() {
		return errClosed
	}
	var c *conn
	select {
	case c = <-s.readers:
	default:
		if c, err = connect(s.path, "query_only=1"); err != nil {
			return fmt.Errorf("read %s: %w", s.path, marked(s.path, err))
		}
	}
	if err = f(c); err != nil {
		c.close()
		return fmt.Errorf("read %s: %w", s.path, marked(s.path, err))
	}
	select {
	case s.readers <- c:
	default:
		return c.close()
	}
	if s.closed.Load() {
		return s.closeReaders() // Close may have run meanwhile
	}
	return nil
}
