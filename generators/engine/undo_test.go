package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/plumbing/filelock"
	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/gen"
)

// openNotes returns the engine of a project without Go files. Its generator note writes a text
// file, and its generator check a Go file.
func openNotes(t *testing.T) *bench {
	t.Helper()
	t.Setenv("GOWORK", "off")
	b := &bench{T: t, dir: t.TempDir()}
	manifest, err := json.Marshal(project.Manifest{Petrock: generators.Version, Name: "hello", Module: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	b.write(project.FileName, string(manifest))
	b.write("go.mod", "module hello\n\ngo 1.26.0\n")
	b.Engine, err = engine.Open(b.dir, []gen.Generator{
		gen.New("note", "", `{}`, func(_ gen.Project, in struct {
			Name string `json:"name"`
		}) (gen.Draft, error) {
			return gen.Draft{Kind: "note", Name: in.Name, Files: []gen.File{{Path: "notes/" + in.Name, Text: []byte(in.Name)}}}, nil
		}),
		gen.New("check", "", `{}`, func(p gen.Project, in struct {
			Name string `json:"name"`
			Text string `json:"text"`
		}) (gen.Draft, error) {
			return gen.FromTemplates(p, "check", in, gen.Template{Path: "checks/*.go", Text: "func {{.Go}}() string { return {{.Text}} }\n"})
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	if _, err := b.Sync(t.Context(), engine.Options{}); err != nil {
		t.Fatal(err)
	}
	return b
}

// note generates a note and returns the id of the operation.
func (b *bench) note(name string) string {
	b.Helper()
	made, err := b.Generate(b.Context(), "note", json.RawMessage(`{"name":"`+name+`"}`), engine.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return made.Operation
}

// refused returns the refusal of an undo or redo.
func (b *bench) refused(do func() (*engine.Result, error)) *engine.Refusal {
	b.Helper()
	result, err := do()
	refusal, ok := errors.AsType[*engine.Refusal](err)
	if !ok {
		b.Fatalf("got %v, %v, want a refusal", result, err)
	}
	return refusal
}

// Undo without an id goes back step by step, and redo forward. Both say what the next one would do.
func TestUndoAndRedo(t *testing.T) {
	b := openNotes(t)
	undo := func(id string) func() (*engine.Result, error) {
		return func() (*engine.Result, error) { return b.Undo(t.Context(), id, engine.Options{}) }
	}
	redo := func(id string) func() (*engine.Result, error) {
		return func() (*engine.Result, error) { return b.Redo(t.Context(), id, engine.Options{}) }
	}
	next := "" // what the result says is next; empty for anything
	ok := func(do func() (*engine.Result, error), headline string) {
		t.Helper()
		result, err := do()
		if err != nil {
			t.Fatal(err)
		}
		if got := result.Headline(); !strings.HasPrefix(got, headline) {
			t.Errorf("the headline is %q, want %q", got, headline)
		}
		if got := strings.Join(result.Next, " "); next != "" && got != next {
			t.Errorf("next is %q, want %q", got, next)
		}
	}
	contract := b.refused(redo("")).Error()
	if !strings.Contains(contract, "nothing to redo") {
		t.Errorf(`in a new project, redo: got %q, want it to contain "nothing to redo"`, contract)
	}
	a, second := b.note("a"), b.note("b")
	if refusal := b.refused(redo(a)); !strings.Contains(refusal.Error(), "is not undone") {
		t.Errorf(`redo of an operation that is not undone: got %v, want it to contain "is not undone"`, refusal)
	}
	next = "petrock undo would now undo " + a + ", generate note a. petrock redo would redo generate note b."
	ok(undo(""), "Undid "+second+", generate note b (operation ")
	next = "petrock undo has nothing more to undo. petrock redo would redo generate note a."
	ok(undo(""), "Undid "+a+", generate note a (")
	if refusal := b.refused(undo("")); !strings.Contains(refusal.Error(), "nothing to undo") {
		t.Errorf(`with nothing to undo: got %v, want it to contain "nothing to undo"`, refusal)
	}
	next = "petrock undo would now undo " + a + ", generate note a. petrock redo would redo generate note b."
	ok(redo(""), "Redid generate note a (")
	next = "petrock undo would now undo " + second + ", generate note b."
	ok(redo(""), "Redid generate note b (")
	next = ""
	if refusal := b.refused(redo("")); !strings.Contains(refusal.Error(), "nothing to redo") {
		t.Errorf(`with nothing to redo: got %v, want it to contain "nothing to redo"`, refusal)
	}
	ok(undo(""), "Undid "+second+", generate note b (")
	third := b.note("c")
	refusal := b.refused(redo(""))
	if text := refusal.Error(); !strings.Contains(text, third+" (generate note c) followed the last undo") || len(refusal.Operations) != 1 {
		t.Errorf("redo after another operation returned %s with the operations %v; want %s (generate note c), which followed the last undo", text, refusal.Operations, third)
	}
	ok(redo(refusal.Operations[0]), "Redid generate note b (")
	if refusal := b.refused(undo(refusal.Operations[0])); !strings.Contains(refusal.Error(), "already redone by") {
		t.Errorf(`a redo of a redo: got %v, want it to contain "already redone by"`, refusal)
	}
	if got, want := b.files("notes"), []string{"notes/a", "notes/b", "notes/c"}; !slices.Equal(got, want) {
		t.Errorf("the files are %q, want %q", got, want)
	}
	ok(undo(""), "Undid "+second+", generate note b (") // redone after c was generated
	ok(undo(""), "Undid "+third+", generate note c (")
}

// Titles and results name the operation that is undone or redone, however often it was.
func TestUndoOfARedo(t *testing.T) {
	b := openNotes(t)
	last := b.note("a")
	for _, step := range []struct {
		do   func(context.Context, string, engine.Options) (*engine.Result, error)
		next string
	}{
		{b.Undo, "petrock undo has nothing more to undo. petrock redo would redo generate note a."},
		{b.Redo, "petrock undo would now undo " + last + ", generate note a."},
		{b.Undo, "petrock undo has nothing more to undo. petrock redo would redo generate note a."},
		{b.Redo, "petrock undo would now undo " + last + ", generate note a."},
	} {
		result, err := step.do(t.Context(), last, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if last = result.Operation; result.Reverted != "generate note a" || strings.Join(result.Next, " ") != step.next {
			t.Errorf("%s returned %q, next %q, want %q, next %q", result.Action, result.Reverted, result.Next, "generate note a", step.next)
		}
	}
	history, err := b.History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, op := range history.Operations {
		got = append(got, op.Title)
	}
	want := []string{"sync", "generate note a", "undo generate note a", "redo generate note a", "undo generate note a", "redo generate note a"}
	if !slices.Equal(got, want) {
		t.Errorf("the titles are %q, want %q", got, want)
	}
}

// History is a look: it recovers no interrupted operation and waits for none. The next operation
// recovers it.
func TestHistoryChangesNothing(t *testing.T) {
	b := openNotes(t)
	id := b.note("a")
	record := b.read(".petrock/operations/" + id + ".json")
	b.write(".petrock/pending.json", strings.Replace(record, id, "0003-abcdef", 1))
	locked, err := filelock.WaitLock(t.Context(), filepath.Join(b.dir, ".petrock", "lock"), nil)
	if err != nil {
		t.Fatal(err)
	}
	history, err := b.History(t.Context())
	if err != nil || len(history.Operations) != 2 {
		t.Fatalf("got the history %+v, %v, want two operations", history, err)
	}
	if got := history.String(); !strings.Contains(got, "interrupted or is in progress; run petrock sync") {
		t.Errorf("got %q, want a warning of the interrupted operation", got)
	}
	if listing, err := b.List(t.Context()); err != nil || !listing.OK || !strings.Contains(listing.String(), "warning: an operation was interrupted or is in progress") {
		t.Errorf("List = %s, %v; want it OK, with a warning of the interrupted operation", listing, err)
	}
	b.read(".petrock/pending.json")
	if err := locked.Release(); err != nil {
		t.Fatal(err)
	}
	result, err := b.Sync(t.Context(), engine.Options{})
	if err != nil || !strings.Contains(result.Recovered, "has now been completed") {
		t.Fatalf("sync returned %+v, %v, want that it completed the operation", result, err)
	}
	if history, err = b.History(t.Context()); err != nil || len(history.Operations) != 3 || len(history.Warnings) > 0 {
		t.Errorf("got the history %+v, %v, want three operations and no warning", history, err)
	}
}

// A file that already has its old text counts as restored, so that undo goes on to the operation
// before.
func TestUndoOfARestoredFile(t *testing.T) {
	b := openNotes(t)
	first := b.note("a")
	second := b.note("b")
	if err := os.Remove(filepath.Join(b.dir, "notes", "b")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{second, first} {
		result, err := b.Undo(t.Context(), "", engine.Options{})
		if err != nil || result.Undoes != want || result.Operation == "" {
			t.Fatalf("undo returned %+v, %v, want an operation that undoes %s", result, err, want)
		}
	}
	for _, file := range []string{"a", "b"} {
		if _, err := b.Redo(t.Context(), "", engine.Options{}); err != nil {
			t.Fatalf("redo %s: %v", file, err)
		}
	}
	b.refused(func() (*engine.Result, error) { return b.Redo(t.Context(), "", engine.Options{}) })
}

// In a random sequence, undo and redo behave like those of an editor, with ids for exceptions.
func TestUndoAndRedoAtRandom(t *testing.T) {
	const seed, steps = 7, 120
	random := rand.New(rand.NewPCG(seed, 0))
	b := openNotes(t)
	var ids []string              // of the generated notes, in the order in which they were made or redone
	name := map[string]string{}   // of the note of an operation
	isUndone := map[string]bool{} // by operation
	var redoable []string         // operations that redo restores, the last first
	remaining := func(undone bool) []string {
		return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return isUndone[id] != undone })
	}
	for step := range steps {
		target, wantRefusal := "", false
		action, byID := random.IntN(4), random.IntN(3) == 0
		var do func(string) (*engine.Result, error)
		switch {
		case action == 0 || len(ids) == 0:
			file := fmt.Sprintf("n%d", step)
			id := b.note(file)
			ids, name[id], redoable = append(ids, id), file, nil
			continue
		case action == 1: // redo
			do = func(id string) (*engine.Result, error) { return b.Redo(t.Context(), id, engine.Options{}) }
			all := remaining(true)
			if byID = byID && len(all) > 0; byID {
				target = all[random.IntN(len(all))]
			} else if wantRefusal = len(redoable) == 0; !wantRefusal {
				target = redoable[len(redoable)-1]
			}
		default:
			do = func(id string) (*engine.Result, error) { return b.Undo(t.Context(), id, engine.Options{}) }
			all := remaining(false)
			if byID = byID && len(all) > 0; byID {
				target = all[random.IntN(len(all))]
			} else if wantRefusal = len(all) == 0; !wantRefusal {
				target = all[len(all)-1]
			}
		}
		id := ""
		if byID {
			id = target
		}
		result, err := do(id)
		if wantRefusal {
			if _, ok := errors.AsType[*engine.Refusal](err); !ok {
				t.Fatalf("step %d: got %v, %v, want a refusal", step, result, err)
			}
		} else if err != nil || result.Reverted != "generate note "+name[target] {
			t.Fatalf("step %d: reverted %+v, %v, want %s", step, result, err, name[target])
		} else {
			isUndone[target] = !isUndone[target]
			redoable = slices.DeleteFunc(redoable, func(id string) bool { return id == target })
			if isUndone[target] {
				redoable = append(redoable, target)
			} else { // a redo makes it the newest
				ids = append(slices.DeleteFunc(ids, func(id string) bool { return id == target }), target)
			}
		}
		for _, id := range ids {
			if _, err := os.Stat(filepath.Join(b.dir, "notes", name[id])); (err != nil) != isUndone[id] {
				t.Fatalf("step %d: the note %s: %v; want it removed: %t", step, name[id], err, isUndone[id])
			}
		}
	}
}
