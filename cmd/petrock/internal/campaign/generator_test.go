package campaign_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/linked"
)

// The project's own generators can have unusual names. Invalid names are refused with the reason.
func TestGeneratorNames(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t)
	untried := linked.All() // building the project's petrock for each takes too long
	for i, g := range untried {
		untried[i].Make = func(p gen.Project, input json.RawMessage) (gen.Draft, error) {
			draft, err := g.Make(p, input)
			draft.Trial = gen.Trial{}
			return draft, err
		}
	}
	e, err := engine.Open(w.dir, untried)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	before := w.tree()
	for refused, names := range map[string][]string{
		"": {"handler", "func", "Interface", "HTTPHandler", "a_b_c", "send-test", "test", "gen", "x_gen", "windows", "window", "io", "con", "string", "error", "testing", "new", "register", "main", "init", "list", "sync",
			"path", "strings", "jen", "emit", "kit", "naming", "sentence", "name", "file", "in", "p", "err", "first", "project", "generators", "tools", "files", "class", "query_by_id", "hello", "petrock", "run", "fields", "doc", "tool_input", "PromptInput", strings.Repeat("a", 41)},
		"is reserved in":          {"all", "All", "type", "Type", "tool", "Tool", "to_ol", "resource", "prompt", "generator", "component", "feature", "command", "query", "version", "worker"},
		"clients reject the name": {strings.Repeat("a", 42)},
		"invalid name":            {"", "a b", "../x", "a/b", "_", "1a", "ä", "a\nb"},
	} {
		for _, name := range names {
			result, err := e.Generate(t.Context(), "generator", input{Name: name}.json(), engine.Options{DryRun: true})
			switch {
			case err == nil && refused != "":
				t.Errorf("%q is not refused", name)
			case err != nil && (refused == "" || !strings.Contains(err.Error(), refused)):
				t.Errorf("%q: want %q in the error: %v", name, refused, err)
			case err != nil:
				w.clear(err)
			case len(result.Components) != 1 || result.Components[0].Kind != derive.Generator || len(result.Components[0].Input) == 0 || len(result.Refused)+len(result.Warnings) > 0:
				t.Errorf("%q: the result is %+v", name, result)
			}
		}
	}
	w.unchanged(before, "after dry runs,")
}

// The project's own generators are listed, destroyed and undone like components. Petrock's are not.
func TestGeneratorOfOurOwn(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t)
	e := w.engine()
	before := w.tree()
	listed := func() string {
		t.Helper()
		listing, err := e.List(t.Context())
		if err != nil || !listing.OK {
			t.Fatalf("the list is %+v: %v; want no error and OK true", listing, err)
		}
		var names []string
		for _, c := range listing.Components {
			names = append(names, string(c.Kind)+" "+c.Name)
		}
		return strings.Join(names, ", ")
	}
	if got := listed(); got != "tool add" {
		t.Errorf(`a new project: got %q, want "tool add"`, got)
	}
	made := w.generate(e, "generator", input{Name: "handler", Description: "Makes a handler."})
	if made.Kind != "generator" || made.Name != "handler" || len(made.Files) != 4 || made.Components[0].Description != "Makes a handler." {
		t.Errorf(`the result is %+v; want the generator handler with four files and the description "Makes a handler."`, made)
	}
	if got := listed(); got != "generator handler, tool add" {
		t.Errorf(`the project: got %q, want "generator handler, tool add"`, got)
	}
	w.formatted("internal/generators")
	w.fresh(e)
	with := w.tree()
	for _, name := range []string{"tool", "generator"} {
		_, err := e.Destroy(t.Context(), "generator", name, engine.Options{Force: true})
		if err == nil || !strings.Contains(err.Error(), "does not exist") {
			t.Errorf(`destroy generator %s: %v; want an error containing "does not exist"`, name, err)
		}
	}
	w.replace("internal/generators/handler.go", "Greets", "Meets")
	w.refusal(second(e.Destroy(t.Context(), "generator", "handler", engine.Options{})))
	w.refusal(second(e.Undo(t.Context(), "", engine.Options{})))
	w.replace("internal/generators/handler.go", "Meets", "Greets")
	gone, err := e.Destroy(t.Context(), "generator", "handler", engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.unchanged(before, "after it is destroyed,")
	w.undo(e, gone.Operation)
	w.unchanged(with, "after that is undone,")
	w.undo(e, made.Operation)
	w.unchanged(before, "in the end")

	// An invalid generator blocks only other generators.
	w.write("internal/generators/wrong.go", "package generators\n\nimport \"hello/generators/gen\"\n\n// Wrong is wrong.\nfunc Wrong() (gen.Draft, error) { return gen.Draft{}, nil }\n")
	refused := w.refusal(second(e.Generate(t.Context(), "generator", input{Name: "handler"}.json(), engine.Options{})))
	if !strings.Contains(refused.Error(), "internal/generators/wrong.go:6:6: Wrong is exported but does not have the signature of a generator") {
		t.Errorf("the refusal: got %v, want it to contain %q", refused, "internal/generators/wrong.go:6:6: Wrong is exported but does not have the signature of a generator")
	}
	w.generate(e, "prompt", input{Name: "more"})
}

// The results of the project's own generators are checked like those of petrock's.
func TestGeneratorDrafts(t *testing.T) {
	t.Parallel()
	for _, test := range pick(t, 1, []struct {
		file, text string
		refused    string // part of the error; "" if it succeeds
	}{
		{"notes/first.md", "# First\n", ""},
		{"notes/empty.txt", "", ""},
		{"notes/first.go", "package notes\n", ""},
		{"notes/first.go", "package notes\n\nvar x int = \"\"\n", "the change would not compile"},
		{"notes/first.go", "package\n", "*"},
		{"tools/first.go", "package tools\n\nfunc Wrong() {}\n", "Wrong is exported but does not have the signature of a tool"},
		{"README.md", "Mine now.\n", "already exists"},
		{"../outside/first.md", "", "*"},
		{"/first.md", "", "*"},
		{"notes/../first.md", "", "*"},
		{".petrock/first.md", "", "*"},
	}) {
		t.Run(test.file, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			e, err := engine.Open(w.dir, append(linked.All(), gen.Generator{
				Name: "note", InputSchema: json.RawMessage(`{"type":"object"}`),
				Make: func(gen.Project, json.RawMessage) (gen.Draft, error) {
					return gen.Draft{Kind: "note", Name: "first", Files: []gen.File{{Path: test.file, Text: []byte(test.text)}}}, nil
				},
			}))
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			before, outside := w.tree(), w.outside()
			result, err := e.Generate(t.Context(), "note", json.RawMessage("{}"), engine.Options{})
			if test.refused != "" {
				if err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(test.refused, "*")) {
					t.Errorf("want %q in the error: %v", test.refused, err)
				}
			} else if err != nil || w.read(test.file) != test.text {
				t.Fatalf("%s is %q, %v; want %q", test.file, w.read(test.file), err, test.text)
			} else {
				w.undo(e, result.Operation)
			}
			w.unchanged(before, "in the end")
			if how := outside.differences(w.outside()); how != "" {
				t.Errorf("files outside the project differ:\n%s", how)
			}
		})
	}
}
