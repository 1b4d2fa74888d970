package postgres

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/storetest"
)

var (
	long = flag.Bool("long", false, "run the random tests ten times as long")
	seed = flag.Uint64("seed", 1, "of everything that is random")
)

// duration returns how long a random test runs.
func duration(short time.Duration) time.Duration {
	if *long {
		return 10 * short
	}
	return short
}

// A proxy forwards connections to the database, and cuts them.
type proxy struct {
	address string // URL of the database through the proxy

	mu    sync.Mutex
	conns map[net.Conn]bool

	isDown                    atomic.Bool  // accepts no connections
	starting                  atomic.Int64 // how many connections to refuse because the database is starting
	losesRequest, losesAnswer atomic.Int64 // if n, cut the connection with the nth one, and do not forward it
}

// newProxy returns a proxy for the database of a URL.
func newProxy(t testing.TB, address string) *proxy {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	query := parsed.Query()
	socket := filepath.Join(query.Get("host"), ".s.PGSQL.5432")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	parsed.Host, parsed.RawQuery = listener.Addr().String(), "search_path="+url.PathEscape(query.Get("search_path"))
	p := &proxy{address: parsed.String(), conns: map[net.Conn]bool{}}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			db, err := net.Dial("unix", socket)
			if err != nil || p.isDown.Load() {
				client.Close()
				continue
			}
			if p.starting.Add(-1) >= 0 {
				db.Close()
				refuseAsStarting(client)
				continue
			}
			p.mu.Lock()
			p.conns[client], p.conns[db] = true, true
			p.mu.Unlock()
			go p.forward(db, client, &p.losesRequest)
			go p.forward(client, db, &p.losesAnswer)
		}
	}()
	return p
}

// forward copies from one connection to another, until one of them ends, or loses returns true.
func (p *proxy) forward(to, from net.Conn, loses *atomic.Int64) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil || loses.Load() > 0 && loses.Add(-1) == 0 {
			break
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			break
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range []net.Conn{to, from} {
		conn.Close()
		delete(p.conns, conn)
	}
}

// refuseAsStarting answers the startup message of a client as a database does that is starting.
func refuseAsStarting(client net.Conn) {
	defer client.Close()
	backend := pgproto3.NewBackend(client, client)
	if message, err := backend.ReceiveStartupMessage(); err != nil {
		return
	} else if _, asksTLS := message.(*pgproto3.SSLRequest); asksTLS {
		client.Write([]byte("N"))
		if _, err := backend.ReceiveStartupMessage(); err != nil {
			return
		}
	}
	backend.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: startingUp, Message: "the database system is starting up"})
	backend.Flush()
}

// TestOpenWaits opens a log while the database restarts.
func TestOpenWaits(t *testing.T) {
	p := newProxy(t, newSchema(t))
	p.starting.Store(8) // a client tries twice, with and without TLS
	open(t, p.address)
	if n := p.starting.Load(); n >= 0 {
		t.Errorf("the database has refused too few connections: it would refuse %d more", n+1)
	}
}

// cut closes connections at random, or all of them.
func (p *proxy) cut(random *rand.Rand) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		if random == nil || random.IntN(2) == 0 {
			conn.Close()
		}
	}
}

// If the connection is lost during a commit, the write still succeeds, once.
func TestLostCommit(t *testing.T) {
	p := newProxy(t, newSchema(t))
	s := open(t, p.address)
	last, err := more(s, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		lose := &p.losesAnswer
		if i%2 == 0 {
			lose = &p.losesRequest
		}
		time.Sleep(2 * notifyInterval) // the notification of the last commit is not lost instead
		err := s.Write(t.Context(), func(tx eventlog.Tx) error {
			lose.Store(1)
			return errors.Join(tx.Append(storetest.Record(last+1)), tx.Put("n", fmt.Append(nil, i)))
		})
		if err != nil {
			t.Error(err)
		}
		last++
		err = s.Write(t.Context(), func(tx eventlog.Tx) error { // documents only
			lose.Store(1)
			return tx.Put("n", fmt.Append(nil, -i))
		})
		if err != nil {
			t.Error(err)
		}
		if n, err := s.Get(t.Context(), "n"); err != nil || string(n) != fmt.Sprint(-i) {
			t.Errorf("the document is %s, want %d: %v", n, -i, err)
		}
	}
	if err := storetest.Check(s, last); err != nil {
		t.Error(err)
	}
}

// A Write that has asked for the last event fails if another store writes after it has lost its
// connection.
func TestConflictAfterLast(t *testing.T) {
	address := newSchema(t)
	p := newProxy(t, address)
	s, other := open(t, p.address), open(t, address)
	if _, err := more(s, 1); err != nil {
		t.Fatal(err)
	}
	err := s.Write(t.Context(), func(tx eventlog.Tx) error {
		if last, err := tx.Last(); last != 1 || err != nil {
			t.Errorf("Last() = %d, %v, want 1", last, err)
		}
		p.cut(nil)
		if _, err := more(other, 1); err != nil {
			t.Error(err)
		}
		_, err := tx.Get("n")
		return errors.Join(err, tx.Put("n", []byte("1")))
	})
	if !errors.Is(err, eventlog.ErrConflict) {
		t.Errorf("Write returned %v, want eventlog.ErrConflict", err)
	}
}

// A write that does not fit into memory is committed completely or not at all.
func TestBigWrite(t *testing.T) {
	p := newProxy(t, newSchema(t))
	s := open(t, p.address)
	if _, err := more(s, 1); err != nil {
		t.Fatal(err)
	}
	const events = 15
	data := []byte(`"` + strings.Repeat("x", maxBytes/10) + `"`)
	write := func(end func(eventlog.Tx) error) error {
		time.Sleep(2 * notifyInterval) // the notification of the last commit is not lost instead
		return s.Write(t.Context(), func(tx eventlog.Tx) error {
			for seq := int64(2); seq <= events; seq++ {
				r := storetest.Record(seq)
				r.Data = data
				if err := errors.Join(tx.Append(r), tx.Put(fmt.Sprint("a/", seq), data[:100_000])); err != nil {
					return err
				}
			}
			last := int64(0)
			for r, err := range tx.Records(0) {
				if last++; err != nil || r.Seq != last {
					t.Errorf("got event %d, want %d: %v", r.Seq, last, err)
				}
			}
			if names, err := tx.Names("a/"); last != events || len(names) != events-1 || err != nil {
				t.Errorf("%d events and %d names, %v; want %d and %d", last, len(names), err, events, events-1)
			}
			return end(tx)
		})
	}
	lose := func(lost *atomic.Int64) func(eventlog.Tx) error {
		return func(eventlog.Tx) error { lost.Store(2); return nil } // the first is for the preparation
	}
	for name, end := range map[string]func(eventlog.Tx) error{
		"error":        func(eventlog.Tx) error { return errors.New("refused") },
		"cut":          func(tx eventlog.Tx) error { p.cut(nil); _, err := tx.Get("a"); return err },
		"lost request": lose(&p.losesRequest),
	} {
		if err := write(end); err == nil || errors.Is(err, eventlog.ErrOutcomeUnknown) {
			t.Errorf("%s: got error %v, want an error", name, err)
		}
		waitFor(t, "notifications", s.listening.Load)
		if err := storetest.Check(s, 1); err != nil {
			t.Errorf("%s: %v, want no error", name, err)
		}
	}
	if err := write(lose(&p.losesAnswer)); err != nil {
		t.Errorf("lost answer: %v, want no error", err)
	}
	if last, err := more(s, 1); last != events+1 || err != nil {
		t.Errorf("got event %d, %v, want %v", last, err, events+1)
	}
}

// An outcomes records the events of writers by id.
type outcomes struct {
	mu       sync.Mutex
	answered map[string]int64 // sequence numbers
	failed   map[string]bool  // with a certain outcome
	unknown  map[string]bool
}

func newOutcomes() *outcomes {
	return &outcomes{answered: map[string]int64{}, failed: map[string]bool{}, unknown: map[string]bool{}}
}

func (o *outcomes) add(id string, seq int64, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err == nil:
		o.answered[id] = seq
	case errors.Is(err, eventlog.ErrOutcomeUnknown):
		o.unknown[id] = true
	default:
		o.failed[id] = true
	}
}

// check fails the test unless the log has each answered event once, and no failed one.
func (o *outcomes) check(t testing.TB, s *Store) {
	t.Helper()
	seqs, last := map[string]int64{}, int64(0)
	for r, err := range s.Records(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if last++; r.Seq != last {
			t.Fatalf("event %d follows event %d, want %v", r.Seq, last-1, last)
		}
		if seqs[r.ID] != 0 {
			t.Errorf("%s is in the log twice: %d and %d, want 0", r.ID, seqs[r.ID], r.Seq)
		}
		if seqs[r.ID] = r.Seq; o.failed[r.ID] {
			t.Errorf("%s failed, but is in the log", r.ID)
		}
	}
	for id, seq := range o.answered {
		if seqs[id] != seq {
			t.Errorf("the log has %s at %d, want %d as answered", id, seqs[id], seq)
		}
	}
	t.Logf("%d events; %d answered, %d failed, %d unknown", last, len(o.answered), len(o.failed), len(o.unknown))
	if len(o.answered) == 0 {
		t.Error("no write was answered, want at least one")
	}
}

// appendEvent appends an event. It retries after a conflict, like an app.
func appendEvent(s *Store, id string, seq *int64) (err error) {
	for err = eventlog.ErrConflict; errors.Is(err, eventlog.ErrConflict); {
		err = s.Write(context.Background(), func(tx eventlog.Tx) error {
			if _, err := tx.Find(id); err != nil {
				return err
			}
			*seq = s.head.last + 1
			r := storetest.Record(*seq)
			r.ID, r.Key = id, id
			if err := tx.Append(r); err != nil {
				return err
			}
			_, err := tx.Find(id)
			return err
		})
	}
	return err
}

// write appends events until ctx ends.
func (o *outcomes) write(ctx context.Context, t testing.TB, s *Store, writer string) {
	for n := 0; ctx.Err() == nil; n++ {
		id, seq := fmt.Sprintf("%s-%d", writer, n), int64(0)
		err := appendEvent(s, id, &seq)
		if o.add(id, seq, err); err != nil {
			t.Logf("%s: %.300v", id, err)
		}
	}
}

// Connections of two stores are cut at random. No answered write is lost or doubled, no failed one
// is in the log, and the stores recover.
func TestCut(t *testing.T) {
	address := newSchema(t)
	p := newProxy(t, address)
	random := rand.New(rand.NewPCG(*seed, 0))
	ctx, cancel := context.WithTimeout(t.Context(), duration(3*time.Second))
	defer cancel()
	all := newOutcomes()
	var group sync.WaitGroup
	for i, s := range []*Store{open(t, p.address), open(t, p.address)} {
		for j := range 2 {
			group.Go(func() { all.write(ctx, t, s, fmt.Sprint(i, "-", j)) })
		}
	}
	for ctx.Err() == nil {
		time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond)
		switch random.IntN(4) {
		case 0:
			p.cut(random)
		case 1:
			p.losesAnswer.Store(1)
		case 2:
			p.losesRequest.Store(1)
		default: // of only one of the stores, as in a failover
			admin(t, address, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend' AND random() < 0.3")
		}
	}
	group.Wait()
	all.check(t, open(t, address))
	if len(all.unknown) > 0 {
		t.Errorf("%d outcomes are not known, although the database was available, want none", len(all.unknown))
	}
}

// restart restarts the database.
func restart(t testing.TB, mode string) {
	t.Helper()
	program := os.Getenv("PETROCK_POSTGRES_RESTART")
	if program == "" {
		t.Skip("needs PETROCK_POSTGRES_RESTART; run .ci/postgres go test ./core/app/postgres")
	}
	if out, err := exec.Command(program, mode).CombinedOutput(); err != nil {
		t.Fatalf("restart the database: %v\n%s, want no error", err, out)
	}
}

// The database is restarted, and crashes, while stores write. No answered write is lost or doubled,
// and the stores recover.
func TestRestart(t *testing.T) {
	address := newSchema(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	all := newOutcomes()
	var group sync.WaitGroup
	stores := []*Store{open(t, address), open(t, address)}
	for i, s := range stores {
		for j := range 2 {
			group.Go(func() { all.write(ctx, t, s, fmt.Sprint(i, "-", j)) })
		}
	}
	for _, mode := range []string{"fast", "immediate"} {
		time.Sleep(200 * time.Millisecond)
		restart(t, mode)
	}
	time.Sleep(300 * time.Millisecond)
	cancel()
	group.Wait()
	for _, s := range stores {
		waitFor(t, "notifications after the restart", s.listening.Load)
		all.check(t, s)
	}
	if len(all.failed)+len(all.unknown) > 0 {
		t.Errorf("%d writes failed although the database came back, want none", len(all.failed)+len(all.unknown))
	}
}

// If the database is not available, reads and writes fail with an error that says so. Later they
// succeed.
func TestUnavailable(t *testing.T) {
	p := newProxy(t, newSchema(t))
	s := open(t, p.address)
	if _, err := more(s, 1); err != nil {
		t.Fatal(err)
	}
	s.timeout = 300 * time.Millisecond
	p.isDown.Store(true)
	p.cut(nil)
	waitFor(t, "the store notices the outage", func() bool { return !s.listening.Load() })
	if _, err := more(s, 1); err == nil || !strings.Contains(err.Error(), "timeout after 300ms") || !strings.Contains(err.Error(), "failed to connect") || errors.Is(err, eventlog.ErrOutcomeUnknown) {
		t.Errorf(`write: %v, want an error with "timeout after 300ms" and "failed to connect" in it, whose outcome is known`, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), s.timeout)
	defer cancel()
	if _, err := s.Last(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("read: %v, want context.DeadlineExceeded", err)
	}
	p.isDown.Store(false)
	s.timeout = 10 * time.Second
	if last, err := more(s, 1); last != 2 || err != nil {
		t.Errorf("got %d, %v, want 2", last, err)
	}
}

const childVariable = "POSTGRES_TEST_CHILD"

// TestMain runs this program as a child: it appends events, and prints their ids and sequence
// numbers. It waits for a line before each one if its name is "step".
func TestMain(m *testing.M) {
	name := os.Getenv(childVariable)
	if name == "" {
		os.Exit(m.Run())
	}
	s, err := Open(context.Background(), os.Args[1], "unused", eventlog.OpenOrCreate)
	input := bufio.NewReader(os.Stdin)
	for n := 0; err == nil; n++ {
		if name == "step" {
			if _, err := input.ReadString('\n'); err != nil {
				break
			}
		}
		id, seq := fmt.Sprintf("%s-%d", name, n), int64(0)
		err = appendEvent(s, id, &seq)
		if err == nil {
			fmt.Println(id, seq)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s.Close()
}

// child starts this program as another process.
func child(t testing.TB, name, address string) (cmd *exec.Cmd, in io.WriteCloser, out *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(self, address)
	cmd.Env = append(os.Environ(), childVariable+"="+name)
	cmd.Stderr = t.Output()
	if in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	read, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	return cmd, in, bufio.NewScanner(read)
}

// Writing processes are killed at random. Others continue at once, and all that they have printed
// is in the log.
func TestKill(t *testing.T) {
	address := newSchema(t)
	open(t, address)
	random := rand.New(rand.NewPCG(*seed, 0))
	all := newOutcomes()
	ctx, cancel := context.WithTimeout(t.Context(), duration(3*time.Second))
	defer cancel()
	var group sync.WaitGroup
	for i := range 2 {
		lives := make([]time.Duration, 200)
		for j := range lives {
			lives[j] = time.Duration(random.IntN(500)) * time.Millisecond
		}
		group.Go(func() {
			for j := 0; ctx.Err() == nil; j++ {
				cmd, _, out := child(t, fmt.Sprint(i, "-", j), address)
				timer := time.AfterFunc(lives[j], func() { cmd.Process.Kill() })
				for out.Scan() {
					var id string
					var seq int64
					if _, err := fmt.Sscan(out.Text(), &id, &seq); err == nil {
						all.add(id, seq, nil)
					}
				}
				timer.Stop()
				cmd.Wait()
			}
		})
	}
	group.Wait()
	all.check(t, open(t, address))
}
