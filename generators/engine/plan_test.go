package engine_test

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/petrock/petrock/generators/engine"
)

// Every operation has a dry run that writes nothing, and whose plan Apply turns into the same
// operation as without it: the same files, and the same entry of the history. Apply refuses the
// plan if the project has changed, and if it was applied.
func TestPlans(t *testing.T) {
	planned, direct := openLibrary(t), openLibrary(t)
	edits := []engine.FileEdit{
		{Path: "tools/add.go", Replace: []engine.Replacement{{Old: "// Add ", New: "// Add quickly "}}},
		{Path: "notes.txt", Text: new("notes <&>\n")},
	}
	type operation struct {
		name, action, touch string // touch is a file that it changes
		do                  func(b *bench, o engine.Options) (*engine.Result, error)
	}
	for _, op := range []operation{
		{"generate", "generate", "features/desk/desk.go", func(b *bench, o engine.Options) (*engine.Result, error) {
			return b.Generate(t.Context(), "version", json.RawMessage(`{"name":"desk/close","rename":["reason=why"]}`), o)
		}},
		{"edit", "edit", "tools/add.go", func(b *bench, o engine.Options) (*engine.Result, error) { return b.Edit(t.Context(), edits, o) }},
		{"change with a new version and edits", "change", "features/desk/desk.go", func(b *bench, o engine.Options) (*engine.Result, error) {
			in := engine.Change{Name: "desk/acquire", Fields: []string{"year:int"}, Default: []string{"year=1999"}, Edits: []engine.FileEdit{{Path: "notes.txt", Text: new("")}}}
			return b.Change(t.Context(), in, o)
		}},
		{"destroy", "destroy", "contract.json", func(b *bench, o engine.Options) (*engine.Result, error) {
			o.Removal, o.Force = engine.Removal{Skip: true}, true
			return b.Destroy(t.Context(), "feature", "store", o)
		}},
		{"undo the destroy", "undo", "contract.json", func(b *bench, o engine.Options) (*engine.Result, error) { return b.Undo(t.Context(), "", o) }},
		{"undo the change", "undo", "features/desk/desk.go", func(b *bench, o engine.Options) (*engine.Result, error) { return b.Undo(t.Context(), "", o) }},
		{"redo", "redo", "features/desk/desk.go", func(b *bench, o engine.Options) (*engine.Result, error) { return b.Redo(t.Context(), "", o) }},
		{"sync", "sync", "tools/tools_gen.go", func(b *bench, o engine.Options) (*engine.Result, error) {
			b.write("tools/add.go", strings.Replace(b.read("tools/add.go"), "Add quickly", "Add slowly", 1))
			return b.Sync(t.Context(), o)
		}},
	} {
		t.Run(op.name, func(t *testing.T) {
			options := engine.Options{NoExec: true}
			want, err := op.do(direct, options)
			if err != nil {
				t.Fatal(err)
			}
			options.DryRun = true
			before := planned.snapshot()
			dry, err := op.do(planned, options)
			if op.action == "sync" {
				before["tools/add.go"] = planned.read("tools/add.go")
			}
			if err != nil || !dry.DryRun || dry.Plan == "" || dry.Operation != "" {
				t.Fatalf("the dry run returned %+v, %v; want a plan and no operation", dry, err)
			}
			if after := planned.snapshot(); !maps.Equal(before, after) {
				t.Errorf("the dry run changed %v, want no file", differing(before, after))
			}
			planned.write(op.touch, planned.read(op.touch)+"\n// Changed since.\n")
			if _, err := planned.Apply(t.Context(), dry.Plan, engine.Options{NoExec: true}); err == nil {
				t.Errorf("Apply after %s has changed returned no error, want one", op.touch)
			}
			planned.write(op.touch, before[op.touch])

			applied, err := planned.Apply(t.Context(), dry.Plan, engine.Options{NoExec: true})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := changes(applied), changes(want); got != want || got != changes(dry) || applied.Action != op.action || applied.Reverted != dry.Reverted {
				t.Errorf("Apply changed %s by %s of %q; want %s by %s of %q", got, applied.Action, applied.Reverted, want, op.action, dry.Reverted)
			}
			if got, want := planned.snapshot(), direct.snapshot(); !maps.Equal(got, want) {
				t.Errorf("%v differ from those of the operation without a plan", differing(got, want))
			}
			if got, want := planned.titles(), direct.titles(); got != want {
				t.Errorf("the history is\n%swant\n%s", got, want)
			}
			_, err = planned.Apply(t.Context(), dry.Plan, engine.Options{NoExec: true})
			planned.checkError(err, "does not exist: it was applied")
		})
	}
	if dry, err := planned.Sync(t.Context(), engine.Options{DryRun: true}); err != nil || dry.Plan != "" {
		t.Errorf("a dry run that changes nothing returned the plan %q, %v; want none", dry.Plan, err)
	}
}

// titles lists the actions, titles and kinds of files of the history.
func (b *bench) titles() string {
	history, err := b.History(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	text := ""
	for _, op := range history.Operations {
		text += op.Action + " " + op.Title + " undoes " + op.Undoes[:min(4, len(op.Undoes))] + " undone by " + op.UndoneBy[:min(4, len(op.UndoneBy))] + "\n"
	}
	return text
}

// A plan of undo names the operation: another operation in between does not change what it undoes.
func TestPlanOfUndoNamesTheOperation(t *testing.T) {
	b := open(t)
	edit := func(name string) {
		if _, err := b.edit(`[{"path":"`+name+`","text":"x"}]`, engine.Options{NoExec: true}); err != nil {
			t.Fatal(err)
		}
	}
	edit("a.txt")
	dry, err := b.Undo(t.Context(), "", engine.Options{DryRun: true, NoExec: true})
	if err != nil {
		t.Fatal(err)
	}
	edit("b.txt")
	applied, err := b.Apply(t.Context(), dry.Plan, engine.Options{NoExec: true})
	if err != nil || changes(applied) != "delete a.txt" {
		t.Errorf("Apply = %v, %v; want a.txt deleted", applied, err)
	}
}

// Two engines apply one plan at the same time: one succeeds, the other is refused.
func TestPlanIsAppliedOnce(t *testing.T) {
	b := open(t)
	dry, err := b.edit(`[{"path":"a.txt","text":"x"}]`, engine.Options{DryRun: true, NoExec: true})
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	errs := make(chan error, 2)
	for range 2 {
		e, err := engine.Open(b.dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		wait.Go(func() {
			_, err := e.Apply(context.Background(), dry.Plan, engine.Options{NoExec: true})
			errs <- err
		})
	}
	wait.Wait()
	first, second := <-errs, <-errs
	if (first == nil) == (second == nil) {
		t.Errorf("Apply returned %v and %v, want one error", first, second)
	}
	if text := b.titles(); strings.Count(text, "edit a.txt") != 1 {
		t.Errorf("the history is\n%swant edit a.txt once", text)
	}
}
