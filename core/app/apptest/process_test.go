package apptest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/postgres"
	"github.com/petrock/petrock/core/app/sqlite"
)

// children are the roles of this program when a test starts it, by environment variable.
var children = map[string]func(context.Context, *app.App) error{
	"write": writeChild,
	"mixed": mixedChild,
	"dump":  dumpChild,
	"race":  raceChild,
	"serve": serveChild,
	"tick":  tickChild,

	"restore": restoreChild,
}

const childVariable = "APPTEST_CHILD"

var (
	long = flag.Bool("long", false, "kill 100 processes instead of 3, and let each of 64 callers make 500 calls instead of 25")
	seed = flag.Uint64("seed", 1, "of everything that is random")
)

// rounds returns the size of a campaign: short by default, many with -long.
func rounds(short, many int) int {
	if *long {
		return many
	}
	return short
}

func TestMain(m *testing.M) {
	work, ok := children[os.Getenv(childVariable)]
	if !ok {
		os.Exit(m.Run())
	}
	if err := runChild(work, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// runChild opens the log and does the work of a child.
func runChild(work func(context.Context, *app.App) error, path string) error {
	ctx := context.Background()
	s, err := openStore(ctx, path)
	if err != nil {
		return err
	}
	a, err := app.Open(ctx, s, app.Options{}, tally())
	if err != nil {
		return err
	}
	return errors.Join(work(ctx, a), s.Close())
}

// openStore opens a log in a SQLite file, or in the database of a URL.
func openStore(ctx context.Context, path string) (eventlog.Store, error) {
	if strings.HasPrefix(path, "postgres://") {
		return postgres.Open(ctx, path, "unused", eventlog.OpenOrCreate)
	}
	return sqlite.Open(ctx, path)
}

// onEachStore runs a test with a new log in SQLite, and one in PostgreSQL.
func onEachStore(t *testing.T, test func(t *testing.T, path string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, filepath.Join(t.TempDir(), "log.db")) })
	t.Run("postgres", func(t *testing.T) {
		server := os.Getenv("PETROCK_POSTGRES")
		if server == "" {
			t.Skip("needs a database; run .ci/postgres go test ./core/app/apptest")
		}
		test(t, fmt.Sprintf("%s&search_path=test_%d", server, time.Now().UnixNano()))
	})
}

// A child is this program as another process that has the log open.
type child struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func startChild(t testing.TB, kind, path string) child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := child{Cmd: exec.Command(self, path)}
	c.Env = append(os.Environ(), childVariable+"="+kind)
	c.Stderr = t.Output()
	if c.in, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewScanner(out)
	c.out.Buffer(nil, 64<<20)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// line returns the next line that the child prints.
func (c child) line(t testing.TB) string {
	t.Helper()
	if !c.out.Scan() {
		t.Fatalf("the child has ended: %v, %v, want a line", c.out.Err(), c.Wait())
	}
	return c.out.Text()
}

// end lets the child finish.
func (c child) end(t testing.TB) {
	t.Helper()
	c.in.Close()
	for c.out.Scan() {
	}
	if err := c.Wait(); err != nil {
		t.Errorf("the child: %v, want no error", err)
	}
}

// writeChild executes commands from several goroutines, and prints the answered ones.
func writeChild(ctx context.Context, a *app.App) error {
	var mu sync.Mutex
	for caller := range 8 {
		go func() {
			for n := 0; ; n++ {
				name := fmt.Sprintf("%d-%d-%d", os.Getpid(), caller, n)
				result, err := app.DoRaw(ctx, a, Note{Name: name})
				mu.Lock() // not after the end, when the store is closed
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				fmt.Printf("%s\n", result)
				mu.Unlock()
			}
		}()
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	mu.Lock() // print nothing further
	return err
}

// dumpChild prints the state for each line that it reads.
func dumpChild(ctx context.Context, a *app.App) error {
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		state, err := a.Dump(ctx)
		if err != nil {
			return err
		}
		text, err := json.Marshal(state)
		if err != nil {
			return err
		}
		fmt.Printf("%s\n", text)
	}
	return input.Err()
}

// A writing process is killed at random, repeatedly. Every command that it has answered is in the
// log exactly once, in order and without gaps, and all processes have the same state.
func TestKilledWriters(t *testing.T) { onEachStore(t, testKilledWriters) }

func testKilledWriters(t *testing.T, path string) {
	kills := rounds(3, 100)
	t.Logf("%d kills with seed %d", kills, *seed)
	random := rand.New(rand.NewPCG(*seed, 0))
	witness := startChild(t, "dump", path) // follows from the beginning
	var answered []Noted
	for range kills {
		writer := startChild(t, "write", path)
		deadline := time.Duration(0)
		var timer *time.Timer
		for writer.out.Scan() {
			var n Noted
			if err := json.Unmarshal(writer.out.Bytes(), &n); err != nil {
				break // the last line may be cut
			}
			answered = append(answered, n)
			if timer == nil {
				deadline = time.Duration(random.IntN(30_000)) * time.Microsecond
				timer = time.AfterFunc(deadline, func() { writer.Process.Kill() })
			}
		}
		if err := writer.Wait(); err == nil || timer == nil {
			t.Fatalf("the writer has ended by itself: %v, want timer not nil", err)
		}
	}
	s, err := openStore(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	byName, seq := map[string]eventlog.Record{}, int64(0)
	for r, err := range s.Records(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if seq++; r.Seq != seq {
			t.Fatalf("event %d comes where %d should, want them equal", r.Seq, seq)
		}
		var note Note
		if err := json.Unmarshal(r.Data, &note); err != nil {
			t.Fatal(err)
		}
		if before, ok := byName[note.Name]; ok {
			t.Errorf("%s is in events %d and %d, want one", note.Name, before.Seq, r.Seq)
		}
		byName[note.Name] = r
	}
	for _, n := range answered {
		if r := byName[n.Name]; r.Seq != n.Seq || r.ID != n.ID {
			t.Errorf("%+v was answered, and the log has %+v, want Seq %v, ID %v", n, r, n.Seq, n.ID)
		}
	}
	t.Logf("%d commands answered, %d in the log", len(answered), seq)
	states := []string{}
	for _, c := range []child{witness, startChild(t, "dump", path), startChild(t, "dump", path)} {
		fmt.Fprintln(c.in)
		states = append(states, c.line(t))
		c.end(t)
	}
	if len(slices.Compact(states)) != 1 || !strings.Contains(states[0], fmt.Sprintf(`"count":%d`, seq)) {
		t.Errorf("the states of the processes are %.200q, want the same with the count %d", states, seq)
	}
}

// mixedChild has 16 callers that execute commands and ask queries, and prints the sum that they
// added.
func mixedChild(ctx context.Context, a *app.App) error {
	n := 0
	if _, err := fmt.Scan(&n); err != nil {
		return err
	}
	var group sync.WaitGroup
	errs := make([]error, 16)
	for caller := range errs {
		group.Go(func() {
			before := 0
			for i := range n {
				if _, err := app.DoRaw(ctx, a, Note{Name: fmt.Sprintf("%d-%d-%d", os.Getpid(), caller, i), By: caller}); err != nil {
					errs[caller] = err
					return
				}
				for range 3 {
					now, err := app.Query(app.With(ctx, a), Count{})
					if err == nil && now < before {
						err = fmt.Errorf("there were %d, and now there are %d", before, now)
					}
					if errs[caller] = err; err != nil {
						return
					}
					before = now
				}
			}
			if before < n {
				errs[caller] = fmt.Errorf("a caller sees %[2]d of its own %[1]d commands", n, before)
			}
		})
	}
	group.Wait()
	fmt.Println("done")
	return errors.Join(errors.Join(errs...), dumpChild(ctx, a))
}

// Four processes share a log, with 64 callers: no update is lost, there are no errors, and all have
// the same state.
func TestFourProcesses(t *testing.T) {
	onEachStore(t, func(t *testing.T, path string) { testFourProcesses(t, path, rounds(25, 500), func() {}) })
}

// The same holds if the database crashes and is started again meanwhile: the processes wait for it.
func TestDatabaseCrashes(t *testing.T) {
	server, restart := os.Getenv("PETROCK_POSTGRES"), os.Getenv("PETROCK_POSTGRES_RESTART")
	if server == "" || restart == "" {
		t.Skip("needs a database; run .ci/postgres go test ./core/app/apptest")
	}
	path := fmt.Sprintf("%s&search_path=test_%d", server, time.Now().UnixNano())
	testFourProcesses(t, path, rounds(300, 1000), func() {
		for range 2 {
			time.Sleep(300 * time.Millisecond)
			if out, err := exec.Command(restart, "immediate").CombinedOutput(); err != nil {
				t.Errorf("restart the database: %v\n%s, want no error", err, out)
			}
		}
	})
}

func testFourProcesses(t *testing.T, path string, calls int, meanwhile func()) {
	var all []child
	for range 4 {
		all = append(all, startChild(t, "mixed", path))
	}
	for _, c := range all {
		fmt.Fprintln(c.in, calls)
	}
	meanwhile()
	for _, c := range all {
		if got := c.line(t); got != "done" {
			t.Errorf("a child: got %s, want \"done\"", got)
		}
	}
	states := []string{}
	for _, c := range all {
		fmt.Fprintln(c.in)
		states = append(states, c.line(t))
		c.end(t)
	}
	want := fmt.Sprintf(`"count":%d,"sum":%d`, 64*calls, 4*calls*(15*16/2))
	if len(slices.Compact(states)) != 1 || !strings.Contains(states[0], want) {
		t.Errorf("the states of the processes are %.200q, want the same with %s", states, want)
	}
}
