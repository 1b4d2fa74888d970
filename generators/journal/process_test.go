package journal_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/generators/journal"
)

var (
	long = flag.Bool("long", false, "kill 100 processes instead of 3, and interrupt operations at every step")
	seed = flag.Uint64("seed", 1, "of everything that is random")
)

// The test binary runs again as the other process.
func TestMain(m *testing.M) {
	task, dir, _ := strings.Cut(os.Getenv("PETROCK_TEST_JOURNAL"), " ")
	var err error
	switch task {
	case "":
		raiseParallel()
		os.Exit(m.Run())
	case "alternate":
		err = alternate(dir)
	case "count":
		err = count(dir, 20)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// raiseParallel runs more tests in parallel than there are cores, unless the flag -parallel says
// otherwise: they wait for the disk.
func raiseParallel() {
	flag.Parse()
	isSet := false
	flag.Visit(func(f *flag.Flag) { isSet = isSet || f.Name == "test.parallel" })
	if !isSet {
		if err := flag.Set("test.parallel", "8"); err != nil {
			panic(err)
		}
	}
}

// process returns a command that runs a task in another process.
func process(t *testing.T, task, dir string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "PETROCK_TEST_JOURNAL="+task+" "+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

// alternate changes a project back and forth until it is killed. It prints a line before each
// change.
func alternate(dir string) error {
	before, after := trees()
	for {
		j, err := journal.Open(context.Background(), dir, journal.Options{})
		if err != nil {
			return err
		}
		from, to := before, after
		if _, err := j.Root().Lstat("tools/old/old.go"); errors.Is(err, fs.ErrNotExist) {
			from, to = after, before
		}
		fmt.Println("alternate")
		_, err = change(j, journal.Operation{Action: "generate", Title: "alternate"}, from.changesTo(to))
		if err := errors.Join(err, j.Close()); err != nil {
			return err
		}
	}
}

// After kills at random times, all files are in their old state or all in their new state.
func TestKilled(t *testing.T) {
	t.Parallel()
	before, after := trees()
	dir := before.write(t)
	random := rand.New(rand.NewPCG(*seed, 0))
	kills := map[bool]int{false: 3, true: 100}[*long]
	t.Logf("%d kills with seed %d", kills, *seed)
	outcomes := map[string]int{}
	for range kills {
		cmd := process(t, "alternate", dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		var took time.Duration
		for range 3 { // changes, of which the last but one tells how long one takes
			begin := time.Now()
			if !lines.Scan() {
				t.Fatalf("the process ended by itself: %v", lines.Err())
			}
			took = time.Since(begin)
		}
		time.Sleep(time.Duration(random.Float64() * float64(took)))
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		j, err := journal.Open(t.Context(), dir, journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		checkTidy(t, dir)
		outcome := "nothing to do"
		if j.Recovered() != "" {
			outcome = "finished"
			if !strings.Contains(j.Recovered(), "has now been completed") {
				t.Errorf(`Recovered() = %q, want it to contain "has now been completed"`, j.Recovered())
			}
		}
		outcomes[outcome]++
		history, err := j.History()
		if err != nil {
			t.Fatal(err)
		}
		want := before
		if len(history)%2 == 1 {
			want = after
		}
		if got := read(t, dir); !maps.Equal(got, want) {
			t.Fatalf("after %d operations got files\n%q, want\n%q", len(history), got, want)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%v", outcomes)
}

// count adds one to a number in a file, times times, in one operation each.
func count(dir string, times int) error {
	for range times {
		j, err := journal.Open(context.Background(), dir, journal.Options{})
		if err != nil {
			return err
		}
		text, err := j.Root().ReadFile("number")
		if err == nil {
			n, _ := strconv.Atoi(string(text))
			next := []byte(strconv.Itoa(n + 1))
			_, err = change(j, journal.Operation{Action: "generate", Title: "count"}, []journal.Change{{Path: "number", Before: text, After: next}})
		}
		if err := errors.Join(err, j.Close()); err != nil {
			return err
		}
	}
	return nil
}

// The journal excludes other processes and goroutines: no update of the number is lost.
func TestTurns(t *testing.T) {
	t.Parallel()
	dir := tree{"number": " 0"}.write(t)
	var all []*exec.Cmd
	for range 2 {
		cmd := process(t, "count", dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, cmd)
	}
	done := make(chan error)
	for range 2 {
		go func() { done <- count(dir, 20) }()
	}
	if err := errors.Join(<-done, <-done, all[0].Wait(), all[1].Wait()); err != nil {
		t.Fatal(err)
	}
	tree{"number": " 80"}.compare(t, dir)
	history, err := open(t, dir).History()
	if err != nil || len(history) != 80 {
		t.Fatalf("the history has %d operations (%v), want 80", len(history), err)
	}
	for i, op := range history {
		if !strings.HasPrefix(op.ID, fmt.Sprintf("%04d-", i+1)) {
			t.Errorf("operation %d is %q, want the prefix %q", i+1, op.ID, fmt.Sprintf("%04d-", i+1))
		}
	}
	if names, err := filepath.Glob(filepath.Join(dir, ".petrock", "objects", "*")); err != nil || len(names) != 81 {
		t.Errorf("there are %d objects (%v), want 81", len(names), err)
	}
}
