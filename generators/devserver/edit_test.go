package devserver_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/generators/devserver"
	"github.com/petrock/petrock/generators/engine"
)

// newProject writes a project with stubs of core, and a package sun.
func newProject(t *testing.T) string {
	t.Helper()
	t.Setenv("GOWORK", "off")
	root := t.TempDir()
	archive, err := txtar.ParseFile("../engine/testdata/features.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range archive.Files {
		write(t, filepath.Join(root, filepath.FromSlash(file.Name)), string(file.Data))
	}
	write(t, filepath.Join(root, "sun", "sun.go"), "package sun\n\n// Rise returns the hour.\nfunc Rise() int { return 6 }\n")
	write(t, filepath.Join(root, "sun", "sun_test.go"), "package sun\n\nimport \"testing\"\n\nfunc TestRise(t *testing.T) {\n\tif Rise() != 6 {\n\t\tt.Errorf(\"it rises at %d\", Rise())\n\t}\n}\n")
	return root
}

// The options that a refusal names are arguments of the tool.
func TestRefusalNamesArguments(t *testing.T) {
	root := newProject(t)
	client := connect(t, devserver.Options{Dir: root})
	file, text := filepath.Join(root, "sun", "sun.go"), "package sun\n\n// Rise returns the hour.\nfunc Rise() int { return %d }\n"
	edits := map[string]any{"edits": []any{map[string]any{"path": "sun/sun.go", "text": fmt.Sprintf(text, 7)}}}
	for _, step := range []struct {
		tool      string
		arguments map[string]any
		hour      int // that the user writes before
		say       string
	}{
		{"edit", edits, 6, "Edited sun/sun.go"},
		{"undo", map[string]any{}, 8, "With keep these files stay and the rest is undone; with force they are undone too"},
		{"undo", map[string]any{"keep": true}, 0, "there is nothing to undo"},
		{"undo", map[string]any{"force": true, "no_data": true}, 0, "Undid"},
		{"undo", map[string]any{"redo": true}, 9, "With keep these files stay and the rest is redone; with force they are redone too"},
		{"undo", map[string]any{"redo": true, "keep": true}, 0, "there is nothing to redo"},
		{"undo", map[string]any{"redo": true, "force": true, "no_data": true}, 0, "Redid"},
		{"apply", map[string]any{"plan": "0123", "no_data": true}, 0, "plan"},
	} {
		if step.hour > 0 {
			write(t, file, fmt.Sprintf(text, step.hour))
		}
		if result := client.CallTool(step.tool, step.arguments); !strings.Contains(result.Text(), step.say) || strings.Contains(result.Text(), "invalid arguments") {
			t.Errorf("%s %v = %s, want %q in it", step.tool, step.arguments, result.Text(), step.say)
		}
	}
}

// An agent reads a file, edits it, runs the tests, and undoes the edit.
func TestEditAndTest(t *testing.T) {
	client := connect(t, devserver.Options{Dir: newProject(t)})
	if read := client.CallTool("inspect_component", map[string]any{"name": "sun/sun.go"}); read.IsError || !strings.Contains(read.Text(), "func Rise() int { return 6 }\n") {
		t.Errorf(`inspect_component returned %s; want IsError false and Text containing "func Rise() int { return 6 }\n"`, read.Text())
	}
	edit := func(test bool, old, new string) *mcp.ToolResult {
		return client.CallTool("edit", map[string]any{"test": test, "edits": []any{
			map[string]any{"path": "sun/sun.go", "replace": []any{map[string]any{"old": old, "new": new}}},
		}})
	}
	for _, c := range []struct {
		test          bool
		old, new, say string
	}{
		{false, "return 6", "return six", "sun/sun.go:4:26: undefined: six"},
		{false, "return 7", "return 8", "old does not occur"},
		{true, "return 6", "return 7", "sun TestRise (sun/sun_test.go:7: t.Errorf(\"it rises at %d\", Rise())):\n    it rises at 7"},
	} {
		result := edit(c.test, c.old, c.new)
		var fault engine.Fault
		if err := json.Unmarshal(result.StructuredContent, &fault); err != nil || !result.IsError || fault.Refusal == nil || !strings.Contains(result.Text(), c.say) {
			t.Errorf("%+v: got %s (%v); want a refusal containing %q", c, result.Text(), err, c.say)
		}
	}
	if result := edit(false, "return 6", "return 7"); result.IsError || !strings.Contains(result.Text(), "Edited sun/sun.go (operation 0001-") {
		t.Fatalf(`edit returned %s (error: %t); want no error, and "Edited sun/sun.go (operation 0001-" in it`, result.Text(), result.IsError)
	}
	tested := client.CallTool("test", map[string]any{})
	var found engine.TestResult
	if err := json.Unmarshal(tested.StructuredContent, &found); err != nil || tested.IsError || found.OK || found.Failed != 1 || found.Failures[0].File != "sun/sun_test.go" || found.Failures[0].Line != 7 {
		t.Errorf("test returned %s (%v); want OK false and one failure at sun/sun_test.go:7", tested.StructuredContent, err)
	}
	if result := client.CallTool("undo", map[string]any{}); result.IsError {
		t.Fatalf("undo returned the error %s, want success", result.Text())
	}
	if tested := client.CallTool("test", map[string]any{"packages": []string{"sun"}, "run": "Rise"}); tested.Text() != "All tests passed: 1 passed in 1 package.\n" {
		t.Errorf(`test: got %q, want "All tests passed: 1 passed in 1 package.\n"`, tested.Text())
	}
}

// With NoExec, tests do not run, but edits work.
func TestEditWithoutExec(t *testing.T) {
	client := connect(t, devserver.Options{Dir: newProject(t), NoExec: true})
	if slices.ContainsFunc(client.Tools(), func(tool mcp.Tool) bool { return tool.Name == "test" }) {
		t.Error("with NoExec there is a tool test, want none")
	}
	edits := []any{map[string]any{"path": "a.txt", "text": "A"}}
	if result := client.CallTool("edit", map[string]any{"test": true, "edits": edits}); !result.IsError || !strings.Contains(result.Text(), "--no-exec") {
		t.Errorf(`edit with test returned %s; want IsError true and Text containing "--no-exec"`, result.Text())
	}
	if result := client.CallTool("edit", map[string]any{"edits": edits}); result.IsError {
		t.Errorf("edit returned the error %s, want success", result.Text())
	}
}

// search returns a page of text that fits, or with detail everything. No match is no error.
func TestSearch(t *testing.T) {
	root := newProject(t)
	write(t, filepath.Join(root, "notes.md"), strings.Repeat("a long line of notes\n", 400))
	client := connect(t, devserver.Options{Dir: root})
	for _, test := range []struct {
		arguments map[string]any
		keeps     string
		isLong    bool
	}{
		{map[string]any{"pattern": "long"}, "of 400 matches; pass offset: ", false},
		{map[string]any{"pattern": "long", "detail": true}, "\n400: a long line", true},
		{map[string]any{"pattern": "nowhere"}, "There is no match.", false},
		{map[string]any{"pattern": "Rise", "find": "callers"}, "sun/sun_test.go\n6: ", false},
		{map[string]any{"pattern": "strings", "find": "api"}, "package strings // import", false},
	} {
		result := client.CallTool("search", test.arguments)
		size := len(result.Text()) + len(result.StructuredContent)
		if result.IsError || !strings.Contains(result.Text(), test.keeps) || (size > 2000) != test.isLong || len(result.StructuredContent) > 0 {
			t.Errorf("search %v: got %d bytes, structured %d bytes:\n%s\nwant %q in it, and at most 2000 bytes of text unless it has details", test.arguments, size, len(result.StructuredContent), result.Text(), test.keeps)
		}
	}
	if result := client.CallTool("search", map[string]any{"pattern": "sun.Rice", "find": "references"}); !result.IsError || !strings.Contains(result.Text(), "did you mean sun.Rise?") {
		t.Errorf("search sun.Rice: got %s, want an error that suggests sun.Rise", result.Text())
	}
}
