package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/generators/devserver"
	"github.com/petrock/petrock/generators/linked"
)

// serveMCP runs the dev server of petrock mcp in a folder, and returns a client of it.
func serveMCP(t *testing.T, dir, prefix string) *mcptest.Client {
	t.Helper()
	tools, err := newDevServer(devserver.Options{Dir: dir, Generators: linked.All(), Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tools.Close() })
	return mcptest.Connect(t, tools.Server)
}

// The definitions of all tools cost a model little. Clients that defer them show only names and the
// beginnings of descriptions, which therefore differ.
func TestToolsAreCheap(t *testing.T) {
	client := serveMCP(t, t.TempDir(), "petrock_")
	var listed json.RawMessage
	if err := client.Call("tools/list", nil, &listed); err != nil {
		t.Fatal(err)
	}
	const maxBytes = 20000 // 5,000 tokens
	t.Logf("%d tools, %d bytes", len(client.Tools()), len(listed))
	if len(listed) > maxBytes {
		t.Errorf("tools/list has %d bytes, want at most %d", len(listed), maxBytes)
	}
	seen := map[string]string{}
	for _, tool := range client.Tools() {
		beginning := tool.Description[:min(40, len(tool.Description))]
		if other := seen[beginning]; other != "" || len(beginning) < 20 {
			t.Errorf("%s and %s start with %q; want a beginning of their own of at least 20 characters", tool.Name, other, beginning)
		}
		seen[beginning] = tool.Name
		if !strings.HasPrefix(tool.Name, "petrock_") {
			t.Errorf(`the tool %q lacks the prefix "petrock_"`, tool.Name)
		}
	}
}

// A project goes below the folder that petrock was started in, and nowhere else.
func TestNewProjectIsRooted(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "here")
	for _, made := range []string{dir, filepath.Join(base, "elsewhere")} {
		if err := os.Mkdir(made, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(base, "elsewhere"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	client := serveMCP(t, dir, "")
	for _, test := range []struct{ name, dir, says string }{
		{"hello", "../elsewhere/hello", "name a folder below"},
		{"hello", filepath.Join(base, "elsewhere", "hello"), "name a folder below"},
		{"hello", "link/hello", "name a folder below"},
		{"hello", "link", "name a folder below"},
		{"../hello", "", "name a folder below"},
		{"func", "", "func"},
		{"", "", "name"},
	} {
		arguments := map[string]any{"name": test.name}
		if test.dir != "" {
			arguments["dir"] = test.dir
		}
		if said := client.CallTool("new_project", arguments); !said.IsError || !strings.Contains(said.Text(), test.says) {
			t.Errorf("%v returned %s, want %s in it", arguments, said.Text(), test.says)
		}
	}
	for _, folder := range []string{dir, filepath.Join(base, "elsewhere")} {
		entries, err := os.ReadDir(folder)
		if err != nil || len(entries) > 1 {
			t.Errorf("in %s there is %v, %v; want no error and at most 1 entry", folder, entries, err)
		}
	}
}
