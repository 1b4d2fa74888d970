package campaign_test

import (
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/devserver"
	"github.com/petrock/petrock/generators/engine"
)

// Changes of components with stored events keep the events readable and the tests passing, and undo
// restores the same bytes.
func TestChange(t *testing.T) {
	takesLong(t)
	w := newWorld(t)
	client := w.serve(devserver.Options{})
	call := w.caller(client)
	mustCall[engine.Result](w, client, "generate_feature", object{"name": "tickets", "crud": true, "fields": []string{"title:string:1..120", "priority:enum(low,high)", "assignee:string?"}})
	mustCall[engine.Result](w, client, "generate_command", object{
		"name": "tickets/assign", "fields": []string{"id", "assignee:string:1..80"}, "description": "Assigns a ticket.",
		"check": "return s.checkID(c.ID)", "body": "s.Tickets[c.ID].Assignee = &c.Assignee\nreturn AssignOutput{}",
		"examples": []object{{"tool": "tickets_create", "input": object{"title": "t", "priority": "low"}}, {"input": object{"id": "id1", "assignee": "ann"}}},
	})
	mustCall[engine.Result](w, client, "generate_worker", object{"name": "tickets/escalate", "on": []string{"tickets/create"}})
	mustCall[engine.Result](w, client, "generate_prompt", object{"description": "Does its work.", "name": "triage", "fields": []string{"ticket", "mood:enum(calm,angry)?"}})
	mustCall[engine.Result](w, client, "generate_resource", object{"name": "ticket", "uri": "ticket://{id}", "description": "A ticket with its comments."})
	call("tickets_create", object{"title": "first", "priority": "low"}, `"seq":1`)

	before := w.source()
	var operations []string
	for _, change := range []object{
		{"name": "tickets/create", "rename": "open", "alias": true, "fields": []string{"priority:enum(low,normal,high)"}},
		{"name": "tickets/open", "fields": []string{"source:enum(mail,web)"}, "default": []string{"source=web"}},
		{"name": "tickets/assign", "rename_fields": []string{"assignee=owner"}},
		{"name": "tickets/assign", "rename": "hand_over", "fields": []string{"reason:string?"}},
		{"name": "tickets/get", "rename_fields": []string{"output.assignee=owner"}},
		{"name": "tickets/escalate", "rename": "raise"},
		{"name": "triage", "rename": "sort_out", "rename_fields": []string{"ticket=issue"}},
		{"name": "ticket", "rename": "issue", "description": "An issue with its comments."},
		{"name": "add", "fields": []string{`a "The first one"`, "c:float?"}, "rename_fields": []string{"output.sum=total"}},
		{"name": "tickets", "kind": "feature", "description": "The tickets of the helpdesk."},
	} {
		done := mustCall[engine.Result](w, client, "change", change)
		if done.Operation == "" || len(done.Diagnostics) > 0 {
			t.Errorf("%v: got %+v; want Operation set and no diagnostics", change, done)
		}
		operations = append(operations, done.Operation)
	}
	w.goCommand("vet", "./tools", "./resources", "./prompts", "./features/...", "./cmd/...")
	w.goCommand("test", "./tools", "./resources", "./prompts", "./features/...", "./cmd/...")
	w.formatted(".")
	for file, part := range map[string]string{
		"features/tickets/open.go":      "//petrock:event create\n//petrock:alias tickets_create\n//petrock:version 2\ntype Open struct {",
		"features/tickets/raise.go":     "func (w *Raise) OnOpen(ctx context.Context, c Open, e app.Event) error {",
		"features/tickets/hand_over.go": "//petrock:version 2\n//petrock:event assign\ntype HandOver struct {",
		"resources/issue.go":            "// Issue is an issue with its comments.\n//\n//petrock:uri ticket://{id}\nfunc Issue(",
	} {
		if text := w.read(file); !strings.Contains(text, part) {
			t.Errorf("%s: got %q, want it to contain %q", file, text, part)
		}
	}
	for i := range operations {
		mustCall[engine.Result](w, client, "undo", object{"operation": operations[len(operations)-1-i]})
	}
	if changed := before.differences(w.source()); changed != "" {
		t.Errorf("after undoing the changes the source differs:\n%s", changed)
	}
	for range operations {
		mustCall[engine.Result](w, client, "undo", object{"redo": true})
	}
	call("tickets_create", object{"title": "second", "priority": "normal", "source": "mail"}, `"seq":2`)
	call("tickets_open", object{"title": "third", "priority": "normal", "source": "mail"}, `"seq":3`)
	call("tickets_list", object{}, `"title":"first"`)

	// Now events of the new version are stored.
	after := w.source()
	for range len(operations) - 2 {
		mustCall[engine.Result](w, client, "undo", object{})
	}
	const want = "tickets/create: version 2 of its events is stored, and the source has version 1 (3 events are stored, the first is event 1)"
	if said := client.CallTool("undo", object{}); !said.IsError || !strings.Contains(said.Text(), want) {
		t.Errorf("undo returned %s, want %q", said.Text(), want)
	}
	for range len(operations) - 2 {
		mustCall[engine.Result](w, client, "undo", object{"redo": true})
	}
	if changed := after.differences(w.source()); changed != "" {
		t.Errorf("the refused undo has changed the source:\n%s", changed)
	}
}

// A change that would break the code or the tests is refused, and nothing is written.
func TestChangeIsRefused(t *testing.T) {
	takesLong(t)
	w := newWorld(t)
	client := w.serve(devserver.Options{})
	mustCall[engine.Result](w, client, "generate_feature", object{"name": "notes", "crud": true, "fields": []string{"title:string:1..50", "tag:string?"}})
	before := w.tree()
	for _, test := range []struct {
		change object
		want   string
	}{
		{object{"name": "notes/create", "fields": []string{"lang"}}, "new required field; set its value in old events (default lang=VALUE)"},
		{object{"name": "notes/create", "fields": []string{"title:int"}}, "set upgrade"},
		{object{"name": "notes/create", "remove_fields": []string{"tag"}}, "c.Tag undefined"},
		{object{"name": "notes/create", "remove_fields": []string{"nothing"}}, "Create has no such field; it has title, tag"},
		{object{"name": "notes/create", "rename": "update"}, "already declares it; choose another name"},
		{object{"name": "notes/create", "rename": "other/create"}, "cannot move it to another feature"},
		{object{"name": "notes/create", "rename": "a b"}, "invalid name"},
		{object{"name": "notes", "kind": "feature", "rename": "memos"}, "events and positions of workers are stored under the name of their feature"},
		{object{"name": "add", "body": "return AddOutput{}, nil"}, "tests would fail:"},
		{object{"name": "add", "body": "return AddOutput{}, nil }; func init() {"}, "unmatched }"},
		{object{"name": "add", "body": "return 1"}, "the change would not compile:"},
		{object{"name": "add", "alias": true, "description": "Adds."}, "alias needs rename"},
		{object{"name": "add"}, "nothing to change"},
		{object{"name": "nothing", "rename": "x"}, `component "nothing" does not exist`},
	} {
		said := client.CallTool("change", test.change)
		if !said.IsError || !strings.Contains(said.Text(), test.want) {
			t.Errorf("%v: got %s (error: %t), want an error with %q in it", test.change, said.Text(), said.IsError, test.want)
		}
	}
	w.unchanged(before, "after refused changes")
}
