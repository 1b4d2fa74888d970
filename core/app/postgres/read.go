package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/petrock/petrock/core/app/eventlog"
)

// A page of the log ends at either limit. Pages grow from firstRows to maxRows: often only the
// first records are needed.
const (
	firstRows = 64
	maxRows   = 1024
	pageBytes = 1 << 20
)

// read calls f with a connection for reading. Without a connection it retries for a while, so f can
// be called more than once.
func (s *Store) read(ctx context.Context, f func(context.Context, *pgx.Conn) error) error {
	waiting, cancel := context.WithTimeoutCause(ctx, patience, errTimeout)
	defer cancel()
	outage := errNoAnswer
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		switch {
		case ctx.Err() != nil && context.Cause(ctx) != errTimeout:
			return ctx.Err()
		case waiting.Err() != nil:
			return fmt.Errorf("read %s: timeout after %v: %w: %w", s.name, patience, outage, eventlog.ErrUnavailable)
		case s.closed.Load():
			return errClosed
		}
		err := s.tryRead(ctx, waiting, f)
		switch {
		case err == nil:
			return nil
		case waiting.Err() == nil && !isOutage(err):
			return fmt.Errorf("read %s: %w", s.name, marked(err))
		case waiting.Err() == nil || !errors.Is(err, context.DeadlineExceeded):
			outage = err
		}
		if waiting.Err() == nil {
			s.dropIdle()
		}
		select {
		case <-time.After(wait):
		case <-waiting.Done():
		}
	}
}

// tryRead calls f once. It stops waiting for a connection when waiting ends, and f when ctx ends.
func (s *Store) tryRead(ctx, waiting context.Context, f func(context.Context, *pgx.Conn) error) (err error) {
	select {
	case s.readers <- struct{}{}:
	case <-waiting.Done():
		return waiting.Err()
	}
	defer func() { <-s.readers }()
	ctx, cancel := context.WithTimeout(ctx, roundTripTimeout)
	defer cancel()
	var conn *pgx.Conn
	select {
	case conn = <-s.idle:
	default:
		if conn, err = s.connect(waiting); err != nil {
			return err
		}
	}
	err = f(ctx, conn)
	if conn.IsClosed() {
		return errors.Join(err, errLostConnection)
	}
	s.idle <- conn // has room for all readers
	if s.closed.Load() {
		s.dropIdle() // Close may have run meanwhile
	}
	return err
}

// exec executes a statement on a connection for reading.
func (s *Store) exec(ctx context.Context, sql string, args ...any) error {
	return s.tryRead(ctx, ctx, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sql, args...)
		return err
	})
}

// Records implements [eventlog.Store]. It reads the log, which only grows, in pages, so a slow
// reader keeps no connection. From the second page on, it reads the next page while the caller uses
// one.
func (s *Store) Records(ctx context.Context, after int64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		after := max(after, 0)
		var first []eventlog.Record
		var last int64
		err := s.read(ctx, func(ctx context.Context, conn *pgx.Conn) (err error) {
			first, last, err = s.firstPage(ctx, conn, after)
			return err
		})
		type result struct {
			page []eventlog.Record
			err  error
		}
		fetch := func(after int64, rows int) (r result) {
			r.err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) (err error) {
				r.page, err = s.page(ctx, conn, after, last, rows)
				return err
			})
			return r
		}
		var ahead chan result // of the next page
		s.learnPage(first)
		s.yieldPages(first, err, after, last, func(after int64, rows int) ([]eventlog.Record, error) {
			var r result
			if ahead != nil {
				r = <-ahead
			} else {
				r = fetch(after, rows)
			}
			s.learnPage(r.page)
			if n := len(r.page); r.err == nil && n > 0 && r.page[n-1].Seq < last {
				next := make(chan result, 1) // the caller may stop
				go func(after int64) { next <- fetch(after, nextRows(n)) }(r.page[n-1].Seq)
				ahead = next
			}
			return r.page, r.err
		}, yield)
	}
}

// learnPage records that the log has the records of a page.
func (s *Store) learnPage(page []eventlog.Record) {
	if n := len(page); n > 0 {
		s.learn(position{seq: page[n-1].Seq, id: page[n-1].ID})
	}
}

// nextRows returns the limit of the page after one of n records.
func nextRows(n int) int { return min(2*n, maxRows) }

// yieldPages yields a page and those that follow it, up to the record last. next returns the
// records after a sequence number.
func (s *Store) yieldPages(page []eventlog.Record, err error, after, last int64, next func(after int64, rows int) ([]eventlog.Record, error), yield func(eventlog.Record, error) bool) {
	for {
		if err == nil && len(page) == 0 && after < last {
			err = fmt.Errorf("read %s: event %d is missing; restore a backup", s.name, after+1)
		}
		if err != nil {
			yield(eventlog.Record{}, err)
			return
		}
		for i := range page {
			if after = page[i].Seq; after > last {
				return
			}
			if !yield(page[i], nil) {
				return
			}
		}
		if after >= last {
			return
		}
		page, err = next(after, nextRows(len(page)))
	}
}

// firstPage returns the first records after a sequence number, and the number of the last record of
// the log. The page may go beyond it.
func (s *Store) firstPage(ctx context.Context, conn *pgx.Conn, after int64) (page []eventlog.Record, last int64, err error) {
	batch := &pgx.Batch{}
	var table int64
	batch.Queue(s.sql.last).QueryRow(func(row pgx.Row) error { return row.Scan(&last, &table) })
	batch.Queue(s.sql.page, after, int64(math.MaxInt64), firstRows).Query(func(rows pgx.Rows) error {
		page, err = scanPage(rows, firstRows)
		return err
	})
	if err = conn.SendBatch(ctx, batch).Close(); err == nil {
		err = s.checkTable(ctx, conn, table)
	}
	return page, last, err
}

// page returns the records after a sequence number, up to last, until the page is full.
func (s *Store) page(ctx context.Context, conn *pgx.Conn, after, last int64, rows int) ([]eventlog.Record, error) {
	found, err := conn.Query(ctx, s.sql.page, after, last, rows)
	if err != nil {
		return nil, err
	}
	return scanPage(found, rows)
}

// scanPage returns the records of rows, until the page is full.
func scanPage(rows pgx.Rows, limit int) ([]eventlog.Record, error) {
	page, bytes := make([]eventlog.Record, 0, limit), 0
	err := scanRecords(rows, func(r eventlog.Record) bool {
		page = append(page, r)
		bytes += len(r.Data) + len(r.Result)
		return bytes < pageBytes
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}

// scanRecords calls f with the records of rows, until f returns false.
func scanRecords(rows pgx.Rows, f func(eventlog.Record) bool) error {
	defer rows.Close()
	for more := true; more && rows.Next(); {
		var r eventlog.Record
		var id, key, actor []byte
		data, result, cause := (*[]byte)(&r.Data), (*[]byte)(&r.Result), (*[]byte)(&r.Cause)
		if err := rows.Scan(&r.Seq, &id, &r.Time, &r.Type, &r.Version, data, &key, result, &actor, cause); err != nil {
			return err
		}
		r.ID, r.Key, r.Actor, r.Time = string(id), string(key), string(actor), r.Time.UTC()
		more = f(r)
	}
	rows.Close()
	return rows.Err()
}

// Ping implements [eventlog.Pinger]. It tries a new connection if the connections that it has are
// lost.
func (s *Store) Ping(ctx context.Context) error {
	err := s.exec(ctx, s.sql.last)
	if isOutage(err) && ctx.Err() == nil {
		s.dropIdle()
		err = s.exec(ctx, s.sql.last)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", s.name, marked(err))
	}
	return nil
}

// value returns the integer that a statement selects, together with the table. It waits no longer
// than it would wait for a connection.
func (s *Store) value(ctx context.Context, sql string, args ...any) (value int64, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errTimeout)
	defer cancel()
	err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var table int64
		if err := conn.QueryRow(ctx, sql, args...).Scan(&value, &table); err != nil {
			return err
		}
		return s.checkTable(ctx, conn, table)
	})
	return value, err
}

// Last implements [eventlog.Store].
func (s *Store) Last(ctx context.Context) (int64, error) { return s.value(ctx, s.sql.last) }

// A stampCall is a read of the stamp that several callers wait for.
type stampCall struct {
	done  chan struct{} // closed when value and err are set
	value int64
	err   error
}

// Stamp implements [eventlog.Store]. Only the database knows whether another process has committed,
// so Stamp needs a round trip. Callers share one that begins after their call.
func (s *Store) Stamp(ctx context.Context) (int64, error) {
	s.stampMu.Lock()
	call := s.stamp
	if call == nil {
		call = &stampCall{done: make(chan struct{})}
		s.stamp = call
		go s.readStamp(call)
	}
	s.stampMu.Unlock()
	select {
	case <-call.done:
		return call.value, call.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// readStamp reads the stamp once the previous read, which has an earlier deadline, has ended.
func (s *Store) readStamp(call *stampCall) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), patience, errTimeout)
	defer cancel()
	s.stamping <- struct{}{}
	defer func() { <-s.stamping }()
	s.stampMu.Lock()
	s.stamp = nil // a later caller needs a later read
	s.stampMu.Unlock()
	call.value, call.err = s.value(ctx, s.sql.stamp, s.id)
	close(call.done)
}

// Get implements [eventlog.Store].
func (s *Store) Get(ctx context.Context, name string) (value []byte, err error) {
	err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		value, err = s.document(ctx, conn, name)
		return err
	})
	return value, err
}

// document returns a document, nil if it does not exist.
func (s *Store) document(ctx context.Context, conn *pgx.Conn, name string) (value []byte, err error) {
	err = conn.QueryRow(ctx, s.sql.get, name).Scan(&value)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return value, err
}

// Names implements [eventlog.Store].
func (s *Store) Names(ctx context.Context, prefix string) (names []string, err error) {
	err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		names, err = s.documentNames(ctx, conn, prefix)
		return err
	})
	return names, err
}

// documentNames returns the names of the documents that start with a prefix.
func (s *Store) documentNames(ctx context.Context, conn *pgx.Conn, prefix string) ([]string, error) {
	rows, err := conn.Query(ctx, s.sql.names, prefix, prefix+above)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// above sorts after all characters that names contain.
const above = "\U0010ffff"

// Documents implements [eventlog.Store].
func (s *Store) Documents(ctx context.Context, prefix, after string) iter.Seq2[eventlog.Document, error] {
	return documentPages(after, func(after string) (page []eventlog.Document, err error) {
		err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			page, err = s.documentPage(ctx, conn, prefix, after)
			return err
		})
		return page, err
	})
}

// documentPages yields the documents of several pages. next returns the documents after a name.
func documentPages(after string, next func(after string) ([]eventlog.Document, error)) iter.Seq2[eventlog.Document, error] {
	return func(yield func(eventlog.Document, error) bool) {
		for after := after; ; {
			page, err := next(after)
			if err != nil {
				yield(eventlog.Document{}, err)
				return
			}
			for _, d := range page {
				if !yield(d, nil) {
					return
				}
				after = d.Name
			}
			if len(page) == 0 {
				return
			}
		}
	}
}

// documentPage returns the documents that start with a prefix after a name, until the page is full.
func (s *Store) documentPage(ctx context.Context, conn *pgx.Conn, prefix, after string) (page []eventlog.Document, err error) {
	var except any // NULL
	if after != "" {
		except = after
	}
	rows, err := conn.Query(ctx, s.sql.documents, max(prefix, after), prefix+above, except, maxRows)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for bytes := 0; bytes < pageBytes && rows.Next(); {
		var d eventlog.Document
		if err := rows.Scan(&d.Name, &d.Value); err != nil {
			return nil, err
		}
		page = append(page, d)
		bytes += len(d.Value)
	}
	rows.Close()
	return page, rows.Err()
}
