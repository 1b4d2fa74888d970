// Package postgres implements [eventlog.Store] on a PostgreSQL database, which processes on several
// machines can share.
//
// A log is a schema of the database with three tables. A commit is one statement that succeeds only
// if no other process has committed since: it compares a counter in the table head. An advisory
// lock keeps processes from running into that comparison. A process keeps the lock after a write,
// so that its next write is a single round trip, until another process asks for it with NOTIFY.
package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/petrock/petrock/core/app/eventlog"
)

// schemaVersion is the version of the tables.
const schemaVersion = 2

// schemaSQL creates the tables in a schema. Ids, keys, actors and data are bytes, because text
// cannot contain zero bytes.
const schemaSQL = `
CREATE TABLE {schema}.log (
	seq     bigint      PRIMARY KEY,
	id      bytea       NOT NULL,
	at      timestamptz NOT NULL,
	type    text        NOT NULL,
	version integer     NOT NULL,
	data    bytea       NOT NULL,
	key     bytea,
	result  bytea,
	actor   bytea,
	cause   bytea
);
CREATE UNIQUE INDEX log_key ON {schema}.log (key) WHERE key IS NOT NULL;
CREATE TABLE {schema}.documents (name text COLLATE "C" PRIMARY KEY, value bytea NOT NULL);
CREATE TABLE {schema}.head (
	version integer NOT NULL, -- of the tables
	last    bigint  NOT NULL, -- last sequence number
	commits bigint  NOT NULL, -- number of commits
	writer  text    NOT NULL, -- store that made the last commit
	base    bigint  NOT NULL  -- number of commits before the last ones, which are all by that store
);
INSERT INTO {schema}.head VALUES (%d, 0, 0, '', 0);
`

var errClosed = fmt.Errorf("the store is closed: %w", fs.ErrClosed)

// A Store is a log in a PostgreSQL database. It implements [eventlog.Store], [eventlog.Notifier],
// [eventlog.Pinger] and [eventlog.Monitor].
//
// It has up to six connections: one that writes, one that listens, and four that read.
type Store struct {
	name    string // for messages
	id      string // of this store, as a writer and as a session
	config  *pgx.ConnConfig
	sql     statements
	lock    int64         // key of the advisory lock
	channel string        // for NOTIFY
	timeout time.Duration // of a write that waits for its turn, and of a commit
	stalled time.Duration // how long the holder of the lock may be idle while this store waits
	closed  atomic.Bool

	writing chan struct{} // full during a write and during Close; guards the fields below
	isOld   bool          // the tables are of an older build; the next write changes them
	writer  *pgx.Conn     // nil before the first write
	holds   bool          // the writer has the lock between writes
	inTx    bool          // the writer has the lock in a transaction
	head    head          // while the writer has the lock

	readers chan struct{}  // full while all connections for reading are in use
	idle    chan *pgx.Conn // unused connections for reading

	stamping chan struct{} // full while the stamp is read
	stampMu  sync.Mutex
	stamp    *stampCall // the next read of the stamp; nil if no caller waits for it

	changed   chan struct{} // see Changed
	committed chan struct{} // signals a commit to notify
	listening atomic.Bool   // notifications arrive
	asked     atomic.Int64  // when another store last asked for the lock, in Unix nanoseconds

	stop       context.CancelFunc // ends the goroutines
	background sync.WaitGroup

	mu    sync.Mutex
	known position // the log has at least this
	table int64    // object identifier of the table head; 0 before the first use
	lost  error    // why the store cannot be used any longer
}

var (
	_ eventlog.Store    = (*Store)(nil)
	_ eventlog.Notifier = (*Store)(nil)
	_ eventlog.Pinger   = (*Store)(nil)
	_ eventlog.Monitor  = (*Store)(nil)
)

// A position is a point in the history of a log.
type position struct {
	commits int64
	seq     int64 // 0 if no event is known
	id      string
}

const (
	maxReaders       = 4
	patience         = 10 * time.Second // how long opening and reads wait for a connection
	connectTimeout   = 5 * time.Second
	roundTripTimeout = 30 * time.Second
	keepAlive        = 15 * time.Second
)

// Open opens the log in a schema of a database: the first of search_path in its URL, or
// defaultSchema. If the log does not exist, [eventlog.OpenOrCreate] creates it and its schema. With
// OpenOrCreate, Open changes the tables of an older build; with [eventlog.OpenExisting], the first
// write does. Older builds cannot open the log then.
func Open(ctx context.Context, address, defaultSchema string, mode eventlog.OpenMode) (*Store, error) {
	s, schema, err := newStore(address, defaultSchema)
	if err != nil {
		return nil, err
	}
	conn, err := s.connectFirst(ctx)
	if err == nil {
		err = errors.Join(s.prepare(ctx, conn, schema, mode), conn.Close(ctx))
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", s.name, marked(err))
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.background.Go(func() { s.listen(running) })
	s.background.Go(func() { s.notify(running) })
	if s.isOld && mode == eventlog.OpenOrCreate {
		if err := s.Write(ctx, func(eventlog.Tx) error { return nil }); err != nil {
			return nil, errors.Join(fmt.Errorf("open %s: %w", s.name, err), s.Close())
		}
	}
	return s, nil
}

// newStore returns a store without connections, and the schema of its log.
func newStore(address, defaultSchema string) (s *Store, schema string, err error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, "", err // without the password
	}
	schema = cmp.Or(firstSchema(config.RuntimeParams["search_path"]), defaultSchema)
	delete(config.RuntimeParams, "search_path")
	s = &Store{
		name:      fmt.Sprintf("schema %s of database %s on %s", schema, config.Database, net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))),
		id:        rand.Text(),
		config:    config,
		sql:       newStatements(schema),
		timeout:   30 * time.Second,
		stalled:   10 * time.Second,
		writing:   make(chan struct{}, 1),
		readers:   make(chan struct{}, maxReaders),
		idle:      make(chan *pgx.Conn, maxReaders),
		stamping:  make(chan struct{}, 1),
		changed:   make(chan struct{}, 1),
		committed: make(chan struct{}, 1),
	}
	s.lock = lockKey("petrock/" + schema)
	s.channel = fmt.Sprintf("petrock_%016x", uint64(s.lock))
	config.DialFunc = (&net.Dialer{KeepAlive: keepAlive}).DialContext
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, connectTimeout)
	if config.ValidateConnect == nil { // a standby may lag behind
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = processName()
	}
	return s, schema, nil
}

// lockKey returns the key of the advisory lock with a name.
func lockKey(name string) int64 {
	sum := sha256.Sum256([]byte(name))
	return int64(binary.BigEndian.Uint64(sum[:]))
}

// firstSchema returns the first schema of a search_path, whose names are quoted or in lower case.
func firstSchema(path string) string {
	path = strings.TrimSpace(path)
	if quoted, ok := strings.CutPrefix(path, `"`); ok {
		const quote = "\x00" // for a doubled quote
		name, _, _ := strings.Cut(strings.ReplaceAll(quoted, `""`, quote), `"`)
		return strings.ReplaceAll(name, quote, `"`)
	}
	name, _, _ := strings.Cut(path, ",")
	return strings.ToLower(strings.TrimSpace(name))
}

// processName returns the name of this process that the database shows. It has at most 63 bytes.
func processName() string {
	program, _ := os.Executable() // optional
	host, _ := os.Hostname()
	name := fmt.Sprintf("%s, process %d on %s", filepath.Base(program), os.Getpid(), host)
	return name[:min(len(name), 63)]
}

// Codes of errors: see https://www.postgresql.org/docs/current/errcodes-appendix.html.
const (
	uniqueViolation = "23505"
	readOnly        = "25006"
	noPrivilege     = "42501"
	noSchema        = "3F000"
	noTable         = "42P01"
	noColumn        = "42703"
	tableExists     = "42P07"
	diskFull        = "53100"
	tooManyClients  = "53300"
	lockTimeout     = "55P03"
	adminShutdown   = "57P01"
	crashShutdown   = "57P02"
	startingUp      = "57P03"
)

// code returns the code of an error of the database; empty for other errors.
func code(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// isOutage reports whether an error is due to the connection or to a database that is not
// available, so that a later try can succeed.
func isOutage(err error) bool {
	switch code(err) {
	case adminShutdown, crashShutdown, startingUp, tooManyClients, readOnly:
		return true
	case "":
		_, refused := errors.AsType[*pgconn.ConnectError](err)
		_, network := errors.AsType[net.Error](err)
		return refused || network || errors.Is(err, errLostConnection)
	}
	return false
}

// marked returns an error with [eventlog.ErrFull] or [eventlog.ErrUnavailable], if one applies.
func marked(err error) error {
	switch {
	case code(err) == diskFull:
		return fmt.Errorf("%w: %w", err, eventlog.ErrFull)
	case isOutage(err), strings.HasPrefix(code(err), "53"): // insufficient resources
		return fmt.Errorf("%w: %w", err, eventlog.ErrUnavailable)
	}
	return err
}

// errLostConnection marks errors after which a connection is closed.
var errLostConnection = errors.New("connection to the database lost")

var errNoAnswer = errors.New("the database does not answer")

// prepare verifies the version of the tables, and creates them if needed.
func (s *Store) prepare(ctx context.Context, conn *pgx.Conn, schema string, mode eventlog.OpenMode) error {
	version, err := s.version(ctx, conn)
	if isMissing(err) && mode == eventlog.OpenOrCreate {
		if err := s.create(ctx, conn, schema); err != nil {
			return fmt.Errorf("create the log: %w", err)
		}
		version, err = s.version(ctx, conn)
	}
	switch {
	case isMissing(err):
		return fmt.Errorf("no log in schema %s: %w", schema, fs.ErrNotExist)
	case code(err) == noColumn:
		return fmt.Errorf("the tables of schema %s belong to another application; use another schema with ?search_path=NAME", schema)
	case err != nil:
		return err
	case version > schemaVersion:
		return fmt.Errorf("the log has version %d, but this build knows versions up to %d; use the newer build", version, schemaVersion)
	}
	s.isOld = version < schemaVersion
	if s.isOld && mode == eventlog.OpenExisting {
		s.sql.page, s.sql.find = s.sql.oldPage, s.sql.oldFind
	}
	return nil
}

func isMissing(err error) bool { return code(err) == noSchema || code(err) == noTable }

func (s *Store) version(ctx context.Context, conn *pgx.Conn) (version int, err error) {
	var writer string
	err = conn.QueryRow(ctx, s.sql.version).Scan(&version, &writer)
	return version, err
}

// create creates the schema and the tables. Only one process at a time does so.
func (s *Store) create(ctx context.Context, conn *pgx.Conn, schema string) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", s.lock); err != nil {
			return err
		}
		var hasSchema, hasTables bool
		err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1),
			EXISTS (SELECT FROM pg_tables WHERE schemaname = $1 AND tablename = 'head')`, schema).Scan(&hasSchema, &hasTables)
		if err != nil || hasTables {
			return err
		}
		quoted := pgx.Identifier{schema}.Sanitize()
		if !hasSchema { // CREATE SCHEMA IF NOT EXISTS would need the privilege even if it exists
			_, err = tx.Exec(ctx, "CREATE SCHEMA "+quoted)
		}
		if err == nil {
			_, err = tx.Exec(ctx, strings.ReplaceAll(fmt.Sprintf(schemaSQL, schemaVersion), "{schema}", quoted))
		}
		switch code(err) {
		case noPrivilege:
			return fmt.Errorf("%w; let an administrator run  CREATE SCHEMA %s AUTHORIZATION %s", err, quoted, pgx.Identifier{s.config.User}.Sanitize())
		case tableExists:
			return fmt.Errorf("%w, and belongs to another application; use another schema with ?search_path=NAME", err)
		}
		return err
	})
}

// connectFirst returns the first connection. It waits for a database that is restarting, but not
// for one that does not answer: the address may be wrong.
func (s *Store) connectFirst(ctx context.Context) (*pgx.Conn, error) {
	deadline := time.Now().Add(patience)
	for {
		conn, err := s.connect(ctx)
		switch code(err) {
		case adminShutdown, crashShutdown, startingUp:
		default:
			return conn, err
		}
		if time.Now().After(deadline) {
			return nil, err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// connect returns a new connection.
func (s *Store) connect(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, s.config)
	if err != nil {
		return nil, connectError{err}
	}
	_, err = conn.Exec(ctx, "SELECT pg_advisory_lock_shared($1)", sessionLock(s.id)) // see Ended
	if err == nil {
		err = s.checkKnown(ctx, conn)
	}
	if err != nil {
		if conn.IsClosed() {
			err = errors.Join(err, errLostConnection)
		}
		closeConn(conn)
		return nil, err
	}
	return conn, nil
}

// A connectError is an error with a line for each address. Its text is one line, without
// repetitions.
type connectError struct{ error }

func (e connectError) Error() string {
	var lines []string
	for line := range strings.Lines(e.error.Error()) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.Join(slices.Compact(lines), " ")
}

func (e connectError) Unwrap() error { return e.error }

// checkKnown returns an error if the database lacks commits that this store has seen. Otherwise the
// states of this process would not match the log.
func (s *Store) checkKnown(ctx context.Context, conn *pgx.Conn) error {
	s.mu.Lock()
	known, lost := s.known, s.lost
	s.mu.Unlock()
	if lost != nil || known.commits == 0 && known.seq == 0 {
		return lost
	}
	var commits, last int64
	var id []byte
	if err := conn.QueryRow(ctx, s.sql.known, known.seq).Scan(&commits, &last, &id); err != nil {
		return err
	}
	if commits >= known.commits && string(id) == known.id {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = fmt.Errorf("the database has lost commits: this process has seen event %d (%s), and the log now ends at event %d or has another event there; the cause is a failover to a server that lagged behind, or an older backup that was restored; restart this process to continue with the log as it is", known.seq, known.id, last)
	return s.lost
}

// checkTable is checkKnown if the table head is not the one that this store has used before: an
// operator has dropped the log, and restored it.
func (s *Store) checkTable(ctx context.Context, conn *pgx.Conn, table int64) error {
	s.mu.Lock()
	isKnown := s.table == 0 || s.table == table
	s.mu.Unlock()
	if !isKnown {
		if err := s.checkKnown(ctx, conn); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table = table
	return nil
}

// learn records that the log has a position.
func (s *Store) learn(p position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known.commits = max(s.known.commits, p.commits)
	if p.seq > s.known.seq {
		s.known.seq, s.known.id = p.seq, p.id
	}
}

// Close waits for writers and closes the connections. It can be called twice.
func (s *Store) Close() error {
	s.writing <- struct{}{}
	defer func() { <-s.writing }()
	s.closed.Store(true)
	s.stop()
	s.background.Wait()
	s.dropWriter()
	s.dropIdle()
	return nil
}

// closeConn closes a connection. The database releases its locks.
func closeConn(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn.Close(ctx) // it is closed in any case
}

func (s *Store) dropWriter() {
	if s.writer != nil {
		closeConn(s.writer)
	}
	s.writer, s.holds, s.inTx = nil, false, false
}

// dropIdle closes the unused connections for reading.
func (s *Store) dropIdle() {
	for {
		select {
		case conn := <-s.idle:
			closeConn(conn)
		default:
			return
		}
	}
}
