package campaign_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/devserver"
	"github.com/petrock/petrock/generators/engine"
)

// refusedDraft returns the id of the draft of a refused call.
func refusedDraft(t *testing.T, fault string, says string) string {
	t.Helper()
	var refused engine.Fault
	if err := json.Unmarshal([]byte(fault), &refused); err != nil || refused.Draft == "" || !strings.Contains(refused.Message+refused.Error(), says) {
		t.Fatalf("got %s (%v); want a draft, and %q", fault, err, says)
	}
	return refused.Draft
}

// A refused call of a generator is mended by its body alone, then by one example alone: over MCP, on
// the command line, and by both in turn.
func TestDraftsOfGenerators(t *testing.T) {
	takesLong(t)
	w := newWorld(t)
	client := w.serve(devserver.Options{})
	before := w.tree()
	result := client.CallTool("generate_tool", object{
		"name": "initial", "description": "Returns the first letter.", "fields": []string{"name"}, "output": []string{"text"},
		"body":     "return InitialOutput{Text: in.Name[0]}, nil",
		"examples": []object{{"input": object{"name": "Ada"}, "output": object{"text": "A"}}, {"input": object{"name": "Bob"}, "output": object{"text": "b"}}},
	})
	draft := refusedDraft(t, string(result.StructuredContent), "cannot use in.Name[0]")
	result = client.CallTool("generate_tool", object{"draft": draft, "body": "return InitialOutput{Text: in.Name[:1]}, nil"})
	if again := refusedDraft(t, string(result.StructuredContent), "example 2"); again != draft {
		t.Errorf("the draft is now %s, want %s", again, draft)
	}
	w.unchanged(before, "after two refused calls")
	example := object{"name": "example 2", "input": object{"name": "Bob"}, "output": object{"text": "B"}}
	made := mustCall[engine.Result](w, client, "generate_tool", object{"draft": draft, "examples": []object{example}})
	if made.Trial == nil || strings.Join(made.Trial.Passed, ", ") != "example 1, example 2" {
		t.Errorf("generate_tool returned %+v, want both examples passed", made)
	}
	mustCall[engine.Result](w, client, "undo", object{})
	w.unchanged(before, "after undo")

	out, _, status := w.run("generate", "tool", "initial", "name", "--output", "text", "--description", "Returns the first letter.", "--body", "return InitialOutput{Text: in.Name[0]}, nil", "--json")
	if draft = refusedDraft(t, out, "cannot use in.Name[0]"); status != 1 {
		t.Errorf("generate: exit code %d, want 1", status)
	}
	out, errOut, status := w.run("generate", "tool", "--draft", draft, "--body", "return 1")
	if status != 1 || !strings.Contains(errOut, "Draft "+draft+" keeps this call: repeat it with draft "+draft+" and only what changes.") {
		t.Errorf("generate --draft: exit code %d, %s%s; want 1, and the same draft", status, out, errOut)
	}
	mustCall[engine.Result](w, client, "generate_tool", object{"draft": draft, "dry_run": true, "body": "return InitialOutput{Text: in.Name[:1]}, nil"})
	w.unchanged(before, "after a dry run")
	w.ok("generate", "tool", "--draft", draft, "--body", "return InitialOutput{Text: in.Name[:1]}, nil")

	w.write("edits.json", `{"edits":[{"path":"tools/a.go","text":"package tools\n\nvar a = b\n"},{"path":"b.txt","text":"B"}],"test":true}`)
	out, _, _ = w.run("edit", "--input", w.path("edits.json"), "--json")
	draft = refusedDraft(t, out, "undefined: b")
	w.write("a.txt", "package tools\n\nvar a = 1\n")
	w.ok("edit", "--draft", draft, "tools/a.go", "--from", w.path("a.txt"))
	if w.read("b.txt") != "B" || !strings.Contains(w.read("tools/a.go"), "var a = 1") {
		t.Error("the edits of the draft and of the command line are not made, want both")
	}
	_, errOut, status = w.run("edit", "--draft", draft)
	if status != 2 || !strings.Contains(errOut, "does not exist: its call has succeeded since") {
		t.Errorf("edit with a draft that succeeded: exit code %d, %s; want 2", status, errOut)
	}
}

// Parts have dry runs with plans.
func TestPlansOfParts(t *testing.T) {
	takesLong(t)
	w := newWorld(t)
	before := w.tree()
	for _, args := range [][]string{{"add", "client"}, {"remove", "client"}} {
		now := w.tree()
		var planned engine.Result
		if err := json.Unmarshal([]byte(w.ok(append(args, "--dry-run", "--json")...)), &planned); err != nil || planned.Plan == "" {
			t.Fatalf("%v --dry-run returned %+v (%v), want a plan", args, planned, err)
		}
		w.unchanged(now, "after a dry run")
		if text := w.ok("apply", planned.Plan); !strings.Contains(text, "part client") {
			t.Errorf("apply printed %s, want it to name the part", text)
		}
	}
	w.unchanged(before, "after adding and removing a part")
}
