package postgres

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/storetest"
)

// server returns the URL of a database. Tests that need one are skipped without it.
func server(t testing.TB) string {
	t.Helper()
	server := os.Getenv("PETROCK_POSTGRES")
	if server == "" {
		t.Skip("needs a database; run .ci/postgres go test ./core/app/postgres")
	}
	return server
}

// newSchema returns the URL of a schema that does not exist. It is removed after the test.
func newSchema(t testing.TB) string {
	t.Helper()
	base := server(t)
	name := fmt.Sprintf(`%s "%%d" {schema} %d`, t.Name()[:min(len(t.Name()), 20)], time.Now().UnixNano())
	name = name[:min(len(name), 63)]
	t.Cleanup(func() { admin(t, base, "DROP SCHEMA IF EXISTS "+pgx.Identifier{name}.Sanitize()+" CASCADE") })
	return base + "&search_path=" + url.PathEscape(pgx.Identifier{name}.Sanitize())
}

// schemaOf returns the quoted schema of a URL.
func schemaOf(t testing.TB, address string) string {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Query().Get("search_path")
}

// admin executes a statement on its own connection.
func admin(t testing.TB, address, sql string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), address)
	if err == nil {
		_, err = conn.Exec(context.Background(), sql, args...)
		conn.Close(context.Background())
	}
	if err != nil {
		t.Fatal(sql, err)
	}
}

// open opens a store, and waits until it receives notifications.
func open(t testing.TB, address string) *Store {
	t.Helper()
	s, err := Open(t.Context(), address, "unused", eventlog.OpenOrCreate)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	waitFor(t, "notifications", s.listening.Load)
	return s
}

// waitFor waits until a condition is true.
func waitFor(t testing.TB, what string, isTrue func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !isTrue(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timeout after 20s: %s", what)
		}
	}
}

// more appends n records after the last one.
func more(s *Store, n int) (last int64, err error) {
	err = s.Write(context.Background(), func(tx eventlog.Tx) error {
		last = s.head.last
		for range n {
			last++
			if err := tx.Append(storetest.Record(last)); err != nil {
				return err
			}
		}
		return nil
	})
	return last, err
}

func TestStore(t *testing.T) {
	for _, notifies := range []bool{true, false} {
		t.Run(fmt.Sprintf("notifications=%t", notifies), func(t *testing.T) {
			server(t)
			storetest.Run(t, func(t *testing.T) (eventlog.Store, eventlog.Store) {
				address := newSchema(t)
				first, second := open(t, address), open(t, address)
				for _, s := range []*Store{first, second} {
					if !notifies {
						s.stop()
						s.background.Wait()
					}
				}
				return first, second
			})
		})
	}
}

// Several processes can create a log at once.
func TestCreate(t *testing.T) {
	address := newSchema(t)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			s, err := Open(t.Context(), address, "unused", eventlog.OpenOrCreate)
			if err != nil {
				t.Error(err)
				return
			}
			_, err = storetest.Append(s, 1)
			if err := errors.Join(err, s.Close(), s.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if err := storetest.Check(open(t, address), 8); err != nil {
		t.Error(err)
	}
}

// A log that does not exist, is newer than this build, or is not a log is refused with a remedy.
func TestRefused(t *testing.T) {
	address := newSchema(t)
	refuse := func(address string, mode eventlog.OpenMode, says string) error {
		t.Helper()
		s, err := Open(t.Context(), address, "unused", mode)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("got error %v, want %q in it", err, says)
		}
		return err
	}
	if err := refuse(address, eventlog.OpenExisting, "no log in schema"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not fs.ErrNotExist, want fs.ErrNotExist", err)
	}
	open(t, address).Close()
	admin(t, address, "UPDATE "+schemaOf(t, address)+".head SET version = 99")
	refuse(address, eventlog.OpenExisting, fmt.Sprintf("version 99, but this build knows versions up to %d; use the newer build", schemaVersion))

	other := newSchema(t)
	admin(t, other, "CREATE SCHEMA "+schemaOf(t, other)+"; CREATE TABLE "+schemaOf(t, other)+".log (a int)")
	refuse(other, eventlog.OpenOrCreate, "belongs to another application; use another schema")
	admin(t, other, "CREATE TABLE "+schemaOf(t, other)+".head (a int)")
	refuse(other, eventlog.OpenOrCreate, "belong to another application; use another schema")

	refuse("postgres://me:secret@127.0.0.1:1/x", eventlog.OpenOrCreate, "refused")
	refuse("postgres://me:secret@127.0.0.1:port/x", eventlog.OpenOrCreate, "invalid port")
}

// A user without the privilege to create a schema gets a remedy, and can use a schema that exists.
func TestPrivileges(t *testing.T) {
	address := newSchema(t)
	schema, user := schemaOf(t, address), fmt.Sprintf("user%d", time.Now().UnixNano())
	admin(t, address, "CREATE ROLE "+user+" LOGIN")
	t.Cleanup(func() { admin(t, server(t), "DROP OWNED BY "+user+" CASCADE; DROP ROLE "+user) })
	limited := strings.Replace(address, "petrock@", user+"@", 1)
	if _, err := Open(t.Context(), limited, "unused", eventlog.OpenOrCreate); err == nil || !strings.Contains(err.Error(), "CREATE SCHEMA "+schema+" AUTHORIZATION") {
		t.Errorf("got error %v, want %q in it", err, "CREATE SCHEMA "+schema+" AUTHORIZATION")
	}
	admin(t, address, "CREATE SCHEMA "+schema+" AUTHORIZATION "+user)
	if _, err := more(open(t, limited), 1); err != nil {
		t.Error(err)
	}
}

// A tracer counts the round trips of writes.
type tracer struct{ trips atomic.Int64 }

func (c *tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, query pgx.TraceQueryStartData) context.Context {
	if query.SQL != notifySQL && !strings.Contains(query.SQL, "WHERE seq = $1") { // of other connections
		c.trips.Add(1)
	}
	return ctx
}
func (c *tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (c *tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	c.trips.Add(1)
	return ctx
}
func (c *tracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (c *tracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// A write is one round trip if no other store writes. After another store has asked for the lock,
// it is two for a while.
func TestRoundTrips(t *testing.T) {
	address := newSchema(t)
	s, other := open(t, address), open(t, address)
	count := &tracer{}
	s.config.Tracer = count // of the writer, which is not connected yet
	trips := func() int64 {
		t.Helper()
		before := count.trips.Load()
		if _, err := more(s, 1); err != nil {
			t.Fatal(err)
		}
		return count.trips.Load() - before
	}
	trips()
	for range 3 {
		if n := trips(); n != 1 {
			t.Errorf("%d round trips, want 1", n)
		}
	}
	if _, err := more(other, 1); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the request for the lock arrives", s.isContended)
	trips()
	if n := trips(); n != 2 {
		t.Errorf("%d round trips after another store has written, want 2", n)
	}
}

// A store learns of the commits of another one soon, and not of its own.
func TestChanged(t *testing.T) {
	address := newSchema(t)
	s, other := open(t, address), open(t, address)
	for _, store := range []*Store{s, other} { // of the start
		select {
		case <-store.Changed():
		case <-time.After(time.Second):
		}
	}
	for range 3 {
		if _, err := more(other, 1); err != nil {
			t.Fatal(err)
		}
		select {
		case <-s.Changed():
		case <-time.After(5 * time.Second):
			t.Error("no notification of a commit")
		}
	}
	select {
	case <-other.Changed():
		t.Error("notification of the store's own commit")
	case <-time.After(100 * time.Millisecond):
	}
}

// A session has ended when it has lost all its connections, and not before.
func TestEnded(t *testing.T) {
	address := newSchema(t)
	s, other := open(t, address), open(t, address)
	ended := func() string {
		t.Helper()
		list, err := s.Ended(t.Context(), []string{"none", other.Session()})
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(strings.Join(list, " "), other.Session(), "other")
	}
	if _, err := more(other, 1); err != nil {
		t.Fatal(err)
	}
	if got := ended(); got != "none" {
		t.Errorf("ended: %s, want \"none\"", got)
	}
	admin(t, address, "SELECT pg_terminate_backend($1)", other.writer.PgConn().PID())
	if got := ended(); got != "none" {
		t.Errorf("without its writer, ended: %s, want \"none\"", got)
	}
	other.Close()
	waitFor(t, "the session ends", func() bool { return ended() == "none other" })

	cmd, in, out := child(t, "step", address)
	fmt.Fprintln(in)
	if !out.Scan() {
		t.Fatalf("the child has ended: %v", out.Err())
	}
	var session string
	row := func() bool {
		return s.tryRead(t.Context(), t.Context(), func(ctx context.Context, conn *pgx.Conn) error {
			return conn.QueryRow(ctx, s.sql.version).Scan(new(int), &session)
		}) == nil
	}
	if !row() || session == s.Session() {
		t.Fatalf("the last writer is %s, want the session of another store", session)
	}
	if list, err := s.Ended(t.Context(), []string{session}); len(list) > 0 || err != nil {
		t.Errorf("a running process: ended %v, %v, want none", list, err)
	}
	begin := time.Now()
	cmd.Process.Kill()
	waitFor(t, "the session of the killed process ends", func() bool {
		list, err := s.Ended(t.Context(), []string{session})
		return err == nil && len(list) == 1
	})
	t.Logf("a killed process is noticed after %v", time.Since(begin))
}

// If a failover loses commits, the stores that have seen them refuse to continue.
func TestLostCommits(t *testing.T) {
	for _, again := range []bool{false, true} { // whether another process has appended since
		address := newSchema(t)
		s := open(t, address)
		if _, err := more(s, 5); err != nil {
			t.Fatal(err)
		}
		schema := schemaOf(t, address)
		admin(t, address, "DELETE FROM "+schema+".log WHERE seq > 3")
		if again {
			admin(t, address, "INSERT INTO "+schema+".log SELECT n, 'other', now(), 'a', 1, '' FROM generate_series(4, 9) n")
			admin(t, address, "UPDATE "+schema+".head SET last = 9, commits = commits + 9")
		} else {
			admin(t, address, "UPDATE "+schema+".head SET last = 3, commits = commits - 1")
		}
		admin(t, address, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND application_name = $1", s.config.RuntimeParams["application_name"])
		_, err := more(s, 1)
		_, readErr := s.Last(t.Context())
		for _, err := range []error{err, readErr} {
			if err == nil || !strings.Contains(err.Error(), "has seen event 5 (id5)") || !strings.Contains(err.Error(), "restart this process") {
				t.Errorf(`got error %v, want "has seen event 5 (id5)" and "restart this process" in it`, err)
			}
		}
	}
}

// A numbers is a state whose command refuses to add a number twice.
type numbers struct {
	Known map[int]bool `json:"known"`
}

// Number adds a number, or removes the number -N.
type Number struct {
	N int `json:"n"`
}

func (c Number) Check(_ context.Context, s *numbers) error {
	if s.Known[c.N] {
		return fmt.Errorf("%d is known", c.N)
	}
	return nil
}

func (c Number) Apply(s *numbers, _ app.Event) int {
	if s.Known[c.N] = true; c.N < 0 {
		delete(s.Known, c.N)
		delete(s.Known, -c.N)
	}
	return len(s.Known)
}

// openApp opens an app on a store.
func openApp(t testing.TB, s eventlog.Store, o app.Options) *app.App {
	t.Helper()
	o.Logger = cmp.Or(o.Logger, slog.New(slog.NewTextHandler(t.Output(), nil)))
	a, err := app.Open(t.Context(), s, o, numbersFeature())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func numbersFeature() app.Feature {
	return app.Feature{
		Name:     "numbers",
		State:    app.StateOf(func() *numbers { return &numbers{Known: map[int]bool{}} }),
		Commands: []app.CommandType{app.CommandTypeOf[Number]("number", 1)},
	}
}

// A store that loses its lock with its connection, without using the connection, knows neither the
// events that other stores write then nor their number. Its app still executes commands, and
// refuses none because of an old state.
func TestLostLock(t *testing.T) {
	for name, isAhead := range map[string]bool{"the app has seen the events": true, "the app has not": false} {
		t.Run(name, func(t *testing.T) {
			address := newSchema(t)
			s, other := open(t, address), open(t, address)
			a, b := openApp(t, s, app.Options{}), openApp(t, other, app.Options{})
			execute := func(a *app.App, n int) {
				t.Helper()
				if _, err := app.DoRaw(t.Context(), a, Number{n}); err != nil {
					t.Error(n, err)
				}
			}
			waitFor(t, "the store keeps the lock", func() bool { execute(a, int(time.Now().UnixNano())); return s.holds })
			admin(t, address, "SELECT pg_terminate_backend($1)", s.writer.PgConn().PID())
			for n := range 3 {
				execute(b, n)
			}
			if isAhead {
				if _, err := a.Status(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := app.DoRaw(t.Context(), a, Number{2}); err == nil || !errors.Is(err, app.ErrRefused) {
				t.Errorf("a command that must be refused: %v, want app.ErrRefused", err)
			}
			execute(a, 3)

			waitFor(t, "the store keeps the lock again", func() bool { execute(a, int(time.Now().UnixNano())); return s.holds })
			admin(t, address, "SELECT pg_terminate_backend($1)", s.writer.PgConn().PID())
			execute(b, -3)
			execute(a, 3)
		})
	}
}

// If an operator drops a log and restores a backup, the processes that have used the log say that
// they must be restarted, whatever the backup has. They do not apply its events to their states.
func TestRestoredLog(t *testing.T) {
	for _, events := range []int{1, 9} { // the log had three
		address := newSchema(t)
		a, b := openApp(t, open(t, address), app.Options{}), openApp(t, open(t, address), app.Options{})
		for n := range 3 {
			if _, err := app.DoRaw(t.Context(), []*app.App{a, b}[n%2], Number{n}); err != nil {
				t.Fatal(err)
			}
		}
		backup := eventlog.NewMemory()
		for n := range events {
			if _, err := app.DoRaw(t.Context(), openApp(t, backup, app.Options{}), Number{100 + n}); err != nil {
				t.Fatal(err)
			}
		}
		admin(t, address, "DROP SCHEMA "+schemaOf(t, address)+" CASCADE")
		if _, err := a.Status(t.Context()); err == nil {
			t.Error("a query succeeds without a log")
		}
		restored := open(t, address)
		err := backup.View(t.Context(), func(v eventlog.View) error {
			_, err := app.NewAdmin(restored, app.Options{}, numbersFeature()).Copy(t.Context(), v)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for name, a := range map[string]*app.App{"a": a, "b": b} {
			_, err := app.DoRaw(t.Context(), a, Number{5})
			_, readErr := a.Status(t.Context())
			for _, err := range []error{err, readErr} {
				if err == nil || !strings.Contains(err.Error(), "restart this process") {
					t.Errorf("%d events, %s: got error %v, want \"restart this process\" in it", events, name, err)
				}
			}
		}
		if _, err := app.DoRaw(t.Context(), openApp(t, restored, app.Options{}), Number{5}); err != nil {
			t.Error(err)
		}
	}
}

// After Scrub, content that was replaced or deleted is in no file of the tables.
func TestScrub(t *testing.T) {
	address := newSchema(t)
	s := open(t, address)
	const secret = "72b1e0c3-secret-5f94d8a6"
	r := storetest.Record(1)
	r.Data, r.Key, r.Result = []byte(`"`+secret+`"`), secret, []byte(`"`+secret+`"`)
	var big []byte // does not compress
	for n := range uint64(3000) {
		big = fmt.Appendf(big, "%s %x", secret, sha256.Sum256(binary.BigEndian.AppendUint64(nil, n)))
	}
	err := s.Write(t.Context(), func(tx eventlog.Tx) error {
		return errors.Join(tx.Append(r), tx.Put("a", []byte(secret)), tx.Put("big", big))
	})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	filesWith := func() (n int) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), "CHECKPOINT"); err != nil {
			t.Fatal(err)
		}
		var dir string
		if err := conn.QueryRow(t.Context(), "SELECT current_setting('data_directory') || '/base/' || oid FROM pg_database WHERE datname = current_database()").Scan(&dir); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			if bytes.Contains(text, []byte(secret)) {
				n++
			}
		}
		return n
	}
	if n := filesWith(); n < 3 {
		t.Fatalf("%d files have the content, want at least 3", n)
	}
	err = s.Write(t.Context(), func(tx eventlog.Tx) error {
		return errors.Join(tx.Replace(storetest.Record(1)), tx.Put("a", nil), tx.Put("big", nil))
	})
	if err != nil {
		t.Fatal(err)
	}
	s.timeout = 100 * time.Millisecond
	err = s.View(t.Context(), func(v eventlog.View) error {
		if _, err := more(s, 1); err != nil {
			return err
		}
		return s.Scrub(t.Context())
	})
	if err == nil || !strings.Contains(err.Error(), "another transaction of the database reads them; retry") {
		t.Errorf("during a View, want %q in it: %v", "another transaction of the database reads them; retry", err)
	}
	s.timeout = 10 * time.Second
	s.asked.Store(time.Now().Add(time.Minute).UnixNano()) // so that writes are transactions
	s.yieldLock()
	scrubbed := make(chan error)
	go func() { scrubbed <- s.Scrub(t.Context()) }()
	for isOver := false; !isOver; { // other transactions begin and end meanwhile
		select {
		case err := <-scrubbed:
			if isOver = true; err != nil {
				t.Fatal(err)
			}
		default:
			if _, err := conn.Exec(t.Context(), "SELECT txid_current()"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := filesWith(); n > 0 {
		t.Errorf("%d files have the content, want none", n)
	}
	if err := storetest.Check(s, 2); err != nil {
		t.Error(err)
	}
}

func TestFirstSchema(t *testing.T) {
	for path, want := range map[string]string{
		"": "", "hello": "hello", " Hello , public": "hello", `"My, ""log""", public`: `My, "log"`, `"$user", public`: "$user",
	} {
		if got := firstSchema(path); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

// A log of an older build can be read without changing it. The first write changes its tables, and
// then the older build refuses it.
func TestMigrate(t *testing.T) {
	address := newSchema(t)
	schema := schemaOf(t, address)
	s := open(t, address)
	if _, err := storetest.Append(s, 3); err != nil {
		t.Fatal(err)
	}
	s.Close()
	admin(t, address, "ALTER TABLE "+schema+".log DROP COLUMN cause")
	admin(t, address, "UPDATE "+schema+".head SET version = 1")
	admin(t, address, "INSERT INTO "+schema+`.documents VALUES ('amendments', '{"2":{"seq":2,"skip":true,"reason":"x","time":"2026-01-01T00:00:00Z"}}')`)
	old, err := Open(t.Context(), address, "unused", eventlog.OpenExisting)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { old.Close() })
	err = old.View(t.Context(), func(v eventlog.View) error {
		types, err := app.StoredTypes(v.(eventlog.TypeView))
		if fmt.Sprint(types) != "[{things/make 1 2 1 3}]" {
			t.Errorf("the types are %v, want \"[{things/make 1 2 1 3}]\"", types)
		}
		return err
	})
	if names, namesErr := old.Names(t.Context(), ""); err != nil || namesErr != nil || strings.Join(names, " ") != "amendments" {
		t.Errorf("after a read, the documents are %q: %v, %v; want amendments", names, err, namesErr)
	}
	err = old.Write(t.Context(), func(tx eventlog.Tx) error {
		if found, err := tx.Find("key"); err != nil || len(found) > 0 {
			return fmt.Errorf("found %v, want nothing: %w", found, err)
		}
		return tx.Append(storetest.Record(4))
	})
	if err != nil {
		t.Fatal(err)
	}
	fresh := open(t, address)
	if _, err := more(fresh, 1); err != nil {
		t.Fatal(err)
	}
	for r, err := range fresh.Records(t.Context(), 3) {
		if want := storetest.Record(r.Seq); err != nil || string(r.Cause) != string(want.Cause) {
			t.Errorf("event %d has the cause %s, want %v: %v", r.Seq, r.Cause, string(want.Cause), err)
		}
	}
	if am, err := app.NewAdmin(fresh, app.Options{}).FindAmendment(t.Context(), 2); err != nil || am == nil || !am.Skip {
		t.Errorf("the amendment is %+v, %v; want one that skips the event", am, err)
	}
	if fresh.isOld || old.isOld {
		t.Errorf("the new store has the old layout: %t, the old one: %t; want false and false", fresh.isOld, old.isOld)
	}
	admin(t, address, "UPDATE "+schema+".head SET version = 3")
	if _, err := Open(t.Context(), address, "unused", eventlog.OpenOrCreate); err == nil || !strings.Contains(err.Error(), "version 3, but this build knows versions up to 2; use the newer build") {
		t.Errorf("got error %v, want %q in it", err, "version 3, but this build knows versions up to 2; use the newer build")
	}
}
