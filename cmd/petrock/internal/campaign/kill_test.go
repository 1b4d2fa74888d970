//go:build unix

package campaign_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// If the project's petrock is killed, the next run rolls the operation back or completes it, and
// then works.
func TestKilled(t *testing.T) {
	t.Run("tool", func(t *testing.T) {
		testKilled(t, []string{"generate", "tool", "send_mail", "to", "subject:enum(a,b)?"}, []string{"undo"}, []string{"destroy", "tool", "send_mail"})
	})
	t.Run("feature with its part", func(t *testing.T) {
		takesLong(t)
		testKilled(t, []string{"generate", "feature", "posts", "--crud", "title"}, []string{"undo"})
	})
}

// testKilled kills a command that generates, and the commands that undo it.
func testKilled(t *testing.T, generate []string, back ...[]string) {
	kills := rounds(1, 50)
	t.Logf("%d kills with seed %d", kills, *seed)
	m := newMaker(*seed)
	w := newWorld(t)
	took := map[string]time.Duration{}
	ok := func(args ...string) {
		t.Helper()
		begin := time.Now()
		if out, errOut, status := w.run(args...); status != 0 {
			t.Fatalf("%s: exit code %d, want 0: %s%s", strings.Join(args, " "), status, out, errOut)
		}
		took[args[0]] = time.Since(begin)
	}
	without := w.tree()
	ok(generate...)
	with := w.tree()
	for i, args := range back {
		if i > 0 {
			ok(generate...)
		}
		ok(args...)
		w.unchanged(without, "after "+args[0]+",")
	}
	t.Logf("undisturbed: %v", took)

	there := false // the component is generated
	var before, after, middle int
	for range kills {
		args := generate
		if there {
			if args = one(m, back...); args[0] == "undo" {
				args = []string{"undo", w.lastOperation()}
			}
		}
		cmd := w.petrock(args...)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// Most kills should happen while files are written, which takes only a small part of the
		// time.
		if m.IntN(4) > 0 {
			w.awaitPending(took[args[0]])
			if m.IntN(4) > 0 {
				time.Sleep(time.Duration(m.IntN(2_000)) * time.Microsecond)
			}
		} else {
			time.Sleep(time.Duration(m.Float64() * 1.1 * float64(took[args[0]])))
		}
		cmd.Process.Kill()
		cmd.Wait()

		_, err := os.Stat(w.path(".petrock/pending.json"))
		pending := err == nil
		next := one(m, []string{"generate", "tool", "other", "--dry-run"}, []string{"sync"}, []string{"generate", "prompt", "other"})
		out, errOut, status := w.run(next...)
		if status != 0 {
			t.Fatalf("after killing %s, %s: exit code %d, want 0: %s%s", args, next, status, out, errOut)
		}
		if pending && !strings.Contains(out+errOut, "was interrupted and has now been completed") {
			t.Errorf("%s after the interrupted %s prints %s%s; want that it has now been completed", next, args, out, errOut)
		}
		if next[0] == "generate" && next[1] == "prompt" {
			ok("undo")
		}
		now := w.tree()
		isWith, isWithout := with.differences(now), without.differences(now)
		if isWith != "" && isWithout != "" {
			t.Fatalf("after killing %s and running %s, the project is neither in its old state:\n%s\nnor in its new one:\n%s", args, next, isWithout, isWith)
		}
		switch is := isWith == ""; {
		case pending:
			middle++
			if is == there {
				t.Errorf("%s was started, but not completed by %s", args, next)
			}
		case is == there:
			before++
		default:
			after++
		}
		there = isWith == ""
	}
	t.Logf("%d ended before anything was written, %d when all was, and %d in the middle", before, after, middle)
	if there {
		ok("undo", w.lastOperation())
	}
	w.unchanged(without, "in the end,")
	ok("generate", "tool", "last")
	if *long {
		w.sound(w.engine())
	}
}

// awaitPending waits until an operation is in the journal, or until it should have completed.
func (w *world) awaitPending(took time.Duration) {
	for begin := time.Now(); time.Since(begin) < 2*took; {
		if _, err := os.Lstat(w.path(".petrock/pending.json")); err == nil {
			return
		}
	}
}

// lastOperation returns the id of the last operation that is not undone.
func (w *world) lastOperation() string {
	w.Helper()
	history, err := w.engine().History(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	for _, op := range slices.Backward(history.Operations) {
		if op.Undoes == "" && op.UndoneBy == "" {
			return op.ID
		}
	}
	w.Fatal("no operation can be undone")
	return ""
}
