package campaign_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/engine"
)

// links generates a feature with crud, and a command, a query and a worker whose tests call other
// components.
func (w *world) links(e *engine.Engine) {
	w.Helper()
	const created = `{"tool":"links_create","input":{"url":"a","kind":"page"}}`
	for _, made := range []struct {
		kind string
		in   input
	}{
		{"feature", input{Name: "links", CRUD: true, Fields: []string{"url:string:1..200", "kind:enum(page,file)", "tags:[]string?"}}},
		{"command", input{Name: "links/star", Fields: []string{"id"}, Body: "s.Links[c.ID].Tags = []string{\"star\"}\nreturn StarOutput{}",
			Examples: []json.RawMessage{json.RawMessage(created), json.RawMessage(`{"name":"star","input":{"id":"id1"},"output":{}}`)}}},
		{"query", input{Name: "links/count", Output: []string{"n:int"}, Body: "return CountOutput{N: len(s.Links)}, nil",
			Examples: []json.RawMessage{json.RawMessage(created), json.RawMessage(`{"name":"one","output":{"n":1}}`),
				json.RawMessage(`{"name":"delete it","tool":"links_delete","input":{"id":"id1"}}`), json.RawMessage(`{"name":"none","output":{"n":0}}`)}}},
		{"worker", input{Name: "links/digest", On: []string{"links/create"}, Body: "_, err := app.Do(ctx, Star{ID: e.ID})\nreturn err",
			Examples: []json.RawMessage{json.RawMessage(created), json.RawMessage(`{"name":"starred","tool":"links_get","input":{"id":"id1"}}`)}}},
	} {
		if _, err := e.Generate(w.Context(), made.kind, made.in.json(), engine.Options{NoExec: true}); err != nil {
			w.Fatalf("generating the %s %s: %v", made.kind, made.in.json(), err)
		}
	}
}

// After destroying any component of a feature, the remaining tests pass, and undo restores every
// file.
func TestDestroyLeavesNoFailingTests(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t)
	e := w.engine()
	w.links(e)
	w.goCommand("test", "-vet=all", "./features/...")
	if test := w.read("features/links/star_test.go"); !strings.Contains(test, `links.Create{URL: "a", Kind: "page"}`) {
		t.Errorf(`the test of star is %q, want it to contain "links.Create{URL: \"a\", Kind: \"page\"}"`, test)
	}
	before := w.tree()
	for _, test := range []struct {
		kind, name string
		first      string   // a worker that is destroyed first
		refused    string   // part of the refusal; "" if it succeeds
		gone       []string // tests that are removed in addition to its own
	}{
		{kind: "command", name: "links/create", refused: "destroy command links_create: other code uses it:\n  features/links/digest.go:"},
		{kind: "command", name: "links/create", first: "links/digest", gone: []string{"count_test.go", "delete_test.go", "get_test.go", "list_test.go", "star_test.go", "update_test.go"}},
		{kind: "command", name: "links/update"},
		{kind: "command", name: "links/delete", gone: []string{"count_test.go"}},
		{kind: "query", name: "links/get", gone: []string{"digest_test.go"}},
		{kind: "query", name: "links/list", gone: []string{"delete_test.go"}},
		{kind: "command", name: "links/star", refused: "destroy command links_star: other code uses it:\n  features/links/digest.go:"},
		{kind: "query", name: "links/count"},
		{kind: "worker", name: "links/digest"},
	} {
		var ids []string
		if test.first != "" {
			result, err := e.Destroy(t.Context(), "worker", test.first, engine.Options{})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, result.Operation)
		}
		result, err := e.Destroy(t.Context(), test.kind, test.name, engine.Options{})
		if test.refused != "" {
			if err == nil || !strings.Contains(err.Error(), test.refused) {
				t.Errorf("destroy %s: error %v, want %q in it", test.name, err, test.refused)
			}
			w.unchanged(before, "after a refusal")
			continue
		}
		if err != nil {
			t.Fatalf("destroying %s: %v", test.name, err)
		}
		w.wantTests(result, test.gone)
		w.goCommand("test", "-vet=all", "./features/...")
		w.formatted("features")
		w.fresh(e)
		for _, id := range slices.Backward(append(ids, result.Operation)) {
			w.undo(e, id)
		}
		w.unchanged(before, "after destroying "+test.name+" and undoing it")
	}
}

// wantTests fails the test unless a result lists exactly these tests of links as removed, in
// addition to the component's own.
func (w *world) wantTests(result *engine.Result, gone []string) {
	w.Helper()
	own := strings.TrimPrefix(strings.TrimPrefix(result.Name, "links_"), "links/") + "_test.go"
	var wentNow []string
	for _, f := range result.Files {
		if name, ok := strings.CutPrefix(f.Path, "features/links/"); ok && strings.HasSuffix(name, "_test.go") && name != own {
			wentNow = append(wentNow, name)
		}
	}
	if !slices.Equal(wentNow, gone) {
		w.Errorf("destroy %s: removed %q, want %q", result.Name, wentNow, gone)
	}
	for _, name := range gone {
		if want := "features/links/" + name + ": removed this file, because it used "; !strings.Contains(result.String(), want) {
			w.Errorf("the result lacks %q:\n%s", want, result)
		}
	}
}

// A component that edited tests use cannot be destroyed, even with force.
func TestDestroyRefusesEditedTests(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t)
	e := w.engine()
	w.generate(e, "feature", input{Name: "notes", CRUD: true, Fields: []string{"title:string:1..50"}})
	w.write("tools/notes_test.go", `package tools_test

import (
	"testing"

	"hello/core/app/apptest"
	"hello/features/notes"
)

func TestRemove(t *testing.T) {
	client := apptest.Serve(t, notes.Feature())
	client.Given("notes_delete", map[string]string{"id": "id1"})
}
`)
	before := w.tree()
	_, err := e.Destroy(t.Context(), "command", "notes/delete", engine.Options{Force: true})
	refused := w.refusal(err)
	if len(refused.Diagnostics) != 1 || refused.Diagnostics[0].File != "tools/notes_test.go" || refused.Diagnostics[0].Line != 12 {
		t.Errorf("the refusal is %v with %+v; want one diagnostic, at tools/notes_test.go:12", err, refused.Diagnostics)
	}
	w.unchanged(before, "after a refusal")
}
