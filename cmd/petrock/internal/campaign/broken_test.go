package campaign_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/devserver"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/typecheck"
)

// faults are Go files of the package tools with different errors. Each declares the tool broken,
// except the last ones, which break other declarations.
func faults() map[string]string {
	return map[string]string{
		"a syntax error": "package tools\n\nfunc Broken( {\n",
		"a type error in a body": `package tools

func helper() int { return "no number" }
`,
		"a type error in a signature": `package tools

import "context"

// Broken is broken.
func Broken(ctx context.Context, in Missing) (Missing, error) { return in, nil }
`,
		"a missing import": `package tools

import "context"

import "example.com/not/there"

// Broken is broken.
func Broken(ctx context.Context, in there.Input) (there.Output, error) { return there.Do(in) }
`,
	}
}

// registers fails the test unless a derived file contains the texts.
func (w *world) registers(file string, texts ...string) {
	w.Helper()
	for _, text := range texts {
		if got := w.read(file); !strings.Contains(got, text) {
			w.Errorf("%s lacks %q:\n%s", file, text, got)
		}
	}
}

// An error in one package does not prevent generating in another, and no tool is lost.
func TestBrokenElsewhere(t *testing.T) {
	takesLong(t)
	t.Parallel()
	for _, what := range pickKeys(t, 1, faults()) {
		text := faults()[what]
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			e := w.engine()
			w.generate(e, "tool", input{Name: "kept", Fields: []string{"a:int"}})
			toolsGen := w.read("tools/tools_gen.go")
			w.write("tools/broken.go", text)
			before := w.tree()

			first := w.generate(e, "prompt", input{Name: "review", Fields: []string{"code"}})
			second := w.generate(e, "resource", input{Name: "note", URI: "note://{id}"})
			if got := w.read("tools/tools_gen.go"); got != toolsGen {
				t.Errorf("tools/tools_gen.go is now %q, want %q", got, toolsGen)
			}
			w.registers("cmd/hello/wire_gen.go", "tools.Register", "prompts.Register", "resources.Register")

			w.undo(e, first.Operation)
			w.registers("cmd/hello/wire_gen.go", "tools.Register", "resources.Register")
			w.undo(e, second.Operation)
			w.unchanged(before, "when all is undone,")
		})
	}
}

// Petrock does not derive from a package that does not parse or that exposes unknown types. It does
// if only function bodies are wrong.
func TestBrokenHere(t *testing.T) {
	t.Parallel()
	for _, what := range pickKeys(t, 1, faults()) {
		text := faults()[what]
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			e := w.engine()
			kept := w.generate(e, "tool", input{Name: "kept"})
			w.write("tools/broken.go", text)
			before := w.tree()

			result, err := e.Generate(t.Context(), "tool", input{Name: "more"}.json(), engine.Options{})
			if what == "a type error in a body" {
				if err != nil {
					t.Fatalf("an error in a function body blocks the change: %v", err)
				}
				// A change that only adds does not check existing function bodies.
				for _, d := range result.Diagnostics {
					if d.File != "tools/broken.go" {
						t.Errorf(`the diagnostic is %+v, want one in tools/broken.go`, d)
					}
				}
				w.registers("tools/tools_gen.go", "kept", "more", "add")
				w.undo(e, result.Operation)
				w.unchanged(before, "after the undo,")
				return
			}
			refused := w.refusal(err)
			if len(refused.Diagnostics) == 0 || refused.Diagnostics[0].File != "tools/broken.go" || refused.Remedy == "" || !strings.Contains(refused.Error(), "tools/broken.go") {
				t.Errorf("the refusal is %+v; want diagnostics that begin with tools/broken.go, a remedy, and the file in the message", refused)
			}
			w.unchanged(before, "after the refusal,")
			if _, err := e.Undo(t.Context(), kept.Operation, engine.Options{}); err == nil {
				t.Error("undo succeeds although tools cannot be derived")
			}
			if _, err := e.Destroy(t.Context(), "tool", "kept", engine.Options{}); err == nil {
				t.Error("destroy succeeds although tools cannot be derived")
			}
			w.unchanged(before, "after an undo and a destroy that are refused,")
		})
	}
}

// A broken package outside tools does not block changes unless a tool exposes one of its broken
// types. Petrock does not change it.
func TestBrokenImported(t *testing.T) {
	takesLong(t)
	t.Parallel()
	use := `package tools

import (
	"context"

	"` + module + `/lib"
)

// UseInput is the input of use.
type UseInput struct {
	A lib.Number ` + "`json:\"a\"`" + ` // A number
}

// UseOutput is the output of use.
type UseOutput struct{}

// Use uses another package.
func Use(ctx context.Context, in UseInput) (UseOutput, error) { return UseOutput{}, lib.Check(in.A) }
`
	const number = "package lib\n\n// Number is a number.\ntype Number int\n"
	for _, test := range pick(t, 2, []struct {
		what, lib string
		works     bool // a tool can be generated
	}{
		{"sound", number + "\n// Check checks.\nfunc Check(Number) error { return nil }\n", true},
		{"a type error in a body", number + "\n// Check checks.\nfunc Check(Number) error { return 5 }\n", true},
		{"a type error in a signature", number + "\n// Check checks.\nfunc Check(Missing) error { return nil }\n", true},
		{"a missing import", "package lib\n\nimport \"example.com/not/there\"\n\n// Number is a number.\ntype Number int\n\n// Check checks.\nfunc Check(Number) error { return there.Do() }\n", true},
		{"a type that is exposed", "package lib\n\n// Number is a number.\ntype Number Missing\n\n// Check checks.\nfunc Check(Number) error { return nil }\n", false},
		{"a syntax error", number + "\nfunc Check( {\n", true},
	}) {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			e := w.engine()
			w.write("lib/lib.go", number+"\n// Check checks.\nfunc Check(Number) error { return nil }\n")
			w.write("tools/use.go", use)
			if _, err := e.Sync(t.Context(), engine.Options{}); err != nil {
				t.Fatal(err)
			}
			w.write("lib/lib.go", test.lib)
			before := w.tree()
			result, err := e.Generate(t.Context(), "tool", input{Name: "more"}.json(), engine.Options{})
			if !test.works {
				if said := w.refusal(err).Error(); !strings.Contains(said, "tools") {
					t.Errorf(`the refusal is %q, want it to contain "tools"`, said)
				}
				w.unchanged(before, "after the refusal,")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			w.registers("tools/tools_gen.go", "more", "use", "add")
			w.undo(e, result.Operation)
			w.unchanged(before, "after the undo,")
		})
	}
}

// Tools can be generated while the server does not compile.
func TestBrokenProgram(t *testing.T) {
	takesLong(t)
	t.Parallel()
	for _, what := range pickKeys(t, 1, faults()) {
		text := faults()[what]
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			e := w.engine()
			w.write("cmd/hello/broken.go", strings.Replace(text, "package tools", "package main", 1))
			before := w.tree()
			result := w.generate(e, "tool", input{Name: "more"})
			other := w.generate(e, "prompt", input{Name: "more"})
			w.registers("tools/tools_gen.go", "more", "add")
			w.registers("cmd/hello/wire_gen.go", "tools.Register", "prompts.Register")
			w.undo(e, result.Operation)
			w.undo(e, other.Operation)
			w.unchanged(before, "after the undo,")
		})
	}
}

// sync names a broken package, does not change its derived files, and derives the others.
func TestBrokenSync(t *testing.T) {
	t.Parallel()
	for _, what := range pickKeys(t, 1, faults()) {
		text := faults()[what]
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			e := w.engine()
			w.generate(e, "prompt", input{Name: "review", Description: "Asks for a review."})
			w.generate(e, "resource", input{Name: "note", URI: "note://{id}"})
			w.write("tools/broken.go", text)
			w.replace("prompts/review.go", "Review asks for a review.", "Review reviews.")
			if err := removeAll(w.path("resources/resources_gen.go"), w.path("cmd/hello/wire_gen.go")); err != nil {
				t.Fatal(err)
			}
			tools := w.read("tools/tools_gen.go")
			out, errOut, status := w.run("sync")
			inside := what == "a type error in a body"
			if want := map[bool]int{true: 0, false: 1}[inside]; status != want {
				t.Errorf("sync: exit code %d, want %d: %s%s", status, want, out, errOut)
			}
			if !inside && !strings.Contains(out, "tools/broken.go") {
				t.Errorf("sync prints %s%s, want the error in tools/broken.go", out, errOut)
			}
			if got := w.read("tools/tools_gen.go"); got != tools {
				t.Errorf("tools/tools_gen.go is now %q, want %q", got, tools)
			}
			w.registers("prompts/prompts_gen.go", "Reviews.")
			w.registers("resources/resources_gen.go", "note://{id}")
			w.registers("cmd/hello/wire_gen.go", "tools.Register", "prompts.Register", "resources.Register")
			if _, _, status := w.run("sync", "--check"); (status == 0) != inside {
				t.Errorf("sync --check: exit code %d, want 0: %t", status, inside)
			}
			if _, _, status := w.run("list"); (status == 0) != inside {
				t.Errorf("list: exit code %d, want 0: %t", status, inside)
			}
		})
	}
}

// A generation can be undone after its files were broken.
func TestBrokenByItself(t *testing.T) {
	t.Parallel()
	for _, what := range pickKeys(t, 1, faults()) {
		text := faults()[what]
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			e := w.engine()
			before := w.tree()
			made := w.generate(e, "tool", input{Name: "broken"})
			w.write("tools/broken.go", text)
			edited := w.tree()
			if refused := w.refusal(second(e.Undo(t.Context(), made.Operation, engine.Options{}))); len(refused.Files) == 0 {
				t.Errorf("the refusal is %+v, want it to show the edited files", refused)
			}
			w.unchanged(edited, "after the refusal,")
			if _, err := e.Undo(t.Context(), made.Operation, engine.Options{Force: true}); err != nil {
				t.Fatal(err)
			}
			w.unchanged(before, "after the undo,")
		})
	}
}

// With no_compile, build derives after files were saved. It and project_status report each error in
// the saved file once. An operation is recorded only if the contract changes.
func TestBuildAfterSaves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := w.serve(devserver.Options{Prefix: "petrock_"})
	derive := object{"no_compile": true}
	operations := func() int {
		return len(mustCall[engine.History](w, client, "petrock_history", object{}).Operations)
	}
	sound := func(want ...string) {
		t.Helper()
		var derived []string
		built := mustCall[devserver.BuildOutput](w, client, "petrock_build", derive)
		for _, f := range built.Derived {
			derived = append(derived, f.Path)
		}
		if !built.OK || built.Program != "" || !slices.Equal(derived, want) {
			t.Errorf("build returned %+v, want %v", built, want)
		}
	}
	once := func(found []typecheck.Diagnostic) bool {
		seen := map[string]bool{}
		for _, d := range found {
			if seen[d.String()] {
				return false
			}
			seen[d.String()] = true
		}
		return slices.ContainsFunc(found, func(d typecheck.Diagnostic) bool { return d.File == "tools/broken.go" && d.Line > 0 })
	}
	sound()
	for what, text := range faults() {
		w.write("tools/broken.go", text)
		if built := mustCall[devserver.BuildOutput](w, client, "petrock_build", derive); built.OK || !once(append(built.Refused, built.Diagnostics...)) || (len(built.Refused) == 0) != (what == "a type error in a body") {
			t.Errorf("%s: build returned %+v; want OK false and the error once, as a diagnostic for a type error in a body, else as a refusal", what, built)
		}
		if status := mustCall[devserver.ProjectStatusOutput](w, client, "petrock_project_status", object{}); status.OK || status.Builds || !once(status.Diagnostics) {
			t.Errorf("%s: project_status returned %s; want OK and Builds false, and the error once", what, status)
		}
	}
	if got := operations(); got != 0 {
		t.Errorf("the journal has %d operations, want 0", got)
	}
	w.write("tools/broken.go", "package tools\n\nimport \"context\"\n\n// Whole is whole.\nfunc Whole(ctx context.Context, in struct{}) (string, error) { return \"\", nil }\n")
	if status := mustCall[devserver.ProjectStatusOutput](w, client, "petrock_project_status", object{}); !status.Builds || !strings.Contains(status.String(), "stale: contract.json, tools/tools_gen.go; run petrock sync") {
		t.Errorf(`with a new tool, project_status returned %s; want it to build, and "stale: contract.json, tools/tools_gen.go; run petrock sync" in it`, status)
	}
	sound("contract.json", "tools/tools_gen.go")
	sound()
	w.replace("tools/broken.go", `return ""`, `return "whole"`)
	sound()
	if got := operations(); got != 0 {
		t.Errorf("the journal has %d operations, want 0", got)
	}
}
