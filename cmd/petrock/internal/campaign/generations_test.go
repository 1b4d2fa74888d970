package campaign_test

import (
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/generators/engine"
)

var generations = flag.Int("generations", 4, "how many components TestGenerations generates and undoes")

// Whatever is generated, and in whatever order it is undone, the project is sound after each
// step, and in the end it is what it was at the beginning, to the last byte.
func TestGenerations(t *testing.T) {
	t.Parallel()
	t.Logf("%d generations with seed %d", *generations, *seed)
	m := newMaker(*seed)
	w := newWorld(t)
	e := w.engine()
	before := w.tree()
	begin := time.Now()

	var done []string // ids of what is not undone
	var steps int
	var engineTime, goTime time.Duration
	step := func(do func()) {
		t.Helper()
		start := time.Now()
		do()
		engineTime += time.Since(start)
		start = time.Now()
		if steps++; steps%20 == 0 {
			w.sound(e)
		} else {
			w.soundQuickly(e)
		}
		goTime += time.Since(start)
	}
	undo := func(id string) *engine.Result {
		t.Helper()
		t.Logf("undo %s", id)
		return w.undo(e, id)
	}
	for range *generations {
		kind := one(m, "tool", "tool", "resource", "prompt")
		in := m.input(kind)
		step(func() {
			t.Logf("generate %s %s", kind, in.json())
			dry, err := e.Generate(t.Context(), kind, in.json(), engine.Options{DryRun: true})
			if err != nil {
				t.Fatalf("a dry run says: %v", err)
			}
			result := w.generate(e, kind, in)
			if len(result.Files) != len(dry.Files) || len(result.Components) != 1 || len(result.Diagnostics)+len(result.Refused)+len(result.Warnings) > 0 {
				t.Errorf("it says %+v; a dry run said %+v", result, dry)
			}
			done = append(done, result.Operation)
		})
		// The more there is, the longer each step takes, so that a long campaign undoes more on its way.
		const many = 30
		if len(done) > 1 && (m.IntN(4) == 0 || len(done) > many && m.IntN(4) > 0) {
			at := m.IntN(len(done))
			step(func() {
				undone := undo(done[at])
				if m.IntN(3) == 0 { // and undo that too
					done[at] = undo(undone.Operation).Operation
					return
				}
				done = slices.Delete(done, at, at+1)
			})
		}
	}
	for len(done) > 0 {
		at := m.IntN(len(done))
		step(func() { undo(done[at]) })
		done = slices.Delete(done, at, at+1)
	}
	w.unchanged(before, "in the end")
	for _, args := range [][]string{{"build", "./..."}, {"vet", "./..."}, {"test", "./..."}} {
		w.goCommand(args...)
	}
	t.Logf("%d steps in %v: %v of it for the engine, %v for the go command", steps, time.Since(begin).Round(time.Second), engineTime.Round(time.Millisecond), goTime.Round(time.Millisecond))
}

// The same words make the same bytes, in whatever project and however often.
func TestSameAgain(t *testing.T) {
	t.Parallel()
	t.Logf("seed %d", *seed)
	var trees []tree
	for range 3 {
		m := newMaker(*seed)
		w := newWorld(t)
		e := w.engine()
		for _, kind := range []string{"tool", "prompt", "resource", "tool", "tool"} {
			w.generate(e, kind, m.input(kind))
		}
		trees = append(trees, w.tree())
	}
	for _, other := range trees[1:] {
		if how := trees[0].differences(other); how != "" {
			t.Errorf("it is not the same again:\n%s", how)
		}
	}
}

// What somebody has written stays as it is, to the last byte, whatever is generated and undone.
func TestEditsStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.engine()
	w.generate(e, "prompt", input{Name: "review"})
	w.generate(e, "resource", input{Name: "note", URI: "note://{id}"})
	for file := range w.tree() {
		switch dir, _, _ := strings.Cut(file, "/"); {
		case !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_gen.go"):
		case dir == "cmd" || dir == "tools" || dir == "prompts" || dir == "resources":
			w.write(file, w.read(file)+"\n// Somebody has written this.\n")
		}
	}
	w.write("tools/notes.txt", "Somebody has written this, too.\n")
	before := w.tree()
	for _, kind := range []string{"tool", "prompt", "resource"} {
		in := input{Name: "more"}
		if kind == "resource" {
			in.URI = "more://x"
		}
		w.generate(e, kind, in)
	}
	w.soundQuickly(e)
	now := w.tree()
	for file, text := range before {
		if now[file] != text && !strings.HasSuffix(file, "_gen.go") {
			t.Errorf("%s has become\n%s", file, now[file])
		}
	}
	for range 3 {
		w.undo(e, "")
	}
	w.unchanged(before, "when all is undone,")
}
