package devserver_test

import (
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/devserver"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/linked"
)

var update = flag.Bool("update", false, "rewrite generators/live/manifest.json")

// A manifest is the content of generators/live/manifest.json.
type manifest struct {
	Instructions      string                     `json:"instructions"`
	Capabilities      map[string]json.RawMessage `json:"capabilities"`
	Tools             []json.RawMessage          `json:"tools"`
	Resources         []json.RawMessage          `json:"resources"`
	ResourceTemplates []json.RawMessage          `json:"resourceTemplates"`
	Prompts           []json.RawMessage          `json:"prompts"`
}

// manifestOf asks a dev server with a prefix for its manifest, in a revision.
func manifestOf(t *testing.T, revision mcp.Revision) manifest {
	t.Helper()
	tools, err := devserver.New(devserver.Options{Dir: t.TempDir(), Generators: linked.All(), Prefix: "petrock_"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tools.Close() })
	client := mcptest.ConnectWith(t, tools.Server, mcptest.Options{Revision: revision})
	m := manifest{Instructions: client.Instructions, Capabilities: client.Capabilities}
	for method, list := range map[string]*[]json.RawMessage{
		"tools/list": &m.Tools, "resources/list": &m.Resources, "resources/templates/list": &m.ResourceTemplates, "prompts/list": &m.Prompts,
	} {
		var page map[string]json.RawMessage
		if err := client.Call(method, nil, &page); err != nil {
			t.Fatal(err)
		}
		if page["nextCursor"] != nil {
			t.Fatalf("%s has pages, but the manifest has one: nextCursor is %s", method, page["nextCursor"])
		}
		field := strings.TrimSuffix(method, "/list")
		if field == "resources/templates" {
			field = "resourceTemplates"
		}
		if err := json.Unmarshal(page[field], list); err != nil {
			t.Fatalf("%s: %v", method, err)
		}
	}
	return m
}

// The manifest is up to date, and the same in both eras.
func TestManifest(t *testing.T) {
	const file = "../live/manifest.json"
	var texts []string
	for _, revision := range []mcp.Revision{mcp.Revision20251125, mcp.Revision20260728} {
		text, err := strictjson.Marshal(manifestOf(t, revision))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text)+"\n")
	}
	if texts[0] != texts[1] {
		t.Errorf("revision 2026-07-28: got %q, want %q", texts[0], texts[1])
	}
	if *update {
		write(t, file, texts[0])
	}
	if now, err := os.ReadFile(file); err != nil || string(now) != texts[0] {
		t.Errorf("%s is stale (%v); run go test ./generators/devserver -run Manifest -update", file, err)
	}
}

// With a prefix, all tools and prompts have it: petrock's, and those of the project's own
// generators.
func TestPrefix(t *testing.T) {
	own := gen.Generator{Name: "note", Description: "Generates a note.", InputSchema: json.RawMessage(`{"type":"object"}`)}
	var names [2][]string
	for i, prefix := range []string{"", "petrock_"} {
		tools, err := devserver.New(devserver.Options{Dir: t.TempDir(), Generators: append(linked.All(), own), NoExec: true, Prefix: prefix})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { tools.Close() })
		client := mcptest.Connect(t, tools.Server)
		for _, tool := range client.Tools() {
			names[i] = append(names[i], strings.TrimPrefix(tool.Name, prefix))
			if !strings.HasPrefix(tool.Name, prefix) {
				t.Errorf("the tool %q lacks the prefix %q", tool.Name, prefix)
			}
		}
		if slices.Contains(names[i], "call") || !slices.Contains(names[i], "generate_note") {
			t.Errorf(`with the prefix %q the tools are %v; want generate_note among them, and no call`, prefix, names[i])
		}
		guide := client.GetPrompt(prefix+"add_feature", map[string]string{"feature": "a counter"})
		text, _ := guide.Messages[0].Content.(mcp.Text)
		if strings.Contains(text.Text, "petrock_edit") != (prefix != "") || strings.Contains(text.Text, "%!") {
			t.Errorf("with the prefix %q add_feature returned %s; want petrock_edit in it only with a prefix, and no formatting error", prefix, text.Text)
		}
		if result := client.CallTool(prefix+"project_status", map[string]any{}); result.IsError {
			t.Errorf("%sproject_status returned the error %s, want success", prefix, result.Text())
		}
	}
	if !slices.Equal(names[0], names[1]) {
		t.Errorf("without a prefix there: got %q, want %q", names[0], names[1])
	}
}
