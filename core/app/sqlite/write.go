package sqlite

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
)

// Statements that write.
const (
	insertSQL = "INSERT INTO log (seq, id, at, type, version, data, key, result, actor, cause) VALUES "
	rowSQL    = "(?,?,?,?,?,?,?,?,?,?)"
	deleteSQL = "DELETE FROM log WHERE seq = ?"
	putSQL    = "INSERT INTO documents (name, value) VALUES (?,?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
	removeSQL = "DELETE FROM documents WHERE name = ?"
)

// A tx implements [eventlog.Tx] for one call of Write. It buffers changes until the end, or until a
// read in the same Write. A single statement needs no transaction, because there is no other
// writer.
type tx struct {
	s             *Store
	hasLast       bool // stamp and last are set
	stamp         int64
	last          int64 // last sequence number, buffered records included
	records       []eventlog.Record
	puts          []eventlog.Document
	buffered      int // bytes in records and puts
	inTransaction bool
	err           error // of an earlier flush, after which SQLite may have ended the transaction
}

// Write implements [eventlog.Store].
func (s *Store) Write(ctx context.Context, f func(eventlog.Tx) error) (err error) {
	release, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	t := &tx{s: s}
	if s.noFileLocks {
		if err := t.begin(ctx); err != nil {
			return fmt.Errorf("wait to write to %s: %w", s.path, marked(s.path, err))
		}
	}
	succeeded := false
	defer func() {
		if !succeeded && t.inTransaction { // f has returned an error or panicked
			err = errors.Join(err, s.writer.exec("ROLLBACK"))
		}
	}()
	if err := f(t); err != nil {
		return err
	}
	succeeded = true
	if len(t.records)+len(t.puts) == 0 && !t.inTransaction {
		return nil // f has changed nothing
	}
	if s.count.file != nil {
		if err := s.count.begin(); err != nil {
			return t.rollBack(err)
		}
		defer func() { s.count.end(s.last) }()
	}
	return t.commit()
}

func (t *tx) begin(ctx context.Context) error {
	err := t.s.writer.execContext(ctx, "BEGIN IMMEDIATE")
	t.inTransaction = err == nil
	return err
}

// commit writes all buffered changes, and makes them durable.
func (t *tx) commit() error {
	records, puts := len(t.records), len(t.puts)
	if t.err != nil {
		return t.rollBack(t.err)
	}
	isSingle := puts == 0 && records == chunk(records) || puts == 1 && records == 0
	if err := t.flush(!isSingle); err != nil {
		return t.rollBack(err)
	}
	if t.inTransaction {
		if err := t.s.writer.exec("COMMIT"); err != nil {
			return t.rollBack(err)
		}
	}
	if t.hasLast {
		t.s.last, t.s.lastAt = t.last, t.stamp
	}
	return nil
}

// rollBack rolls back after an error. It adds [eventlog.ErrConflict] or
// [eventlog.ErrOutcomeUnknown] if it applies.
func (t *tx) rollBack(err error) error {
	if t.inTransaction {
		t.s.writer.exec("ROLLBACK") // an error if SQLite has already rolled back
	}
	err = fmt.Errorf("write to %s: %w", t.s.path, marked(t.s.path, err))
	if hasCode(err, constraint) {
		return fmt.Errorf("%w: %w", err, eventlog.ErrConflict)
	}
	// A commit that could not be written has no effect. A commit that was written but not synced
	// can be lost in a crash.
	last, lastErr := t.s.writer.value(lastSQL)
	committed := t.hasLast && last > t.s.last
	t.s.last = -1
	if committed || lastErr != nil || hasCode(err, ioError) && code(err) != writeError {
		return fmt.Errorf("%w: %w", err, eventlog.ErrOutcomeUnknown)
	}
	return err
}

// flush writes the buffered changes. If transaction is set, it begins a transaction first, if
// needed.
func (t *tx) flush(transaction bool) error {
	if transaction && !t.inTransaction {
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
		if put.Value == nil {
			err = t.s.writer.exec(removeSQL, put.Name)
		} else {
			err = t.s.writer.exec(putSQL, put.Name, put.Value)
		}
		if err != nil {
			return err
		}
	}
	t.records, t.puts, t.buffered = nil, nil, 0
	return nil
}

// chunk returns how many of n records the next statement inserts. Up to the limit, records need
// only one statement and no transaction.
func chunk(n int) int { return min(n, 64) }

// insert inserts records into the log with one statement.
func (s *Store) insert(records []eventlog.Record) error {
	s.rows = s.rows[:0]
	for _, r := range records {
		var key, result, actor, cause any
		if r.Key != "" {
			key = r.Key
		}
		if r.Result != nil {
			result = []byte(r.Result)
		}
		if r.Actor != "" {
			actor = r.Actor
		}
		if r.Cause != nil {
			cause = []byte(r.Cause)
		}
		s.rows = append(s.rows, r.Seq, r.ID, r.Time.UnixMicro(), r.Type, int64(r.Version), []byte(r.Data), key, result, actor, cause)
	}
	defer clear(s.rows)
	sql := insertSQL + rowSQL
	if more := len(records) - 1; more > 0 {
		sql += strings.Repeat(","+rowSQL, more)
	}
	return s.writer.exec(sql, s.rows...)
}

// maxBuffered is the size of the buffered data at which Append and Put write it.
const maxBuffered = 4 << 20

// Append implements [eventlog.Tx].
func (t *tx) Append(records ...eventlog.Record) error {
	if _, err := t.Stamp(); err != nil {
		return err
	}
	for i, r := range records {
		switch next := t.last + 1 + int64(i); {
		case r.Seq < next:
			return fmt.Errorf("append event %d: the next event is %d: %w", r.Seq, next, eventlog.ErrConflict)
		case r.Seq > next:
			return fmt.Errorf("append event %d: the next event is %d; gaps are not allowed", r.Seq, next)
		}
	}
	for _, r := range records {
		t.last = r.Seq
		r.Data = append([]byte{}, r.Data...) // not nil: the column must not be NULL
		r.Result, r.Cause = bytes.Clone(r.Result), bytes.Clone(r.Cause)
		t.records = append(t.records, r)
		if t.buffered += len(r.Data) + len(r.Result); t.buffered > maxBuffered {
			if err := t.flushBuffered(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Replace implements [eventlog.Tx]. The old content is overwritten with zeros.
func (t *tx) Replace(records ...eventlog.Record) error {
	if _, err := t.Stamp(); err != nil {
		return err
	}
	for _, r := range records {
		if r.Seq < 1 || r.Seq > t.last {
			return fmt.Errorf("replace event %d: it does not exist", r.Seq)
		}
	}
	if err := t.flushBuffered(); err != nil {
		return err
	}
	if !t.inTransaction {
		if err := t.begin(context.Background()); err != nil {
			return err
		}
	}
	t.err = t.s.writer.exec("PRAGMA secure_delete=ON")
	for _, r := range records {
		r.Data = append([]byte{}, r.Data...)
		if t.err == nil {
			t.err = t.s.writer.exec(deleteSQL, r.Seq)
		}
		if t.err == nil {
			t.err = t.s.insert([]eventlog.Record{r})
		}
	}
	return t.err
}

// Scrub implements [eventlog.Store]. It rewrites the file, and truncates the WAL.
func (s *Store) Scrub(ctx context.Context) error {
	release, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := s.writer.execContext(ctx, "VACUUM"); err != nil {
		return fmt.Errorf("rewrite %s: %w", s.path, marked(s.path, err))
	}
	for start := time.Now(); ; {
		inUse, err := s.writer.value("PRAGMA wal_checkpoint(TRUNCATE)")
		switch {
		case err != nil:
			return fmt.Errorf("truncate %s-wal: %w", s.path, err)
		case inUse == 0:
			return nil
		case time.Since(start) > s.timeout:
			return fmt.Errorf("truncate %s-wal: timeout after %v, because another process reads it; retry when it has finished", s.path, s.timeout)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * busyDelay):
		}
	}
}

// Stamp returns the stamp of the store, which cannot change during a Write. It also sets t.last.
func (t *tx) Stamp() (int64, error) {
	if t.hasLast {
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
	t.hasLast, t.stamp, t.last = true, stamp, t.s.last
	return stamp, nil
}

// Last implements [eventlog.Tx].
func (t *tx) Last() (int64, error) {
	_, err := t.Stamp()
	return t.last, err
}

// Put implements [eventlog.Tx].
func (t *tx) Put(name string, value []byte) error {
	t.puts = append(t.puts, eventlog.Document{Name: name, Value: bytes.Clone(value)})
	if t.buffered += len(name) + len(value); t.buffered > maxBuffered {
		return t.flushBuffered()
	}
	return nil
}

// flushBuffered writes the buffered changes, so that the next read sees them.
func (t *tx) flushBuffered() error {
	if t.err == nil && len(t.records)+len(t.puts) > 0 {
		t.err = t.flush(true)
	}
	return t.err
}

// Get implements [eventlog.Tx].
func (t *tx) Get(name string) ([]byte, error) {
	if err := t.flushBuffered(); err != nil {
		return nil, err
	}
	return t.s.writer.document(name)
}

// Names implements [eventlog.Tx].
func (t *tx) Names(prefix string) ([]string, error) {
	if err := t.flushBuffered(); err != nil {
		return nil, err
	}
	return t.s.writer.names(prefix)
}

// Documents implements [eventlog.Tx].
func (t *tx) Documents(prefix, after string) iter.Seq2[eventlog.Document, error] {
	return documents(prefix, after, func(page []eventlog.Document, after string) ([]eventlog.Document, error) {
		if err := t.flushBuffered(); err != nil {
			return nil, err
		}
		return t.s.writer.documents(page, prefix, after)
	})
}

// Find implements [eventlog.Tx].
func (t *tx) Find(keys ...string) (map[string]eventlog.Record, error) {
	if err := t.flushBuffered(); err != nil {
		return nil, err
	}
	found := map[string]eventlog.Record{}
	for _, key := range keys { // a statement takes microseconds
		err := t.s.writer.query(findSQL, []any{key}, func(row []driver.Value) bool {
			found[key] = record(row)
			return false
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Records implements [eventlog.Tx].
func (t *tx) Records(after int64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		_, err := t.Stamp()
		if err == nil {
			err = t.flushBuffered()
		}
		if err != nil {
			yield(eventlog.Record{}, err)
			return
		}
		pages(after, t.last, t.s.writer.page, yield)
	}
}
