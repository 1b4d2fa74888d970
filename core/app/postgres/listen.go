package postgres

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Notifications. The name of the store that sends them follows.
const (
	notifyCommit = "commit " // there are new commits
	notifyAsk    = "ask "    // a store waits for the lock
	notifyTest   = "test "   // a listener tests whether notifications arrive
)

const notifySQL = "SELECT pg_notify($1, $2)"

const (
	contended      = time.Second           // after a request, a store does not keep the lock
	notifyInterval = 5 * time.Millisecond  // between notifications of commits
	askDelay       = 2 * time.Millisecond  // before a store asks for the lock
	askInterval    = 50 * time.Millisecond // and between its further requests
	testTimeout    = 2 * time.Second       // for the first notification to arrive
	pingInterval   = 10 * time.Second      // of a silent connection
)

// Changed implements [eventlog.Notifier].
func (s *Store) Changed() <-chan struct{} { return s.changed }

// listen receives notifications until ctx ends, and reconnects.
func (s *Store) listen(ctx context.Context) {
	for wait := 100 * time.Millisecond; ctx.Err() == nil; wait = min(2*wait, 5*time.Second) {
		if s.listenOnce(ctx); s.listening.Swap(false) {
			wait = 100 * time.Millisecond
		}
		s.yieldLock() // other stores can no longer ask for it
		s.dropIdle()  // they may be lost too
		signal(s.changed)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// listenOnce receives notifications until the connection is lost. If none arrives although this
// store sends one, it returns: a proxy may not support them.
func (s *Store) listenOnce(ctx context.Context) {
	conn, err := s.connect(ctx)
	if err != nil {
		return
	}
	defer closeConn(conn)
	if _, err := conn.Exec(ctx, "LISTEN "+s.channel); err != nil {
		return
	}
	if err := s.exec(ctx, notifySQL, s.channel, notifyTest+s.id); err != nil {
		return
	}
	for timeout := testTimeout; ; {
		kind, from, err := receive(ctx, conn, timeout)
		switch {
		case err != nil:
			return
		case kind == "" && !s.listening.Load():
			return // the test notification has not arrived
		case kind == notifyTest && from == s.id:
			s.listening.Store(true)
			timeout = pingInterval
			signal(s.changed) // of commits before
		case kind == notifyAsk && from != s.id:
			s.asked.Store(time.Now().UnixNano())
			s.yieldLock()
		case kind == notifyCommit && from != s.id:
			signal(s.changed)
		}
	}
}

// receive returns the next notification. If none arrives before the timeout, it pings the database
// and returns an empty kind.
func receive(ctx context.Context, conn *pgx.Conn, timeout time.Duration) (kind, from string, err error) {
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	n, err := conn.WaitForNotification(waiting)
	if err == nil {
		kind, from, _ = strings.Cut(n.Payload, " ")
		return kind + " ", from, nil
	}
	if ctx.Err() != nil || waiting.Err() == nil {
		return "", "", err
	}
	ping, cancelPing := context.WithTimeout(ctx, connectTimeout)
	defer cancelPing()
	return "", "", conn.Ping(ping)
}

// signal sends to a channel with a buffer of one, unless the buffer is full.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// notify notifies other stores of commits until ctx ends. It does so after the commits, at most
// once every notifyInterval: NOTIFY in the same transaction would make commits to all logs of the
// database server wait for each other.
func (s *Store) notify(ctx context.Context) {
	for {
		select {
		case <-s.committed:
		case <-ctx.Done():
			return
		}
		_ = s.exec(ctx, notifySQL, s.channel, notifyCommit+s.id) // other stores also poll
		select {
		case <-time.After(notifyInterval):
		case <-ctx.Done():
		}
	}
}

// isContended reports whether another store has asked for the lock recently.
func (s *Store) isContended() bool {
	return time.Now().UnixNano()-s.asked.Load() < int64(contended)
}

// askForLock asks the store that has the lock to release it, until stop is called. If its process
// does not respond, because it is suspended or cut off, askForLock ends the connection that has the
// lock.
func (s *Store) askForLock(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	start, delay, stalled := time.Now(), askDelay, s.stalled
	if s.isContended() { // no store keeps the lock
		delay = askInterval
	}
	timer := time.AfterFunc(delay, func() {
		for ctx.Err() == nil {
			once := context.WithoutCancel(ctx) // so that stop does not close the connection
			_ = s.exec(once, notifySQL, s.channel, notifyAsk+s.id)
			if time.Since(start) > stalled {
				_ = s.exec(once, terminateHolderSQL, s.lock, stalled)
			}
			select {
			case <-time.After(askInterval):
			case <-ctx.Done():
			}
		}
	})
	return func() {
		timer.Stop()
		cancel()
	}
}

// Statements about the store that has the advisory lock $1.
const (
	holderSQL = ` FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' AND granted
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND (classid::bigint << 32) | objid::bigint = $1 AND objsubid = 1`
	findHolderSQL      = "SELECT application_name, coalesce(client_addr::text, 'a local connection')" + holderSQL
	terminateHolderSQL = "SELECT pg_terminate_backend(pid)" + holderSQL + " AND state LIKE 'idle%' AND state_change < clock_timestamp() - $2::interval"
)

// holder returns a description of the process that has the lock.
func (s *Store) holder(ctx context.Context) (string, error) {
	var name, address string
	err := s.tryRead(ctx, ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, findHolderSQL, s.lock).Scan(&name, &address)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return "another process", nil
	}
	return name + " (" + address + ")", err
}

// Session implements [eventlog.Monitor].
func (s *Store) Session() string { return s.id }

// sessionLock returns the key of the advisory lock that each connection of a session shares.
func sessionLock(session string) int64 { return lockKey("petrock session " + session) }

// endedSQL selects the sessions $1 with locks $2 that no connection has. The statement holds these
// locks until it ends.
const endedSQL = "SELECT session FROM unnest($1::text[], $2::bigint[]) AS sessions (session, lock) WHERE pg_try_advisory_xact_lock(lock)"

// Ended implements [eventlog.Monitor]. A session has ended if it has no connection.
func (s *Store) Ended(ctx context.Context, sessions []string) (ended []string, err error) {
	locks := make([]int64, len(sessions))
	for i, session := range sessions {
		locks[i] = sessionLock(session)
	}
	err = s.tryRead(ctx, ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, endedSQL, sessions, locks)
		if err != nil {
			return err
		}
		ended, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return ended, err
}
