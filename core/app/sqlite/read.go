package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/petrock/petrock/core/app"
)

// Statements that read. Each column costs time, so the type and the actor are one, with a line break
// between them.
const (
	stampSQL = "PRAGMA data_version"
	lastSQL  = "SELECT max(seq) FROM log"
	columns  = "seq, id, at, type || coalesce(char(10) || actor, ''), version, data, key, result"
	pageSQL  = "SELECT " + columns + " FROM log WHERE seq > ? AND seq <= ? ORDER BY seq"
	findSQL  = "SELECT " + columns + " FROM log WHERE key = ?"
	getSQL   = "SELECT value FROM documents WHERE name = ?"
	namesSQL = "SELECT name FROM documents WHERE name >= ? ORDER BY name"
)

// A page of the log ends at either limit.
const (
	pageRows  = 512
	pageBytes = 1 << 20
)

// Records implements [app.Store]. It reads the log, which has no gaps, in pages, so a slow reader
// does not block checkpoints.
func (s *Store) Records(ctx context.Context, after int64) iter.Seq2[app.Record, error] {
	return func(yield func(app.Record, error) bool) {
		last, err := s.Last(ctx)
		if err != nil {
			yield(app.Record{}, err)
			return
		}
		pages(after, last, func(page []app.Record, after, last int64) ([]app.Record, error) {
			err := s.read(ctx, func(c *conn) (err error) {
				page, err = c.page(page, after, last)
				return err
			})
			return page, err
		}, yield)
	}
}

// View implements [app.Store]. Until f returns, checkpoints cannot truncate the WAL.
func (s *Store) View(ctx context.Context, f func(app.View) error) error {
	var failed error // of f, whose errors are not those of a read
	err := s.read(ctx, func(c *conn) error {
		if err := c.exec("BEGIN"); err != nil {
			return err
		}
		last, err := c.value(lastSQL) // the first read fixes the moment
		if err == nil {
			failed = f(view{ctx, c, last})
		}
		return errors.Join(err, c.exec("ROLLBACK"))
	})
	return errors.Join(failed, err)
}

// A view implements [app.View] on a connection within a transaction.
type view struct {
	ctx  context.Context
	c    *conn
	last int64
}

func (v view) Records(after int64) iter.Seq2[app.Record, error] {
	return func(yield func(app.Record, error) bool) {
		pages(after, v.last, func(page []app.Record, after, last int64) ([]app.Record, error) {
			if err := v.ctx.Err(); err != nil {
				return nil, err
			}
			return v.c.page(page, after, last)
		}, yield)
	}
}
func (v view) Get(name string) ([]byte, error)       { return v.c.document(name) }
func (v view) Names(prefix string) ([]string, error) { return v.c.names(prefix) }

// Last implements [app.Store].
func (s *Store) Last(ctx context.Context) (last int64, err error) {
	err = s.read(ctx, func(c *conn) error {
		last, err = c.value(lastSQL)
		return err
	})
	return last, err
}

// pages yields the records of several pages. next appends the records of the next page.
func pages(after, last int64, next func(page []app.Record, after, last int64) ([]app.Record, error), yield func(app.Record, error) bool) {
	var page []app.Record
	for after = max(after, 0); after < last; {
		var err error
		page, err = next(page[:0], after, last)
		if err == nil && len(page) == 0 {
			err = fmt.Errorf("event %d is missing; restore a backup", after+1)
		}
		if err != nil {
			yield(app.Record{}, err)
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
func (c *conn) page(page []app.Record, after, last int64) ([]app.Record, error) {
	bytes := 0
	err := c.query(pageSQL, []any{after, last}, func(row []driver.Value) bool {
		r := record(row)
		page = append(page, r)
		bytes += len(r.Data) + len(r.Result)
		return len(page) < pageRows && bytes < pageBytes
	})
	return page, err
}

// record decodes a row of the log.
func record(row []driver.Value) (r app.Record) {
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
	return r
}

// Stamp implements [app.Store].
func (s *Store) Stamp(context.Context) (int64, error) {
	if s.closed.Load() {
		return 0, errClosed
	}
	if s.count.file == nil {
		return s.writer.value(stampSQL)
	}
	return s.count.stamp()
}

// Get implements [app.Store].
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

// Names implements [app.Store].
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
			return err
		}
	}
	if err = f(c); err != nil {
		c.close()
		return fmt.Errorf("read %s: %w", s.path, err)
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
