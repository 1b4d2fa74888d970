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

// killed is what a step panics with that stands for the end of the process.
type killed struct{}

// at makes options that do something before one step, counted from zero, and counts them.
func at(step int, count *int, act func() error) journal.Options {
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

// someSteps returns the first step to interrupt and the distance to the next one. The first is
// chosen by -seed. With -long it is every step.
func someSteps(t *testing.T, distance int) (first, stride int) {
	t.Helper()
	if *long {
		return 0, 1
	}
	first = rand.New(rand.NewPCG(*seed, 0)).IntN(distance)
	t.Logf("one step in %d, from step %d on, with seed %d", distance, first, *seed)
	return first, distance
}

// run opens a project and changes it. What is done when a step kills it is left as it is.
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
		_, err = change(j, journal.Operation{Action: action, Title: "generate all"}, before.to(after))
	}
	return err, false
}

// Whatever the step at which a process is killed, the next finds all files changed or none, and
// says so if there was something to do. Then it can go on.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	before, after := trees()
	first, stride := someSteps(t, 11)
	for _, action := range []string{"generate", ""} {
		outcomes := map[string]int{}
		for step := first; ; step += stride {
			dir := before.write(t)
			count := 0
			err, dead := run(t, dir, at(step, &count, kill), action, before, after)
			if err != nil {
				t.Fatal(err)
			}
			if !dead {
				break
			}
			outcomes[settled(t, dir, action, fmt.Sprint("killed at step ", step))]++
		}
		t.Logf("%q: %v", action, outcomes)
		for _, outcome := range []string{"nothing was done", "it is finished"} {
			if outcomes[outcome] == 0 {
				t.Errorf("never %s", outcome)
			}
		}
	}
}

// settled opens a project that was interrupted, fails the test unless all is well there, and
// returns what became of it.
func settled(t *testing.T, dir, action, when string) string {
	t.Helper()
	before, after := trees()
	_, pending := os.Lstat(filepath.Join(dir, ".petrock", "pending.json"))
	j, err := journal.Open(t.Context(), dir, journal.Options{})
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	defer j.Close()
	tidy(t, dir)
	got := read(t, dir)
	history, err := j.History()
	if err != nil {
		t.Fatal(err)
	}
	said := j.Recovered()
	if (said != "") != (pending == nil) {
		t.Errorf("%s: it says %q (and before: %v)", when, said, pending)
	}
	outcome := "it was over"
	switch {
	case maps.Equal(got, after):
		if pending == nil {
			outcome = "it is finished"
			if !strings.HasPrefix(said, "generate all") || !strings.Contains(said, "was interrupted, and is finished now; look at a_gen.go, empty, ") {
				t.Errorf("%s: it says %q", when, said)
			}
		}
		if (action != "") != (len(history) == 1) {
			t.Errorf("%s: the history is %+v", when, history)
		}
	case maps.Equal(got, before):
		outcome = "nothing was done"
		if len(history) != 0 {
			t.Errorf("%s: the history is %+v", when, history)
		}
		if pending == nil {
			outcome = "it is rolled back"
		}
		if _, err := change(j, journal.Operation{Action: action}, before.to(after)); err != nil {
			t.Errorf("%s: after that, %v", when, err)
		}
		after.compare(t, dir)
	default:
		t.Fatalf("%s: the files are\n%q", when, got)
	}
	return outcome
}

// A process that finishes what another left can be killed as well, at any step.
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
			if _, dead := run(t, dir, at(first, &count, kill), "generate", before, after); !dead {
				return
			}
			err, dead := run(t, dir, at(second, &count, kill), "generate", nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			settled(t, dir, "generate", fmt.Sprintf("killed at step %d and then at %d", first, second))
			if !dead {
				break
			}
		}
	}
}

// A step that fails leaves all as it was, and the next attempt succeeds.
func TestStepFails(t *testing.T) {
	t.Parallel()
	before, after := trees()
	first, stride := someSteps(t, 11)
	for step := first; ; step += stride {
		dir := before.write(t)
		count := 0
		err, _ := run(t, dir, at(step, &count, func() error { return syscall.ENOSPC }), "generate", before, after)
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
			t.Fatalf("step %d: %v", step, err)
		}
		opened := strings.Contains(err.Error(), "; nothing was changed")
		if _, made := os.Stat(filepath.Join(dir, ".petrock", ".gitignore")); made == nil && !opened {
			t.Errorf("step %d: %v", step, err)
		}
		before.compare(t, dir)
		if err, _ := run(t, dir, journal.Options{}, "generate", before, after); err != nil {
			t.Fatalf("after step %d: %v", step, err)
		}
		after.compare(t, dir)
		tidy(t, dir)
	}
}

// If from one step on nothing works any more, the next process brings it to an end.
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
			if !strings.Contains(err.Error(), "run it again: the next run finishes it or takes it back") {
				t.Errorf("step %d: %v", step, err)
			}
			// Nor does the next get further, if nothing has changed.
			err, _ := run(t, dir, journal.WithStep(func(what, path string) error {
				if strings.HasPrefix(path, ".petrock/") && what == "mkdir" {
					return nil
				}
				return syscall.EROFS
			}), "generate", nil, nil)
			if !errors.Is(err, syscall.EROFS) {
				t.Errorf("step %d, and then: %v", step, err)
			}
		}
		settled(t, dir, "generate", fmt.Sprint("nothing works from step ", step))
	}
	if stuck == 0 {
		t.Error("it never got stuck")
	}
}

// Somebody puts a folder where a file is to be, at the last moment.
func TestInTheWay(t *testing.T) {
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
	_, err = change(j, journal.Operation{Action: "generate"}, before.to(after))
	if err == nil || !strings.Contains(err.Error(), "writing tools/new/a/void: ") || !strings.Contains(err.Error(), "somebody else is at work on tools/new/a/void: look there") {
		t.Errorf("it says %v", err)
	}
	before["tools/new/a/void/x/"] = ""
	before.compare(t, dir)
	tidy(t, dir)
}

// Somebody edits a file after all were checked.
func TestEditedAtTheLastMoment(t *testing.T) {
	t.Parallel()
	before, after := trees()
	dir := before.write(t)
	err, _ := run(t, dir, journal.WithStep(func(what, path string) error {
		if what == "rename" && path == "empty" {
			return os.WriteFile(filepath.Join(dir, "tools", "add.go"), []byte("mine\n"), 0o644)
		}
		return nil
	}), "generate", before, after)
	if !errors.Is(err, journal.ErrChanged) || !strings.Contains(err.Error(), "all was put back, but somebody else is at work on tools/add.go: look there") {
		t.Errorf("it says %v", err)
	}
	before["tools/add.go"] = " mine\n"
	before.compare(t, dir)
	tidy(t, dir)
}
