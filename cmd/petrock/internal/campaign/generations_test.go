package campaign_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/typecheck"
)

// After each of many random generations and undos the project is sound. In the end it is equal to
// the new project, byte for byte.
func TestGenerations(t *testing.T) {
	t.Parallel()
	generations := rounds(1, 200)
	t.Logf("%d generations with seed %d", generations, *seed)
	kinds := []string{"tool", "resource", "prompt"}
	if *long {
		kinds = append(kinds, "feature", "command", "command", "query", "worker")
	}
	m := newMaker(*seed)
	w := newWorld(t)
	e := w.engine()
	before := w.tree()
	begin := time.Now()

	var done []made // not undone yet
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
	// undo undoes done[at]. If other components depend on it, undo checks that it is refused and
	// undoes one of them.
	undo := func(at int) (int, *engine.Result) {
		t.Helper()
		for {
			id := one(m, done[at].operations...)
			t.Logf("undo %s", id)
			on := builders(done, done[at])
			if len(on) == 0 {
				return at, w.undo(e, id)
			}
			w.refusesUndo(e, id, on)
			next := one(m, on...)
			at = slices.IndexFunc(done, func(d made) bool { return d.operations[0] == next.operations[0] })
		}
	}
	for range generations {
		kind := one(m, kinds...)
		in := m.input(kind, done...)
		step(func() {
			t.Logf("generate %s %s", kind, in.json())
			dry, err := e.Generate(t.Context(), kind, in.json(), engine.Options{DryRun: true})
			if err != nil && strings.Contains(err.Error(), " does not exist; did you mean ") {
				t.Logf("refused, because the feature is new and its name is like another's: %v", err)
				return
			}
			if err != nil {
				t.Fatalf("a dry run returned: %v", err)
			}
			result := w.generate(e, kind, in)
			if len(result.Files) != len(dry.Files) || len(result.Components) == 0 || len(result.Diagnostics)+len(result.Refused)+len(unexpected(in, result.Warnings)) > 0 {
				t.Errorf("got %+v; want as many files as in the dry run, some components, no diagnostics or refusals, and no warnings but of descriptions; the dry run returned %+v", result, dry)
			}
			done = append(done, remember(kind, in, result, done))
		})
		// Steps take longer in a larger project, so a long campaign undoes more.
		const many = 30
		if len(done) > 1 && (m.IntN(4) == 0 || len(done) > many && m.IntN(4) > 0) {
			step(func() {
				at, undone := undo(m.IntN(len(done)))
				if m.IntN(3) == 0 { // and undo that too
					t.Logf("undo %s", undone.Operation)
					done[at].operations = append(done[at].operations, w.undo(e, undone.Operation).Operation)
					return
				}
				done = slices.Delete(done, at, at+1)
			})
		}
	}
	for len(done) > 0 {
		step(func() {
			at, _ := undo(m.IntN(len(done)))
			done = slices.Delete(done, at, at+1)
		})
	}
	if _, err := os.Stat(w.path("core/app")); err == nil { // other features used it when the one that added it was undone
		t.Log("remove app")
		w.ok("remove", "app")
	}
	w.unchanged(before, "in the end")
	if *long { // other tests check that a new project is sound
		for _, args := range [][]string{{"build", "./..."}, {"vet", "./..."}, {"test", "./..."}} {
			w.goCommand(args...)
		}
	}
	t.Logf("%d steps in %v: %v of it for the engine, %v for the go command", steps, time.Since(begin).Round(time.Second), engineTime.Round(time.Millisecond), goTime.Round(time.Millisecond))
}

// unexpected returns the warnings but those that the input has no description.
func unexpected(in input, warnings []typecheck.Diagnostic) []typecheck.Diagnostic {
	return slices.DeleteFunc(slices.Clone(warnings), func(w typecheck.Diagnostic) bool {
		isLikeDirective := strings.Contains(w.Message, " is ignored; write it without spaces") // a description such as: petrock:ignore
		return isLikeDirective || in.Description == "" && strings.Contains(w.Message, " has no description, ")
	})
}

// refusesUndo fails the test unless undoing an operation is refused, and the refusal names its
// dependents.
func (w *world) refusesUndo(e *engine.Engine, operation string, builders []made) {
	w.Helper()
	before := w.tree()
	refused := w.refusal(second(e.Undo(w.Context(), operation, engine.Options{})))
	if len(refused.Operations) == 0 || !strings.Contains(refused.Remedy, refused.Operations[0]) {
		w.Errorf("the refusal to undo %s does not name its dependents %v: %v", operation, builders, refused)
	}
	for _, id := range refused.Operations {
		if !slices.ContainsFunc(builders, func(b made) bool { return slices.Contains(b.operations, id) }) {
			w.Errorf("the refusal to undo %s names %s, but its dependents are %v: %v", operation, id, builders, refused)
		}
	}
	w.unchanged(before, "after the refusal of an undo,")
}

// The same input generates the same bytes in every project.
func TestSameAgain(t *testing.T) {
	takesLong(t)
	t.Parallel()
	t.Logf("seed %d", *seed)
	var trees []tree
	for range 3 {
		m := newMaker(*seed)
		w := newWorld(t)
		e := w.engine()
		var done []made
		for _, kind := range []string{"tool", "feature", "prompt", "command", "worker", "resource", "feature", "query", "worker", "tool"} {
			in := m.input(kind, done...)
			done = append(done, remember(kind, in, w.generate(e, kind, in), done))
		}
		trees = append(trees, w.tree())
	}
	for _, other := range trees[1:] {
		if how := trees[0].differences(other); how != "" {
			t.Errorf("the second result differs from the first:\n%s", how)
		}
	}
}

// Generations and undos do not change a byte of the user's code.
func TestEditsStay(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t)
	e := w.engine()
	w.generate(e, "prompt", input{Name: "review"})
	w.generate(e, "resource", input{Name: "note", URI: "note://{id}"})
	w.generate(e, "feature", input{Name: "posts", CRUD: true, Fields: []string{"title", "body:string?"}})
	w.generate(e, "worker", input{Name: "posts/digest", On: []string{"posts/create"}, Every: "5m"})
	for file := range w.tree() {
		switch dir, _, _ := strings.Cut(file, "/"); {
		case !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_gen.go"):
		case dir == "cmd" || dir == "tools" || dir == "prompts" || dir == "resources" || dir == "features":
			w.write(file, w.read(file)+"\n// Somebody has written this.\n")
		}
	}
	w.write("tools/notes.txt", "Somebody has written this, too.\n")
	before := w.tree()
	more := []struct {
		kind string
		input
	}{
		{"tool", input{Name: "more"}},
		{"prompt", input{Name: "more"}},
		{"resource", input{Name: "more", URI: "more://x"}},
		{"command", input{Name: "posts/publish", Fields: []string{"id"}}},
		{"query", input{Name: "posts/count"}},
		{"worker", input{Name: "posts/mail", On: []string{"posts/publish", "posts/delete"}}},
		{"command", input{Name: "users/create", Fields: []string{"name"}}},
		{"worker", input{Name: "posts/greet", On: []string{"users/create"}}},
	}
	var operations []string
	for _, m := range more {
		operations = append(operations, w.generate(e, m.kind, m.input).Operation)
	}
	w.soundQuickly(e)
	now := w.tree()
	for file, text := range before {
		if now[file] != text && !strings.HasSuffix(file, "_gen.go") && file != contract.File {
			t.Errorf("%s has become\n%s", file, now[file])
		}
	}
	for _, id := range slices.Backward(operations) {
		w.undo(e, id)
	}
	w.unchanged(before, "when all is undone,")
}
