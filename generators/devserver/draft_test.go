package devserver_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/generators/devserver"
	"github.com/petrock/petrock/generators/engine"
)

// callJSON calls a tool with arguments in JSON, in which DRAFT and PLAN stand for ids.
func callJSON(client *mcptest.Client, tool, arguments, draft, plan string) *mcp.ToolResult {
	return client.CallTool(tool, json.RawMessage(strings.NewReplacer("DRAFT", draft, "PLAN", plan).Replace(arguments)))
}

// A refused call has a draft, and the next calls send only what changes: also after a restart, and
// if the arguments did not match the schema. A call that succeeds ends the draft.
func TestDrafts(t *testing.T) {
	root := newProject(t)
	client := connect(t, devserver.Options{Dir: root})
	draft := ""
	for _, step := range []struct {
		tool, arguments, say string
		hasDraft             bool
	}{
		{"edit", `{"edits":[{"path":"a.txt","text":"A"},{"path":"sun/sun.go","replace":[{"old":"return 6","new":"return six"}]},{"path":"b.txt","text":"B"}],"test":1}`, "test: must be", true},
		{"edit", `{"draft":"DRAFT","test":true}`, "sun/sun.go:4:26: undefined: six", true},
		{"edit", `{"draft":"DRAFT","dir":"..","test":null}`, "this server works only on the project", false},
		{"change", `{"draft":"DRAFT"}`, "is of edit, not of change; pass it to edit", false},
		{"edit", `{"draft":"DRAFT","edits":[{"path":"sun/sun.go","replace":[{"old":"return 6","new":"return 7"}]}]}`, "it rises at 7", true},
		{"edit", `{"draft":"DRAFT","test":null,"dry_run":true}`, "Would edit a.txt, b.txt, sun/sun.go", false},
		{"edit", `{"draft":"DRAFT","test":null}`, "Edited a.txt, b.txt, sun/sun.go", false},
		{"edit", `{"draft":"DRAFT"}`, "does not exist: its call has succeeded since", false},
		{"edit", `{}`, "there are no edits; pass at least one, with a path", true},
		{"edit", `{"draft":7}`, "draft: must be a string", true},
		{"change", `{"rename":"sum"}`, `name is missing; pass the name of a component`, true},
		{"change", `{"draft":"DRAFT","name":"addd"}`, "", true},
		{"change", `{"draft":"DRAFT","name":"add"}`, "Changed tool sum", false},
		{"destroy_component", `{"kind":"tool"}`, `destroy needs kind and name of a component`, true},
		{"destroy_component", `{"draft":"DRAFT","name":"sum"}`, "Destroyed tool sum", false},
		{"generate_tool", `{"name":"x y","description":"Does."}`, "x y", true},
		{"generate_component", `{"kind":"version"}`, "name", true},
	} {
		result := callJSON(client, step.tool, step.arguments, draft, "")
		if !strings.Contains(result.Text(), step.say) {
			t.Errorf("%s %s = %s, want %q in it", step.tool, step.arguments, result.Text(), step.say)
		}
		var fault engine.Fault
		if result.IsError {
			if err := result.Decode(&fault); err != nil {
				t.Errorf("%s %s: %v in %s", step.tool, step.arguments, err, result.StructuredContent)
			}
		}
		if (fault.Draft != "") != step.hasDraft || strings.Contains(result.Text(), "Draft "+fault.Draft+" keeps this call") != step.hasDraft {
			t.Errorf("%s %s has the draft %q in %s; want one: %t", step.tool, step.arguments, fault.Draft, result.Text(), step.hasDraft)
		}
		if strings.Contains(step.arguments, "DRAFT") && fault.Draft != "" && fault.Draft != draft {
			t.Errorf("%s %s: the draft is now %s, want %s", step.tool, step.arguments, fault.Draft, draft)
		}
		if fault.Draft != "" {
			draft = fault.Draft
			client = connect(t, devserver.Options{Dir: root}) // as after a restart
		}
	}
}

// Every tool that writes has a dry run, which returns the diff and a plan for apply.
func TestDryRuns(t *testing.T) {
	root := newProject(t)
	client := connect(t, devserver.Options{Dir: root})
	for _, step := range []struct{ tool, arguments, would, did string }{
		{"build", `{}`, "Would derive", "Derived"},
		{"edit", `{"edits":[{"path":"sun/sun.go","replace":[{"old":"return 6","new":"return 7"}]}]}`, "+func Rise() int { return 7 }", "Edited sun/sun.go"},
		{"change", `{"name":"add","rename":"sum"}`, "Would change tool sum", "Changed tool sum"},
		{"destroy_component", `{"kind":"tool","name":"sum"}`, "-func Sum(", "Destroyed tool sum"},
		{"undo", `{}`, "Would undo 0004-", "Undid 0004-"},
		{"undo", `{"redo":true}`, "Would redo destroy tool sum", "Redid destroy tool sum"},
	} {
		dry := callJSON(client, step.tool, strings.Replace(strings.Replace(step.arguments, "{", `{"dry_run":true,`, 1), ",}", "}", 1), "", "")
		var planned engine.Result
		if err := dry.Decode(&planned); err != nil || dry.IsError || planned.Plan == "" || planned.Operation != "" || !strings.Contains(dry.Text(), step.would) {
			t.Fatalf("%s %s = %s (%v); want a plan, and %q", step.tool, step.arguments, dry.Text(), err, step.would)
		}
		if !strings.Contains(dry.Text(), `apply {"plan":"`+planned.Plan+`"}`) {
			t.Errorf("%s %s = %s, want the call of apply in it", step.tool, step.arguments, dry.Text())
		}
		applied := callJSON(client, "apply", `{"plan":"PLAN"}`, "", planned.Plan)
		if applied.IsError || !strings.Contains(applied.Text(), step.did) {
			t.Errorf("apply of %s %s = %s, want %q in it", step.tool, step.arguments, applied.Text(), step.did)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(root, ".petrock/plans")); err != nil || len(entries) > 0 {
		t.Errorf("the plans are %v, %v; want none", entries, err)
	}
}

// The schemas of tools that take a draft require nothing. Those of a server for one project do not
// have dir, but calls may.
func TestListedTools(t *testing.T) {
	root := newProject(t)
	client := connect(t, devserver.Options{Dir: root})
	drafts := 0
	for _, tool := range client.Tools() {
		schema := string(tool.InputSchema)
		if strings.Contains(schema, `"draft":`) {
			drafts++
			if regexp.MustCompile(`"required":\[[^]]*\](,"annotations|}$)`).MatchString(schema) {
				t.Errorf("%s requires arguments with a draft: %s", tool.Name, schema)
			}
		}
		if strings.Contains(schema, `"dir"`) || strings.Contains(schema, `"additionalProperties":false`) {
			t.Errorf("%s has %s, want neither dir nor additionalProperties", tool.Name, schema)
		}
	}
	if drafts < 11 {
		t.Errorf("%d tools take drafts, want at least 11", drafts)
	}
	for arguments, want := range map[string]string{`{"dir":"."}`: "operation", `{"dirr":"."}`: "dirr"} {
		if result := callJSON(client, "history", arguments, "", ""); !strings.Contains(result.Text(), want) {
			t.Errorf("history %s = %s, want %q in it", arguments, result.Text(), want)
		}
	}
}

// A refusal that is sent as text alone keeps its remedy and its lines.
func TestLongRefusalIsWhole(t *testing.T) {
	client := connect(t, devserver.Options{Dir: newProject(t)})
	var body strings.Builder
	for i := range 24 {
		fmt.Fprintf(&body, "var _ = undefined%d\n", i)
	}
	said := client.CallTool("edit", map[string]any{"edits": []any{map[string]any{"path": "sun/more.go", "text": "package sun\n\n" + body.String()}}})
	for _, want := range []string{"undefined: undefined23", "\nNothing was changed.", "\nDraft "} {
		if text := said.Text(); !said.IsError || strings.Contains(text, "…") || !strings.Contains(text, want) {
			t.Errorf("edit returned\n%s\nwant %q in it, and nothing cut", text, want)
		}
	}
}
