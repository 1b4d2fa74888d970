//go:build unix

package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// If petrock new is killed at any moment, the project is complete or does not exist, and the next
// run creates or completes it and leaves no other files.
func TestKilled(t *testing.T) {
	warm(t)
	kills, took := rounds(1, 50), time.Second
	if *long {
		took = timeNew(t)
		t.Logf("petrock new takes %v", took.Round(time.Millisecond))
	}
	random := rand.New(rand.NewPCG(*seed, 0))
	t.Logf("%d kills with seed %d", kills, *seed)
	var outcomes [3]int // no project, a complete one, exited before the kill
	for range kills {
		after := time.Duration(random.Float64() * 1.1 * float64(took))
		group, inside, noGit := random.IntN(2) == 0, random.IntN(3) == 0, random.IntN(2) == 0
		outcome := killOnce(t, after, group, inside, noGit)
		outcomes[outcome]++
		if t.Failed() {
			t.Fatalf("killed after %v (the whole group: %t, in an empty folder: %t, without git: %t)", after, group, inside, noGit)
		}
	}
	t.Logf("no project: %d times, a complete project: %d times, exited before the kill: %d times", outcomes[0], outcomes[1], outcomes[2])
}

// timeNew measures petrock new with a warm build cache.
func timeNew(t *testing.T) time.Duration {
	t.Helper()
	begin := time.Now()
	if out, err := petrockCommand(t.TempDir(), "hello").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return time.Since(begin)
}

func killOnce(t *testing.T, after time.Duration, group, inside, noGit bool) (outcome int) {
	t.Helper()
	parent := t.TempDir()
	dest, dir := filepath.Join(parent, "hello"), parent
	args := []string{"hello"}
	if inside {
		if err := os.Mkdir(dest, 0o755); err != nil {
			t.Fatal(err)
		}
		dir = dest
		args = append(args, "--dir", ".")
	}
	if noGit {
		args = append(args, "--no-git")
	}
	cmd := petrockCommand(dir, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(after)
	victim := cmd.Process.Pid
	if group {
		victim = -victim
	}
	syscall.Kill(victim, syscall.SIGKILL)
	if cmd.Wait() == nil {
		outcome = 2
	}

	if slices.Contains(names(t, parent), "hello") && isCreated(t, dest) {
		checkWhole(t, dest)
		outcome = max(outcome, 1)
	} else if outcome == 2 {
		t.Error("petrock reports success, but the project does not exist")
	}

	// The next run is not killed. It finishes an interrupted move.
	out, err := petrockCommand(dir, args...).CombinedOutput()
	if refused := strings.Contains(string(out), "is not empty"); refused != (outcome > 0) || refused != (err != nil) {
		t.Errorf("the next run returned %v\n%s; want it refused as not empty only if the killed one was complete (outcome %v)", err, out, outcome)
	}
	checkWhole(t, dest)
	if got := names(t, parent); len(got) != 1 {
		t.Errorf("next to the project there is %q, want only the project", got)
	}
	if slices.Contains(names(t, dest), ".petrock-new") {
		t.Errorf(`the project contains %q, want it without ".petrock-new"`, names(t, dest))
	}
	return outcome
}

// isCreated reports whether a folder has more than the hidden folder of a killed run. While petrock
// moves files out of the hidden folder, the project is not created yet: the next run finishes that.
func isCreated(t *testing.T, dest string) bool {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dest, ".petrock-new", "moving")); err == nil {
		return false
	}
	return slices.ContainsFunc(names(t, dest), func(name string) bool { return name != ".petrock-new" })
}
