package campaign_test

import (
	"encoding/json"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/generators/devserver"
	"github.com/petrock/petrock/generators/docs"
	"github.com/petrock/petrock/generators/engine"
)

// block finds the blocks of the documentation that name a tool or a file: language, name and text.
var block = regexp.MustCompile("(?ms)^```(json|go) (\\S+)\n(.*?)^```$")

// All tool inputs and Go files of the documentation work, and the project then compiles and passes
// its tests. A generator that the documentation adds can be used in the same session. TestDocs in
// cmd/petrock runs the commands.
func TestDocs(t *testing.T) {
	takesLong(t)
	w := newWorld(t)
	before := w.tree()
	client := w.serve(devserver.Options{})
	var operations, written []string
	for _, page := range docs.Pages() {
		text := client.ReadResource("petrock://docs/" + page.Topic)[0].Text
		for _, f := range block.FindAllStringSubmatch(text, -1) {
			if f[1] == "json" {
				made := mustCall[engine.Result](w, client, f[2], json.RawMessage(f[3]))
				operations = append(operations, made.Operation)
			} else {
				w.write(f[2], strings.ReplaceAll(f[3], "MODULE", module))
				written = append(written, f[2])
			}
		}
	}
	if built := mustCall[devserver.BuildOutput](w, client, "build", object{}); !built.OK {
		t.Fatalf("build returned %+v, want OK", built)
	}
	operations = append(operations, w.useGenerator(client))
	w.goCommand("test", "./tools", "./resources", "./prompts", "./features/...", "./macros", "./internal/...", "./cmd/...")
	w.formatted(".")

	for _, file := range written {
		if err := removeAll(w.path(file)); err != nil {
			t.Fatal(err)
		}
		for dir := path.Dir(file); os.Remove(w.path(dir)) == nil; dir = path.Dir(dir) { // empty folders
		}
	}
	if _, err := w.engine().Sync(t.Context(), engine.Options{}); err != nil { // removes the derived files of written packages
		t.Fatal(err)
	}
	for i := range operations {
		mustCall[engine.Result](w, client, "undo", object{"operation": operations[len(operations)-1-i]})
	}
	if hasTool(client, "generate_macro") {
		t.Error("after undo there is still a tool generate_macro, want none")
	}
	if _, err := w.engine().Sync(t.Context(), engine.Options{}); err != nil {
		t.Fatal(err)
	}
	w.unchanged(before, "after undoing all of it")
}

// useGenerator uses the generator that the documentation adds, with generate_component and with its
// own tool.
func (w *world) useGenerator(client *mcptest.Client) (operation string) {
	w.Helper()
	if !hasTool(client, "generate_macro") {
		w.Error("there is no tool generate_macro")
	}
	first := mustCall[engine.Result](w, client, "generate_component", object{"kind": "macro", "name": "first", "subject": "VPN"})
	if first.Kind != "macro" || len(first.Files) != 2 || !strings.Contains(w.read("macros/first.go"), "func First(") {
		w.Errorf("the new generator makes %+v", first)
	}
	if said := client.CallTool("generate_macro", object{"name": "first", "subject": "VPN"}); !said.IsError || !strings.Contains(said.Text(), "macros/first.go already exists") {
		w.Errorf("the second generate_macro returned %s", said.Text())
	}
	if said := client.CallTool("generate_component", object{"kind": "nothing", "name": "x"}); !said.IsError || !strings.Contains(said.Text(), `generator "nothing" does not exist`) {
		w.Errorf("generate_component with an unknown kind returned %s", said.Text())
	}
	return first.Operation
}

// hasTool reports whether the dev server has a tool.
func hasTool(client *mcptest.Client, name string) bool {
	for _, tool := range client.Tools() {
		if tool.Name == name {
			return true
		}
	}
	return false
}
