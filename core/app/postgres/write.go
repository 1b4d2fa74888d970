package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/petrock/petrock/core/app/eventlog"
)

// A head is the row of the table head.
type head struct {
	commits int64
	last    int64 // last sequence number
	stamp   int64
	isOwn   bool // the last commit is by this store
}

// Write implements [eventlog.Store].
func (s *Store) Write(ctx context.Context, f func(eventlog.Tx) error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, errTimeout)
	defer cancel()
	select {
	case s.writing <- struct{}{}:
	case <-ctx.Done():
		return s.timeoutError(ctx, nil)
	}
	defer s.endTurn()
	if s.closed.Load() {
		return errClosed
	}
	kept, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	t := &tx{s: s, head: s.head, last: s.head.last, isCurrent: !kept, puts: map[string][]byte{}}
	defer s.rollBack() // unless committed
	if s.isOld {
		if err := t.migrate(); err != nil {
			return fmt.Errorf("change the tables of %s: %w", s.name, err)
		}
	}
	if err := f(t); err != nil {
		return err
	}
	if len(t.records)+len(t.puts) == 0 && !t.isSplit {
		return t.verify() // f may have refused something because of what it knows of the log
	}
	if err := t.commit(); err != nil {
		return fmt.Errorf("write to %s: %w", s.name, marked(err))
	}
	s.isOld = false
	return nil
}

// errTimeout is the cause of a context that ended because a write waited too long.
var errTimeout = errors.New("timeout")

// timeoutError returns the error of a wait that ended with ctx. outage is not nil if there was no
// connection.
func (s *Store) timeoutError(ctx context.Context, outage error) error {
	if context.Cause(ctx) != errTimeout {
		return ctx.Err()
	}
	holder := ""
	if outage == nil {
		look, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if holder, outage = s.holder(look); errors.Is(outage, context.DeadlineExceeded) {
			outage = errNoAnswer
		}
	}
	if outage != nil {
		return fmt.Errorf("write to %s: timeout after %v: %w: %w", s.name, s.timeout, outage, eventlog.ErrUnavailable)
	}
	return fmt.Errorf("wait to write to %s: timeout after %v, because %s holds the lock; stop it if it hangs, and retry: %w", s.name, s.timeout, holder, eventlog.ErrUnavailable)
}

// acquire makes the writer have the lock. It reconnects if needed. If the writer has kept the lock
// since the last write, acquire does not ask the database: the connection may have been lost since,
// and the lock with it. Then s.head is old, which the first answer of the database shows.
func (s *Store) acquire(ctx context.Context) (kept bool, err error) {
	if s.writer != nil && s.writer.IsClosed() {
		s.dropWriter()
	}
	if s.holds && s.listening.Load() {
		return true, nil
	}
	s.unlock()
	var outage error
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		err := s.tryAcquire(ctx)
		if err == nil {
			return false, nil
		}
		s.dropWriter()
		if ctx.Err() == nil {
			if !isOutage(err) {
				return false, fmt.Errorf("wait to write to %s: %w", s.name, marked(err))
			}
			outage = err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return false, s.timeoutError(ctx, outage)
		}
	}
}

// tryAcquire waits for the lock and reads the head, in one round trip. The writer keeps the lock
// after the write, unless other stores want it.
func (s *Store) tryAcquire(ctx context.Context) (err error) {
	if s.writer == nil {
		if s.writer, err = s.connect(ctx); err != nil {
			s.writer = nil
			return err
		}
		// Weaker settings would lose answered writes in a crash.
		if _, err := s.writer.Exec(ctx, "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"); err != nil {
			return errors.Join(err, errLostConnection)
		}
	}
	keep := s.listening.Load() && !s.isContended()
	batch := &pgx.Batch{}
	if keep {
		batch.Queue("SELECT pg_advisory_lock($1)", s.lock)
	} else {
		batch.Queue("BEGIN")
		batch.Queue("SELECT pg_advisory_xact_lock($1)", s.lock)
	}
	var now head
	var table int64
	batch.Queue(s.sql.head, s.id).QueryRow(func(row pgx.Row) error {
		return row.Scan(&now.commits, &now.last, &now.stamp, &now.isOwn, &table)
	})
	stop := s.askForLock(ctx)
	err = s.writer.SendBatch(ctx, batch).Close()
	stop()
	if err == nil {
		err = s.checkTable(ctx, s.writer, table)
	}
	if err != nil {
		if s.writer.IsClosed() {
			err = errors.Join(err, errLostConnection)
		}
		return err
	}
	s.holds, s.inTx, s.head = keep, !keep, now
	s.learn(position{commits: now.commits})
	return nil
}

// endTurn lets the next writer of this process continue.
func (s *Store) endTurn() {
	if s.holds && (s.isContended() || !s.listening.Load()) {
		go func() { // the caller need not wait
			s.unlock()
			<-s.writing
		}()
		return
	}
	<-s.writing
	if s.isContended() {
		s.yieldLock() // the request may have arrived just now
	}
}

// yieldLock releases the lock, if this store keeps it and does not write. During a write, endTurn
// does so.
func (s *Store) yieldLock() {
	select {
	case s.writing <- struct{}{}:
		s.unlock()
		<-s.writing
	default:
	}
}

// unlock releases the lock that the writer keeps between writes.
func (s *Store) unlock() {
	if !s.holds {
		return
	}
	s.holds = false
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	if _, err := s.writer.Exec(ctx, "SELECT pg_advisory_unlock($1)", s.lock); err != nil {
		s.dropWriter()
	}
}

// rollBack ends the transaction of the writer, if it has one.
func (s *Store) rollBack() {
	if !s.inTx {
		return
	}
	s.inTx = false
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	if _, err := s.writer.Exec(ctx, "ROLLBACK"); err != nil {
		s.dropWriter()
	}
}

// commit writes the changes and makes them durable. If the connection is lost meanwhile, commit
// reconnects and checks whether the changes were committed; if not, and no other store has written,
// it tries again.
func (t *tx) commit() error {
	s := t.s
	ctx, cancel := context.WithTimeoutCause(context.Background(), s.timeout, errTimeout)
	defer cancel()
	if t.err != nil {
		return t.err
	}
	if s.writer == nil {
		return errLostConnection // f has ignored the error of a read
	}
	var uncertain error // of a try whose outcome is not known
	for {
		moved, err := t.send(ctx)
		switch {
		case err == nil && moved:
			t.committed()
			return nil
		case err == nil:
			if uncertain != nil {
				return t.settle(ctx, uncertain) // that try may have moved the head
			}
			s.unlock() // so that the next write reads the head
			return eventlog.ErrConflict
		case isRefusal(err):
			switch code(err) {
			case uniqueViolation:
				return fmt.Errorf("%w: %w", err, eventlog.ErrConflict)
			case readOnly:
				s.dropWriter() // after a failover, another server is the primary
			}
			return err
		}
		uncertain = err
		if err := t.reconnect(ctx); err != nil {
			return fmt.Errorf("%w: %w; %w", uncertain, eventlog.ErrOutcomeUnknown, err)
		}
		if s.head.commits != t.head.commits {
			return t.settle(ctx, uncertain)
		}
		if t.isSplit {
			return fmt.Errorf("%w: %w", uncertain, eventlog.ErrConflict) // nothing was committed
		}
	}
}

// isRefusal reports whether the database has refused a commit. After other errors, the commit may
// have taken place.
func isRefusal(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.SeverityUnlocalized == "ERROR"
}

// send sends the changes in one round trip. It reports whether the head was as expected, and so the
// changes are committed.
func (t *tx) send(ctx context.Context) (moved bool, err error) {
	s := t.s
	sql, args := t.statement(s.sql.move)
	if !s.inTx {
		tag, err := s.writer.Exec(ctx, sql, args...)
		return err == nil && tag.RowsAffected() > 0, err
	}
	batch := &pgx.Batch{}
	batch.Queue(sql, args...).Exec(func(tag pgconn.CommandTag) error {
		moved = tag.RowsAffected() > 0
		return nil
	})
	batch.Queue("COMMIT")
	err = s.writer.SendBatch(ctx, batch).Close()
	s.inTx = err != nil
	return moved && err == nil, err
}

// statement returns the statement that makes the changes. It starts with move, which fails if the
// head is not as expected: then the statement affects no rows. Or it starts with keep.
func (t *tx) statement(start string) (sql string, args []any) {
	s, n := t.s, len(t.records)
	args = []any{t.head.commits, s.id, t.last}
	final := s.sql.nothing
	switch {
	case n == 1:
		final, args = s.sql.insert, append(args, values(t.records[0])...)
	case n > 1:
		final, args = s.sql.insertAll, append(args, lists(t.records)...)
	}
	var names, removed []string
	var contents [][]byte
	for name, value := range t.puts {
		if value == nil {
			removed = append(removed, name)
			continue
		}
		names, contents = append(names, name), append(contents, value)
	}
	sql = start
	if names != nil {
		sql += fmt.Sprintf(s.sql.put, len(args)+1, len(args)+2)
		args = append(args, names, contents)
	}
	if removed != nil {
		sql += fmt.Sprintf(s.sql.remove, len(args)+1)
		args = append(args, removed)
	}
	return sql + final, args
}

// values returns the values of the columns of a record.
func values(r eventlog.Record) []any {
	return []any{r.Seq, []byte(r.ID), r.Time, r.Type, r.Version, []byte(r.Data), orNull(r.Key), []byte(r.Result), orNull(r.Actor), []byte(r.Cause)}
}

// lists returns the values of each column of records.
func lists(records []eventlog.Record) []any {
	n := len(records)
	seqs, versions, times, types := make([]int64, n), make([]int, n), make([]time.Time, n), make([]string, n)
	var bytes [6][][]byte
	for i := range bytes {
		bytes[i] = make([][]byte, n)
	}
	ids, data, keys, results, actors, causes := bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5]
	for i, r := range records {
		seqs[i], ids[i], times[i], types[i], versions[i] = r.Seq, []byte(r.ID), r.Time, r.Type, r.Version
		data[i], keys[i], results[i], actors[i], causes[i] = r.Data, orNull(r.Key), r.Result, orNull(r.Actor), r.Cause
	}
	return []any{seqs, ids, times, types, versions, data, keys, results, actors, causes}
}

// orNull returns a text as bytes; nil, which is NULL, if it is empty.
func orNull(text string) []byte {
	if text == "" {
		return nil
	}
	return []byte(text)
}

// reconnect replaces the lost connection of the writer, and acquires the lock again. Then the old
// connection can no longer commit.
func (t *tx) reconnect(ctx context.Context) error {
	s := t.s
	pid := s.writer.PgConn().PID()
	s.dropWriter()
	// If the database has not noticed that the connection is lost, it still has the lock.
	_ = s.exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND application_name = $2", pid, s.config.RuntimeParams["application_name"])
	_, err := s.acquire(ctx)
	return err
}

// settle returns nil if the changes were committed by a try that failed with uncertain. The head
// has changed since.
func (t *tx) settle(ctx context.Context, uncertain error) error {
	s := t.s
	if t.first != "" {
		page, err := s.page(ctx, s.writer, t.head.last, t.head.last+1, 1)
		for err != nil && s.writer != nil && s.writer.IsClosed() {
			if err = t.reconnect(ctx); err == nil {
				page, err = s.page(ctx, s.writer, t.head.last, t.head.last+1, 1)
			}
		}
		switch {
		case err != nil:
			return fmt.Errorf("%w: %w; %w", uncertain, eventlog.ErrOutcomeUnknown, err)
		case len(page) == 1 && page[0].ID == t.first:
			t.committed()
			return nil
		}
		return fmt.Errorf("%w: %w", uncertain, eventlog.ErrConflict)
	}
	// Documents have no ids, so check which store made the next commit.
	if s.head.commits == t.head.commits+1 {
		if s.head.isOwn {
			t.committed()
			return nil
		}
		return fmt.Errorf("%w: %w", uncertain, eventlog.ErrConflict)
	}
	return fmt.Errorf("%w: %w", uncertain, eventlog.ErrOutcomeUnknown)
}

// committed records that the changes are in the log.
func (t *tx) committed() {
	s, p := t.s, position{commits: t.head.commits + 1}
	if n := len(t.records); n > 0 {
		p.seq, p.id = t.last, t.records[n-1].ID
	}
	s.learn(p)
	// With a lock that was acquired again, the head may be newer.
	if s.head.commits == t.head.commits {
		s.head = head{commits: t.head.commits + 1, last: t.last, stamp: t.head.stamp, isOwn: true}
	}
	signal(s.committed)
}

// Scrub implements [eventlog.Store]. It rewrites the tables. While another transaction of the
// database can see the old content, that would keep it, so Scrub waits. The write-ahead log keeps
// the content until the database recycles it.
func (s *Store) Scrub(ctx context.Context) (err error) {
	return s.Write(ctx, func(eventlog.Tx) error {
		wait, cancel := context.WithTimeout(ctx, s.timeout)
		defer cancel()
		conn, err := s.connect(wait)
		if err != nil {
			return err
		}
		defer closeConn(conn)
		var horizon string
		if err := conn.QueryRow(wait, "SELECT pg_snapshot_xmax(pg_current_snapshot())::xid::text").Scan(&horizon); err != nil {
			return err
		}
		for isSeen := true; isSeen; { // the writer has seen only the head
			err := conn.QueryRow(wait, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()
				AND pid NOT IN (pg_backend_pid(), $2) AND age(backend_xmin) > age($1::text::xid))`, horizon, s.writer.PgConn().PID()).Scan(&isSeen)
			if err != nil {
				return scrubError(err)
			}
			if isSeen {
				time.Sleep(askInterval)
			}
		}
		// Rewriting has no time limit, but waiting for other transactions has.
		if _, err := conn.Exec(wait, "SELECT set_config('lock_timeout', $1, false)", strconv.FormatInt(s.timeout.Milliseconds(), 10)); err != nil {
			return scrubError(err)
		}
		_, err = conn.Exec(ctx, s.sql.vacuum)
		return scrubError(err)
	})
}

// scrubError adds the remedy to the error of a wait that ended with a timeout.
func scrubError(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || code(err) == lockTimeout {
		return fmt.Errorf("rewrite the tables: %w: another transaction of the database reads them; retry when it has finished", err)
	}
	return err
}
