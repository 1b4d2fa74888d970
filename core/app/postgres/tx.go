package postgres

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/internal/amendments"
)

// A tx implements [eventlog.Tx] for one call of Write. It keeps changes in memory until the end,
// unless they are many, or replace records. Then it writes them before, in a transaction of the
// writer.
type tx struct {
	s       *Store
	head    head   // before the changes
	first   string // id of the first new record; empty if there is none
	last    int64  // last sequence number, new records included
	records []eventlog.Record
	puts    map[string][]byte
	bytes   int   // size of records and puts
	isSplit bool  // changes were written before the end; without their connection they are lost
	err     error // of such a write

	isCurrent bool // the database has answered since the write began, so head is not old
	isUsed    bool // f knows the head, or something that was read with it
}

// maxBytes is the size of the changes that a tx keeps in memory. It exceeds that of large commands:
// changes in memory can be sent again if the connection is lost.
const maxBytes = 16 << 20

// read calls f with the connection of the writer. If the connection is lost, read reconnects and
// calls f again. If another store has written meanwhile, it returns [eventlog.ErrConflict], unless
// the tx was not used before.
func (t *tx) read(f func(context.Context, *pgx.Conn) error) error {
	s := t.s
	ctx, cancel := context.WithTimeoutCause(context.Background(), s.timeout, errTimeout)
	defer cancel()
	if s.writer == nil {
		return marked(errLostConnection) // an earlier read could not reconnect
	}
	for {
		err := f(ctx, s.writer)
		if err == nil || !s.writer.IsClosed() {
			t.isCurrent, t.isUsed = true, true
			return err
		}
		if t.isSplit {
			t.err = fmt.Errorf("%w: %w", err, eventlog.ErrConflict) // nothing was committed
			return t.err
		}
		if err := t.reconnect(ctx); err != nil {
			return err
		}
		switch {
		case s.head.commits == t.head.commits:
		case t.isUsed:
			return fmt.Errorf("%w: %w", err, eventlog.ErrConflict)
		default:
			t.head, t.last = s.head, s.head.last
		}
	}
}

// verify returns [eventlog.ErrConflict] if the head is old.
func (t *tx) verify() error {
	if t.isCurrent {
		return nil
	}
	return t.read(func(ctx context.Context, conn *pgx.Conn) error { return conn.Ping(ctx) })
}

// split writes the changes so far in a transaction of the writer.
func (t *tx) split() error {
	if t.err != nil || len(t.records)+len(t.puts) == 0 {
		return t.err
	}
	sql, args := t.statement(t.s.sql.keep)
	t.records, t.puts, t.bytes = nil, map[string][]byte{}, 0
	return t.execSplit(sql, args...)
}

// execSplit executes a statement in a transaction of the writer. If the connection is lost, it
// returns [eventlog.ErrConflict], because nothing was committed.
func (t *tx) execSplit(sql string, args ...any) error {
	s := t.s
	t.isUsed = true
	if !t.isSplit {
		t.err = t.read(func(ctx context.Context, conn *pgx.Conn) error {
			if s.inTx {
				return nil
			}
			_, err := conn.Exec(ctx, "BEGIN")
			s.inTx = err == nil
			return err
		})
		if t.err != nil {
			return t.err
		}
	}
	t.isSplit = true
	ctx, cancel := context.WithTimeout(context.Background(), roundTripTimeout)
	defer cancel()
	_, err := s.writer.Exec(ctx, sql, args...)
	t.err = marked(err)
	if t.err != nil && (s.writer.IsClosed() || code(t.err) == uniqueViolation) {
		t.err = fmt.Errorf("%w: %w", t.err, eventlog.ErrConflict)
	}
	return t.err
}

// Append implements [eventlog.Tx].
func (t *tx) Append(records ...eventlog.Record) error {
	t.isUsed = true
	for i, r := range records {
		switch next := t.last + 1 + int64(i); {
		case r.Seq < next:
			return fmt.Errorf("append event %d: the next event is %d: %w", r.Seq, next, eventlog.ErrConflict)
		case r.Seq > next:
			if err := t.verify(); err != nil {
				return err // the caller may know events that this store does not
			}
			return fmt.Errorf("append event %d: the next event is %d; gaps are not allowed", r.Seq, next)
		}
	}
	for _, r := range records {
		t.records = append(t.records, cloned(r))
		t.first, t.last = cmp.Or(t.first, r.ID), r.Seq
		if t.bytes += len(r.Data) + len(r.Result) + recordBytes; t.bytes > maxBytes {
			if err := t.split(); err != nil {
				return err
			}
		}
	}
	return nil
}

// recordBytes is the approximate size of a record without its data.
const recordBytes = 100

// Replace implements [eventlog.Tx].
func (t *tx) Replace(records ...eventlog.Record) error {
	for _, r := range records {
		if r.Seq < 1 || r.Seq > t.last {
			return fmt.Errorf("replace event %d: it does not exist", r.Seq)
		}
	}
	if err := t.split(); err != nil {
		return err
	}
	var replaced []eventlog.Record
	for _, r := range records {
		replaced = append(replaced, cloned(r))
	}
	return t.execSplit(t.s.sql.update, lists(replaced)...)
}

// migrate changes the tables of an older build.
func (t *tx) migrate() error {
	if err := t.execSplit(t.s.sql.addCause); err != nil {
		return err
	}
	if err := amendments.Migrate(t); err != nil {
		return err
	}
	return t.execSplit(t.s.sql.setVersion, schemaVersion)
}

// cloned returns a copy of a record as the database returns it.
func cloned(r eventlog.Record) eventlog.Record {
	r.Data = append([]byte{}, r.Data...) // not nil: the column must not be NULL
	r.Result, r.Cause = bytes.Clone(r.Result), bytes.Clone(r.Cause)
	r.Time = r.Time.UTC().Truncate(time.Microsecond)
	return r
}

// Last implements [eventlog.Tx].
func (t *tx) Last() (int64, error) {
	t.isUsed = true
	return t.last, nil
}

// Stamp implements [eventlog.Tx].
func (t *tx) Stamp() (int64, error) {
	t.isUsed = true
	return t.head.stamp, nil
}

// Put implements [eventlog.Tx].
func (t *tx) Put(name string, value []byte) error {
	t.puts[name] = bytes.Clone(value)
	if t.bytes += len(name) + len(value); t.bytes > maxBytes {
		return t.split()
	}
	return nil
}

// Names implements [eventlog.Tx].
func (t *tx) Names(prefix string) (names []string, err error) {
	if err := t.split(); err != nil {
		return nil, err
	}
	err = t.read(func(ctx context.Context, conn *pgx.Conn) error {
		names, err = t.s.documentNames(ctx, conn, prefix)
		return err
	})
	return names, err
}

// Documents implements [eventlog.Tx].
func (t *tx) Documents(prefix, after string) iter.Seq2[eventlog.Document, error] {
	return documentPages(after, func(after string) (page []eventlog.Document, err error) {
		if err := t.split(); err != nil {
			return nil, err
		}
		err = t.read(func(ctx context.Context, conn *pgx.Conn) error {
			page, err = t.s.documentPage(ctx, conn, prefix, after)
			return err
		})
		return page, err
	})
}

// Get implements [eventlog.Tx].
func (t *tx) Get(name string) (value []byte, err error) {
	if value, ok := t.puts[name]; ok {
		return bytes.Clone(value), nil
	}
	err = t.read(func(ctx context.Context, conn *pgx.Conn) error {
		value, err = t.s.document(ctx, conn, name)
		return err
	})
	return value, err
}

// Find implements [eventlog.Tx].
func (t *tx) Find(keys ...string) (found map[string]eventlog.Record, err error) {
	wanted := make([][]byte, len(keys))
	for i, key := range keys {
		wanted[i] = []byte(key)
	}
	found = map[string]eventlog.Record{}
	err = t.read(func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, t.s.sql.find, wanted)
		if err != nil {
			return err
		}
		return scanRecords(rows, func(r eventlog.Record) bool { found[r.Key] = r; return true })
	})
	for _, r := range t.records {
		if r.Key != "" && slices.Contains(keys, r.Key) {
			found[r.Key] = cloned(r)
		}
	}
	return found, err
}

// Records implements [eventlog.Tx].
func (t *tx) Records(after int64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		t.isUsed = true
		after, records := max(after, 0), t.records
		written, stopped := t.last-int64(len(records)), false
		next := func(after int64, rows int) (page []eventlog.Record, err error) {
			err = t.read(func(ctx context.Context, conn *pgx.Conn) error {
				page, err = t.s.page(ctx, conn, after, written, rows)
				return err
			})
			return page, err
		}
		if after < written {
			page, err := next(after, firstRows)
			t.s.yieldPages(page, err, after, written, next, func(r eventlog.Record, err error) bool {
				stopped = !yield(r, err) || err != nil
				return !stopped
			})
		}
		for _, r := range records {
			if stopped {
				return
			}
			if r.Seq > after && !yield(cloned(r), nil) {
				return
			}
		}
	}
}
