package sqlite

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/petrock/petrock/core/app"
)

// Statements that write.
const (
	insertSQL = "INSERT INTO log (" + columns + ") VALUES "
	rowSQL    = "(?,?,?,?,?,?,?,?)"
	putSQL    = "INSERT INTO documents (name, value) VALUES (?,?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
	removeSQL = "DELETE FROM documents WHERE name = ?"
)

// A tx is what is done in one Write. What is to be written is only noted until somebody has to see it: one statement
// alone needs no transaction around it, since nobody else writes.
type tx struct {
	s       *Store
	known   bool // the next two are
	stamp   int64
	last    int64 // sequence number, with those noted
	records []app.Record
	puts    []document
	begun   bool  // a transaction
	err     error // of what was to be seen: SQLite may have ended the transaction
}

// A document is what is to be kept under a name.
type document struct {
	name  string
	value []byte
}

// Write is as [app.Store] says.
func (s *Store) Write(ctx context.Context, f func(app.Tx) error) (err error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	t := &tx{s: s}
	if s.alone {
		if err := t.begin(ctx); err != nil {
			return fmt.Errorf("waiting to write to %s: %w", s.path, err)
		}
	}
	done := false
	defer func() {
		if !done && t.begun { // f has returned an error, or has not returned
			err = errors.Join(err, s.writer.exec("ROLLBACK"))
		}
	}()
	if err := f(t); err != nil {
		return err
	}
	done = true
	if len(t.records)+len(t.puts) == 0 && !t.begun {
		return nil // and nothing has failed
	}
	if s.count.file != nil {
		if err := s.count.begin(); err != nil {
			return t.failed(err)
		}
		defer s.count.end()
	}
	return t.commit()
}

// begin begins a transaction.
func (t *tx) begin(ctx context.Context) error {
	err := t.s.writer.execContext(ctx, "BEGIN IMMEDIATE")
	t.begun = err == nil
	return err
}

// commit writes all that was noted, and makes it durable.
func (t *tx) commit() error {
	records, puts := len(t.records), len(t.puts)
	if t.err != nil {
		return t.failed(t.err)
	}
	one := puts == 0 && records == chunk(records) || puts == 1 && records == 0
	if err := t.flush(!one); err != nil {
		return t.failed(err)
	}
	if t.begun {
		if err := t.s.writer.exec("COMMIT"); err != nil {
			return t.failed(err)
		}
	}
	if t.known {
		t.s.last, t.s.lastAt = t.last, t.stamp
	}
	return nil
}

// failed undoes what was done before an error, and says what is known.
func (t *tx) failed(err error) error {
	if t.begun {
		t.s.writer.exec("ROLLBACK") // if SQLite has not done that, which makes it an error
	}
	err = fmt.Errorf("writing to %s: %w", t.s.path, err)
	if is(err, constraint) {
		return fmt.Errorf("%w: %w", err, app.ErrTaken)
	}
	// Of a commit that could not be written, nothing counts. One that was written, and may not be on
	// the disk, is there again after a crash or is not.
	last, lookErr := t.s.writer.value(lastSQL)
	there := t.known && last > t.s.last
	t.s.last = -1
	if there || lookErr != nil || is(err, ioError) && code(err) != writeError {
		return fmt.Errorf("%w: %w", err, app.ErrUnsure)
	}
	return err
}

// flush writes what was noted, in a transaction if one is needed.
func (t *tx) flush(needed bool) error {
	if needed && !t.begun {
		if err := t.begin(context.Background()); err != nil {
			return err
		}
	}
	for len(t.records) > 0 {
		n := chunk(len(t.records))
		if err := t.s.insert(t.records[:n]); err != nil {
			return err
		}
		t.records = t.records[n:]
	}
	for _, put := range t.puts {
		var err error
		if put.value == nil {
			err = t.s.writer.exec(removeSQL, put.name)
		} else {
			err = t.s.writer.exec(putSQL, put.name, put.value)
		}
		if err != nil {
			return err
		}
	}
	t.records, t.puts = nil, nil
	return nil
}

// chunk is how many of n records the next statement adds. Few records are one statement, which is prepared once for their number:
// that saves the transaction around several.
func chunk(n int) int { return min(n, 64) }

// insert adds records to the log in one statement.
func (s *Store) insert(records []app.Record) error {
	s.rows = s.rows[:0]
	for _, r := range records {
		var key, result any
		if r.Key != "" {
			key = r.Key
		}
		if r.Result != nil {
			result = []byte(r.Result)
		}
		s.rows = append(s.rows, r.Seq, r.ID, r.Time.UnixMicro(), r.Type, int64(r.Version), []byte(r.Data), key, result)
	}
	defer clear(s.rows)
	sql := insertSQL + rowSQL
	if more := len(records) - 1; more > 0 {
		sql += strings.Repeat(","+rowSQL, more)
	}
	return s.writer.exec(sql, s.rows...)
}

// Append notes records, after a look whether they follow.
func (t *tx) Append(records ...app.Record) error {
	if _, err := t.Stamp(); err != nil {
		return err
	}
	for i, r := range records {
		switch next := t.last + 1 + int64(i); {
		case r.Seq < next:
			return fmt.Errorf("adding record %d where the next one is %d: %w", r.Seq, next, app.ErrTaken)
		case r.Seq > next:
			return fmt.Errorf("adding record %d where the next one is %d: the log has no gap", r.Seq, next)
		}
	}
	for _, r := range records {
		t.last = r.Seq
		r.Data = append([]byte{}, r.Data...) // never nil: a log without data is no log
		r.Result = bytes.Clone(r.Result)
		t.records = append(t.records, r)
	}
	return nil
}

// Stamp is that of the store. It cannot change meanwhile. With it comes what it tells: whether the last sequence number is known.
func (t *tx) Stamp() (int64, error) {
	if t.known {
		return t.stamp, nil
	}
	stamp, err := t.s.Stamp(context.Background())
	if err != nil {
		return 0, err
	}
	if stamp != t.s.lastAt || t.s.last < 0 {
		if t.s.last, err = t.s.writer.value(lastSQL); err != nil {
			return 0, err
		}
		t.s.lastAt = stamp
	}
	t.known, t.stamp, t.last = true, stamp, t.s.last
	return stamp, nil
}

// Put notes a document.
func (t *tx) Put(name string, value []byte) error {
	t.puts = append(t.puts, document{name, bytes.Clone(value)})
	return nil
}

// see has what was noted written, so that what is read next sees it.
func (t *tx) see() error {
	if t.err == nil && len(t.records)+len(t.puts) > 0 {
		t.err = t.flush(true)
	}
	return t.err
}

// Get is as [app.Store.Get].
func (t *tx) Get(name string) ([]byte, error) {
	if err := t.see(); err != nil {
		return nil, err
	}
	return t.s.writer.document(name)
}

// Find is as [app.Tx] says.
func (t *tx) Find(key string) (found app.Record, ok bool, err error) {
	if err := t.see(); err != nil {
		return found, false, err
	}
	err = t.s.writer.query(findSQL, []any{key}, func(row []driver.Value) bool {
		found, ok = record(row), true
		return false
	})
	return found, ok, err
}

// Records is as [app.Store.Records].
func (t *tx) Records(after int64) iter.Seq2[app.Record, error] {
	return func(yield func(app.Record, error) bool) {
		_, err := t.Stamp()
		if err == nil {
			err = t.see()
		}
		if err != nil {
			yield(app.Record{}, err)
			return
		}
		pages(after, t.last, t.s.writer.page, yield)
	}
}
