package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/gen"
)

// A panic, a timeout and a cancelled context are errors. Time that the generator spends in the
// engine does not count.
func TestGeneratorIsStopped(t *testing.T) {
	b := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	failing := func(name string, do func(gen.Project)) gen.Generator {
		return gen.Generator{Name: name, InputSchema: json.RawMessage(`{}`), Make: func(p gen.Project, _ json.RawMessage) (gen.Draft, error) {
			do(p)
			return gen.Draft{}, nil
		}}
	}
	e, err := engine.Open(b.dir, []gen.Generator{
		failing("panics", func(gen.Project) { panic("boom") }),
		failing("crashes", func(gen.Project) { var p *gen.Draft; p.Next = nil }),
		failing("loops", func(p gen.Project) { p.Feature("posts"); <-forever }),
		failing("asks", func(p gen.Project) {
			for {
				if _, err := p.Function("./features/posts.Feature"); errors.Is(err, context.Canceled) {
					return
				}
			}
		}),
		failing("cancels", func(gen.Project) { cancel(); <-forever }),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	e.Limits.Time = 50 * time.Millisecond
	for kind, want := range map[string]string{
		"panics":  "run generator panics: panic: boom (",
		"crashes": "run generator crashes: panic: runtime error: invalid memory address or nil pointer dereference (",
		"loops":   "run generator loops: timeout after 50ms; nothing was changed",
		"asks":    "run generator asks: timeout after 50ms; nothing was changed",
		"cancels": "interrupted; this change was not made",
	} {
		_, err := e.Generate(ctx, kind, json.RawMessage(`{}`), engine.Options{})
		b.checkError(err, want)
		if strings.Contains(want, "panic") && !strings.Contains(err.Error(), "engine/run_test.go:") {
			t.Errorf("Generate(%s) = %v, want the position in run_test.go", kind, err)
		}
		if kind == "cancels" {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("Generate(%s) = %v, want it to wrap %v", kind, err, context.Canceled)
			}
			ctx = t.Context()
		}
	}
}

// A generator that goes on after the time limit cannot use the engine any more.
func TestLateGenerator(t *testing.T) {
	b := open(t)
	stopped, late := make(chan struct{}), make(chan error)
	e, err := engine.Open(b.dir, []gen.Generator{{Name: "late", InputSchema: json.RawMessage(`{}`), Make: func(p gen.Project, _ json.RawMessage) (gen.Draft, error) {
		<-stopped
		_, err := p.Function("./features/posts.Feature")
		late <- err
		return gen.Draft{}, err
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	e.Limits.Time = 10 * time.Millisecond
	_, err = e.Generate(t.Context(), "late", json.RawMessage(`{}`), engine.Options{})
	b.checkError(err, "run generator late: timeout after 10ms")
	close(stopped)
	if err := <-late; err == nil {
		t.Error("Function after the time limit = nil error, want one")
	}
}

// A destroy warns that clients break, as sync does after the files were removed.
func TestDestroyWarnsOfClients(t *testing.T) {
	b := open(t)
	if _, err := b.generate("features/posts/mark.go", command("Mark", "return e.Time")); err != nil {
		t.Fatal(err)
	}
	done, err := b.Destroy(t.Context(), "command", "posts/mark", engine.Options{DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(done.String(), "warning: this breaks clients: tool posts_mark was removed") {
		t.Errorf(`the result is %q, want it to contain "warning: this breaks clients: tool posts_mark was removed"`, done.String())
	}
}

// Generators write where an edit may: not in petrock's code, and not in what petrock derives.
func TestGeneratorStaysInTheProject(t *testing.T) {
	b := open(t)
	var draft gen.Draft
	e, err := engine.Open(b.dir, []gen.Generator{{Name: "writes", InputSchema: json.RawMessage(`{}`), Make: func(gen.Project, json.RawMessage) (gen.Draft, error) {
		return draft, nil
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	before := b.snapshot()
	for file, want := range map[string]string{
		"core/mcp/mcp.go":    "core/mcp/mcp.go is in a folder with petrock's code",
		"generators/x/x.go":  "generators/x/x.go is in a folder with petrock's code",
		"tools/tools_gen.go": "tools/tools_gen.go names ending in _gen.go are for derived files",
		"contract.json":      "contract.json records what the server promises",
		"/x.go":              "/x.go: path escapes from parent",
		"../x/x.go":          "../x/x.go: path escapes from parent",
	} {
		files := []gen.File{{Path: file, Text: []byte("package x\n")}}
		if _, exists := before[file]; exists {
			draft = gen.Draft{Kind: "tool", Name: "x", Changes: files}
		} else {
			draft = gen.Draft{Kind: "tool", Name: "x", Files: files}
		}
		_, err := e.Generate(t.Context(), "writes", json.RawMessage(`{}`), engine.Options{NoExec: true})
		b.checkError(err, want)
	}
	if after := b.snapshot(); !maps.Equal(after, before) {
		t.Errorf("the files are now %q, want %q", slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(before)))
	}
}

// An edited plan is refused.
func TestEditedPlanIsRefused(t *testing.T) {
	b := open(t)
	e, err := engine.Open(b.dir, []gen.Generator{{Name: "tried", InputSchema: json.RawMessage(`{}`), Make: func(gen.Project, json.RawMessage) (gen.Draft, error) {
		file := gen.File{Path: "features/posts/mark.go", Text: []byte(command("Mark", "return e.Time"))}
		return gen.Draft{Kind: "command", Name: "posts_mark", Files: []gen.File{file}, Trial: gen.Trial{Test: "TestMark"}}, nil
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for old, edited := range map[string]string{`"after":"`: `"after":"0`, `"options":`: ` "options":`} {
		planned, err := e.Generate(t.Context(), "tried", json.RawMessage(`{}`), engine.Options{DryRun: true, NoExec: true})
		if err != nil {
			t.Fatal(err)
		}
		file := ".petrock/plans/" + planned.Plan + ".json"
		text := b.read(file)
		if !strings.Contains(text, old) {
			t.Fatalf("the plan: got %q, want it to contain %q", text, old)
		}
		b.write(file, strings.Replace(text, old, edited, 1))
		_, err = e.Apply(t.Context(), planned.Plan, engine.Options{NoExec: true})
		b.checkError(err, "was edited")
		b.write(file, text)
		if _, err := e.Apply(t.Context(), planned.Plan, engine.Options{NoExec: true, DryRun: true}); err != nil {
			t.Errorf("the unedited plan is refused: %v", err)
		}
	}
}
