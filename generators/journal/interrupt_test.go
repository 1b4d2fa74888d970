package journal_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/petrock/petrock/generators/journal"
)

// killed is the value of a panic that simulates a killed process.
type killed struct{}

// actAtStep returns options that call act before one step, counted from zero, and count all steps.
func actAtStep(step int, count *int, act func() error) journal.Options {
	*count = 0
	return journal.WithStep(func(what, path string) error {
		*count++
		if *count-1 == step {
			return act()
		}
		return nil
	})
}

func kill() error { panic(killed{}) }

// someSteps returns the first step to interrupt, chosen by -seed, and the distance to the next one.
// With -long it selects every step.
func someSteps(t *testing.T, distance int) (first, stride int) {
	t.Helper()
	if *long {
		return 0, 1
	}
	first = rand.New(rand.NewPCG(*seed, 0)).IntN(distance)
	t.Logf("one step in %d, from step %d on, with seed %d", distance, first, *seed)
	return first, distance
}

// run opens a project and changes it. It reports whether a step killed it, and does not clean up
// then.
func run(t *testing.T, dir string, o journal.Options, action string, before, after tree) (err error, dead bool) {
	t.Helper()
	var j *journal.Journal
	defer func() {
		if j != nil {
			j.Close() // the system does it for a process that is killed
		}
		if said := recover(); said != nil {
			if said != (killed{}) {
				panic(said)
			}
			dead = true
		}
	}()
	j, err = journal.Open(t.Context(), dir, o)
	if err == nil && before != nil {
		_, err = change(j, journal.Operation{Action: action, Title: "generate all"}, before.changesTo(after))
	}
	return err, false
}

// After a kill at any step, the next process finds all files changed or none. It reports a
// recovered operation, and can apply another.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	before, after := trees()
	first, stride := someSteps(t, 11)
	for _, action := range []string{"generate", ""} {
		outcomes := map[string]int{}
		for step := first; ; step += stride {
			dir := before.write(t)
			count := 0
			err, dead := run(t, dir, actAtStep(step, &count, kill), action, before, after)
			if err != nil {
				t.Fatal(err)
			}
			if !dead {
				break
			}
			outcomes[checkRecovery(t, dir, action, fmt.Sprint("killed at step ", step))]++
		}
		t.Logf("%q: %v", action, outcomes)
		for _, outcome := range []string{"nothing was done", "it is finished"} {
			if outcomes[outcome] == 0 {
				t.Errorf("%q: no interruption had the outcome %q: %v", action, outcome, outcomes)
			}
		}
	}
}

// checkRecovery opens a project that was interrupted, fails the test unless it is consistent, and
// returns the outcome of the operation.
func checkRecovery(t *testing.T, dir, action, when string) string {
	t.Helper()
	before, after := trees()
	_, pending := os.Lstat(filepath.Join(dir, ".petrock", "pending.json"))
	j, err := journal.Open(t.Context(), dir, journal.Options{})
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	defer j.Close()
	checkTidy(t, dir)
	got := read(t, dir)
	history, err := j.History()
	if err != nil {
		t.Fatal(err)
	}
	said := j.Recovered()
	if (said != "") != (pending == nil) {
		t.Errorf("%s: Recovered() = %q, want a message: %t (the operation ended with %v)", when, said, pending == nil, pending)
	}
	outcome := "it was over"
	switch {
	case maps.Equal(got, after):
		if pending == nil {
			outcome = "it is finished"
			if !strings.HasPrefix(said, "generate all") || !strings.Contains(said, "was interrupted and has now been completed") {
				t.Errorf(`%s: Recovered() = %q; want "generate all" at its start, and "was interrupted and has now been completed" in it`, when, said)
			}
		}
		if (action != "") != (len(history) == 1) {
			t.Errorf("%s: the history is %+v, want the operation in it: %t", when, history, action != "")
		}
	case maps.Equal(got, before):
		outcome = "nothing was done"
		if len(history) != 0 {
			t.Errorf("%s: the history is %+v, want it empty", when, history)
		}
		if pending == nil {
			outcome = "it is rolled back"
		}
		if _, err := change(j, journal.Operation{Action: action}, before.changesTo(after)); err != nil {
			t.Errorf("%s: after that, %v", when, err)
		}
		after.compare(t, dir)
	default:
		t.Fatalf("%s: the files are\n%q", when, got)
	}
	return outcome
}

// The process that recovers an operation can also be killed, at any step.
func TestInterruptedTwice(t *testing.T) {
	t.Parallel()
	before, after := trees()
	stride := 23
	if *long {
		stride = 3
	}
	from, next := someSteps(t, 11)
	for first := 0; ; first += stride {
		for second := from; ; second += next {
			dir := before.write(t)
			count := 0
			if _, dead := run(t, dir, actAtStep(first, &count, kill), "generate", before, after); !dead {
				return
			}
			err, dead := run(t, dir, actAtStep(second, &count, kill), "generate", nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			checkRecovery(t, dir, "generate", fmt.Sprintf("killed at step %d and then at %d", first, second))
			if !dead {
				break
			}
		}
	}
}

// If a step fails, the files are unchanged and the next attempt succeeds.
func TestStepFails(t *testing.T) {
	t.Parallel()
	before, after := trees()
	first, stride := someSteps(t, 11)
	for step := first; ; step += stride {
		dir := before.write(t)
		count := 0
		err, _ := run(t, dir, actAtStep(step, &count, func() error { return syscall.ENOSPC }), "generate", before, after)
		if err == nil {
			if count <= step {
				break
			}
			got := read(t, dir)
			delete(got, "tools/old/") // which is removed as a favour
			if !maps.Equal(got, after) {
				t.Errorf("step %d: the files are\n%q", step, got)
			}
			continue
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("step %d: got %v, want %v", step, err, syscall.ENOSPC)
		}
		opened := strings.Contains(err.Error(), "; nothing was changed")
		if _, made := os.Stat(filepath.Join(dir, ".petrock", ".gitignore")); made == nil && !opened {
			t.Errorf(`step %d: the journal exists, and the error is %v; want "; nothing was changed" in it`, step, err)
		}
		before.compare(t, dir)
		if err, _ := run(t, dir, journal.Options{}, "generate", before, after); err != nil {
			t.Fatalf("after step %d: %v", step, err)
		}
		after.compare(t, dir)
		checkTidy(t, dir)
	}
}

// If all steps fail after a certain one, the next process completes the operation or rolls it back.
func TestAllStepsFail(t *testing.T) {
	t.Parallel()
	before, after := trees()
	stuck := 0
	first, stride := someSteps(t, 11)
	for step := first; ; step += stride {
		dir := before.write(t)
		count := 0
		err, _ := run(t, dir, journal.WithStep(func(string, string) error {
			if count++; count > step {
				return syscall.ENOSPC
			}
			return nil
		}), "generate", before, after)
		if err == nil {
			break
		}
		if _, pending := os.Lstat(filepath.Join(dir, ".petrock", "pending.json")); pending == nil {
			stuck++
			if !strings.Contains(err.Error(), "run the command again: the next run completes the operation or rolls it back") {
				t.Errorf(`step %d: got %v, want it to contain "run the command again: the next run completes the operation or rolls it back"`, step, err)
			}
			// While steps still fail, the next process fails too.
			err, _ := run(t, dir, journal.WithStep(func(what, path string) error {
				if strings.HasPrefix(path, ".petrock/") && what == "mkdir" {
					return nil
				}
				return syscall.EROFS
			}), "generate", nil, nil)
			if !errors.Is(err, syscall.EROFS) {
				t.Errorf("step %d, and then: got %v, want %v", step, err, syscall.EROFS)
			}
		}
		checkRecovery(t, dir, "generate", fmt.Sprint("nothing works from step ", step))
	}
	if stuck == 0 {
		t.Error("no step left the operation pending, want at least one")
	}
}

// A folder is created in the place of a file while the operation is applied.
func TestFolderInPlaceOfFile(t *testing.T) {
	t.Parallel()
	before, after := trees()
	dir := before.write(t)
	j, err := journal.Open(t.Context(), dir, journal.WithStep(func(what, path string) error {
		if what == "rename" && path == "tools/new/a/void" {
			return os.MkdirAll(filepath.Join(dir, "tools/new/a/void/x"), 0o755)
		}
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	_, err = change(j, journal.Operation{Action: "generate"}, before.changesTo(after))
	if err == nil || !strings.Contains(err.Error(), "write tools/new/a/void: ") || !strings.Contains(err.Error(), "rolled back, except files that changed in the meantime: check tools/new/a/void") {
		t.Errorf(`got %v; want an error containing "write tools/new/a/void: " and "rolled back, except files that changed in the meantime: check tools/new/a/void"`, err)
	}
	before["tools/new/a/void/x/"] = ""
	before.compare(t, dir)
	checkTidy(t, dir)
}

// A file is edited after all files were checked.
func TestEditedAfterCheck(t *testing.T) {
	t.Parallel()
	before, after := trees()
	dir := before.write(t)
	err, _ := run(t, dir, journal.WithStep(func(what, path string) error {
		if what == "rename" && path == "empty" {
			return os.WriteFile(filepath.Join(dir, "tools", "add.go"), []byte("mine\n"), 0o644)
		}
		return nil
	}), "generate", before, after)
	if !errors.Is(err, journal.ErrChanged) || !strings.Contains(err.Error(), "rolled back, except files that changed in the meantime: check tools/add.go") {
		t.Errorf(`got %v; want %v with "rolled back, except files that changed in the meantime: check tools/add.go"`, err, journal.ErrChanged)
	}
	before["tools/add.go"] = " mine\n"
	before.compare(t, dir)
	checkTidy(t, dir)
}
