package sqlite

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
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/storetest"
)

// children are the roles of this program when a test starts it, by environment variable.
var children = map[string]func(context.Context, *Store) error{
	"race":  raceChild,
	"kill":  killChild,
	"churn": churnChild,
	"hold":  holdChild,
}

const childVariable = "SQLITE_TEST_CHILD"

var (
	long = flag.Bool("long", false, "kill 100 writing processes instead of 3")
	seed = flag.Uint64("seed", 1, "of everything that is random")
)

func TestMain(m *testing.M) {
	work, ok := children[os.Getenv(childVariable)]
	if !ok {
		os.Exit(m.Run())
	}
	s, err := Open(context.Background(), os.Args[1])
	if err == nil {
		err = work(context.Background(), s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child returns this program as a child.
func child(t *testing.T, kind string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), childVariable+"="+kind)
	cmd.Stderr = t.Output()
	return cmd
}

// start starts a child on a file.
func start(t *testing.T, kind, path string) (cmd *exec.Cmd, in io.Writer, out io.Reader) {
	t.Helper()
	cmd = child(t, kind, path)
	var err error
	if in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if out, err = cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, in, out
}

// more appends n records, and reads only those that others appended.
func more(s *Store, n int) (last int64, err error) {
	err = s.Write(context.Background(), func(tx eventlog.Tx) error {
		if _, err := tx.Stamp(); err != nil {
			return err
		}
		if last, err = s.Last(context.Background()); err != nil {
			return err
		}
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

// A result is the outcome of a child that wrote while another did.
type result struct {
	Writes int
	P99    time.Duration
	Max    time.Duration
}

// raceTotal is how many records the children append together, or slightly more.
const raceTotal = 3000

// raceChild waits for a line, and writes until the log is long enough.
func raceChild(ctx context.Context, s *Store) error {
	input := bufio.NewReader(os.Stdin)
	fmt.Println("ready")
	if _, err := input.ReadString('\n'); err != nil {
		return err
	}
	var took []time.Duration
	for last := int64(0); last < raceTotal; {
		begin := time.Now()
		var err error
		if last, err = more(s, 1); err != nil {
			return err
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	err := json.NewEncoder(os.Stdout).Encode(result{Writes: len(took), P99: took[len(took)*99/100], Max: took[len(took)-1]})
	return errors.Join(err, s.Close())
}

// When two processes write at once, there are no errors or long waits, and each gets its share.
func TestTwoProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	type racer struct {
		cmd *exec.Cmd
		in  io.Writer
		out *bufio.Reader
	}
	var both [2]racer
	for i := range both {
		cmd, in, out := start(t, "race", path)
		both[i] = racer{cmd, in, bufio.NewReader(out)}
	}
	for _, c := range both {
		if line, err := c.out.ReadString('\n'); line != "ready\n" {
			t.Fatalf(`the child prints %q, %v; want "ready\n"`, line, err)
		}
	}
	for _, c := range both {
		io.WriteString(c.in, "go\n")
	}
	sum, least := 0, 0
	for i, c := range both {
		var r result
		if err := json.NewDecoder(c.out).Decode(&r); err != nil {
			t.Fatal(err)
		}
		if err := c.cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d writes, p99 %v, at most %v", r.Writes, r.P99, r.Max)
		if sum += r.Writes; i == 0 || r.Writes < least {
			least = r.Writes
		}
		if r.P99 > 5*time.Second {
			t.Errorf("a write waited for %v, want at most %v", r.P99, 5*time.Second)
		}
	}
	if least < sum/4 {
		t.Errorf("one of them had %d of %d turns, want at least %v", least, sum, sum/4)
	}
	if err := storetest.Check(open(t, path), int64(sum)); err != nil {
		t.Error(err)
	}
}

// churnChild opens, writes, reads and closes repeatedly.
func churnChild(ctx context.Context, s *Store) error {
	for range churnTimes {
		if _, err := more(s, 1); err != nil {
			return err
		}
		for _, err := range s.Records(ctx, 0) {
			if err != nil {
				return err
			}
		}
		if err := s.Close(); err != nil {
			return err
		}
		var err error
		if s, err = Open(ctx, s.path); err != nil {
			return err
		}
	}
	return s.Close()
}

const churnTimes = 30

// Processes open and close a new file concurrently. The last one to close it locks it for a
// checkpoint. None of them fails.
func TestChurn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	var all [4]*exec.Cmd
	for i := range all {
		all[i], _, _ = start(t, "churn", path)
	}
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	if err := storetest.Check(open(t, path), int64(len(all)*churnTimes)); err != nil {
		t.Error(err)
	}
}

// holdChild prints a line during a Write, which ends when the input does.
func holdChild(ctx context.Context, s *Store) error {
	return s.Write(ctx, func(eventlog.Tx) error {
		fmt.Println("in")
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	})
}

// leftovers returns the number of threads and open files of this process, where Linux shows them.
func leftovers() (threads, files int) {
	tasks, _ := os.ReadDir("/proc/self/task")
	open, _ := os.ReadDir("/proc/self/fd")
	return len(tasks), len(open)
}

// While another process holds the lock, the store can be opened and read. Cancelled writes leave no
// threads and files behind. A write that times out gets an error that names the process. After the
// process ends, writes succeed.
func TestHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	s := open(t, path)
	if _, err := more(s, 3); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil { // the file is complete without the WAL
		t.Fatal(err)
	}
	cmd, _, out := start(t, "hold", path)
	defer cmd.Process.Kill()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "in\n" {
		t.Fatalf(`the child prints %q, %v; want "in\n"`, line, err)
	}
	s = open(t, path)
	if err := storetest.Check(s, 3); err != nil {
		t.Error(err)
	}

	write := func(ctx context.Context) error {
		return s.Write(ctx, func(eventlog.Tx) error { return errors.New("it was let in") })
	}
	calls := map[bool]int{false: 100, true: 1000}[*long]
	threadsBefore, filesBefore := leftovers()
	for range calls {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Microsecond)
		if err := write(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a call that gives up ends with %v, want context.DeadlineExceeded", err)
		}
		cancel()
	}
	threads, files := leftovers()
	t.Logf("%d calls: %d threads and %d files before, %d and %d after", calls, threadsBefore, filesBefore, threads, files)
	if threads > threadsBefore+10 {
		t.Errorf("cancelled writes leave %d threads, want at most 10 more than the %d before", threads, threadsBefore)
	}
	if files > filesBefore+2 {
		t.Errorf("cancelled writes leave %d open files, want at most 2 more than the %d before", files, filesBefore)
	}

	s.timeout = 10 * time.Millisecond
	queued := make(chan error)
	for range 2 {
		go func() { queued <- write(context.Background()) }()
	}
	for range 2 {
		err := <-queued
		if want := fmt.Sprintf("process %d (", cmd.Process.Pid); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "stop it") {
			t.Errorf(`a patient call ends with %v, want an error with %q and "stop it" in it`, err, want)
		}
		t.Log(err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	s.timeout = lockTimeout
	if last, err := more(s, 1); last != 4 || err != nil {
		t.Errorf("when the lock is free: %d, %v, want 4", last, err)
	}
}

// killChild writes, and reports its progress after each Write.
func killChild(ctx context.Context, s *Store) error {
	for n := 1; ; n = n%70 + 1 {
		last, err := more(s, n)
		if err != nil {
			return err
		}
		err = s.Write(ctx, func(tx eventlog.Tx) error { return tx.Put("last", strconv.AppendInt(nil, last, 10)) })
		if err != nil {
			return err
		}
		fmt.Println(last)
	}
}

// A writing process is killed repeatedly. All that it has reported is in the log, and nothing is
// written partially.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	random := rand.New(rand.NewPCG(*seed, 0))
	kills := map[bool]int{false: 3, true: 100}[*long]
	told := int64(0)
	for range kills {
		cmd, _, out := start(t, "kill", path)
		lines, doomed, i := bufio.NewScanner(out), random.IntN(40), 0
		for ; i == doomed || lines.Scan(); i++ {
			if last, err := strconv.ParseInt(lines.Text(), 10, 64); err == nil {
				told = last
			}
			if i == doomed {
				time.AfterFunc(time.Duration(random.IntN(3000))*time.Microsecond, func() { cmd.Process.Kill() })
			}
		}
		if cmd.Wait(); i <= doomed {
			t.Fatalf("the process ended after %d events, want more than %d", i, doomed)
		}
		s := open(t, path)
		last, err := s.Last(t.Context())
		if err != nil || last < told {
			t.Fatalf("the log has %d records, %v; want at least the %d that were answered, and no error", last, err, told)
		}
		if err := storetest.Check(s, last); err != nil {
			t.Fatal(err)
		}
		noted, err := s.Get(t.Context(), "last")
		if n, _ := strconv.ParseInt(string(noted), 10, 64); err != nil || n > last || last-n > 71 {
			t.Fatalf("the noted event is %q, %v, and the last %d; want no error, and the noted one at most 71 before the last", noted, err, last)
		}
		if told, err = more(s, 1); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d records after %d kills", told, kills)
}
