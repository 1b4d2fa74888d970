package mcpcli

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

// The flag --answer answers questions by field, or by key and field. Without it and without a
// terminal, the error lists all questions.
func TestAnswers(t *testing.T) {
	order := json.RawMessage(`{"type":"object","properties":{"size":{"type":"string","enum":["S","M"],"description":"The size"},"count":{"type":"integer","default":1,"minimum":1},"colors":{"type":"array","items":{"type":"string","enum":["red","blue"]}}},"required":["size","count"]}`)
	for _, test := range []struct{ flags, action, content, says string }{
		{"size=M", "accept", `{"size":"M"}`, ""},
		{"order.size=S count=3 colors=red colors=blue", "accept", `{"colors":["red","blue"],"count":3,"size":"S"}`, ""},
		{"order=accept", "accept", `{}`, ""},
		{"order=decline", "decline", `{}`, ""},
		{"order=cancel", "cancel", `{}`, ""},
		{"size=M order=decline", "decline", `{"size":"M"}`, ""},
		{"", "", "", "order: Which?\n    --answer size=S|M  The size\n    --answer count=integer\n    --answer colors=red|blue…\n    --answer order=decline"},
		{"other.size=M", "", "", "order: Which?"},
		{"order=what", "", "", "order: Which?"},
	} {
		a := &answers{flags: strings.Fields(test.flags)}
		e := &mcp.Elicitation{Key: "order", Message: "Which?\x1b", Schema: order}
		err := a.check("tool", a.form(t.Context(), e))
		if test.says == "" {
			if err != nil || string(e.Action) != test.action || string(e.Content) != test.content {
				t.Errorf("%s: %s %s, %v; want %s %s", test.flags, e.Action, e.Content, err, test.action, test.content)
			}
		} else if _, usage := errors.AsType[*terminal.UsageError](err); !usage || !strings.Contains(strings.ReplaceAll(err.Error(), `\u001b`, ""), test.says) {
			t.Errorf("%s: %v, want a usage error with %q", test.flags, err, test.says)
		}
	}
	// Several questions, one of them a page.
	a := &answers{flags: []string{"login=accept"}}
	page, other := &mcp.URLElicitation{Key: "login", URL: "https://example.org"}, &mcp.URLElicitation{Key: "pay", Message: "Pay", URL: "https://example.org/pay"}
	if err := a.visit(t.Context(), page); err != nil || page.Action != mcp.ActionAccept {
		t.Errorf("page: %q, %v; want accept", page.Action, err)
	}
	err := errors.Join(a.visit(t.Context(), other), a.form(t.Context(), &mcp.Elicitation{Key: "order", Message: "Which?", Schema: order}))
	if err = a.check("tool", err); err == nil || !strings.Contains(err.Error(), "pay: Pay https://example.org/pay\n    --answer pay=decline") || !strings.Contains(err.Error(), "order: Which?") {
		t.Errorf("two questions: %v, want both", err)
	}
	// On a terminal, it asks what no flag answers.
	asker, _ := asking("y\nM\n\n\n")
	a = &answers{asker: asker, flags: []string{"size=S"}}
	first, second := &mcp.Elicitation{Key: "a", Schema: order}, &mcp.Elicitation{Key: "b", Schema: json.RawMessage(strings.ReplaceAll(string(order), "size", "width"))}
	if err := errors.Join(a.form(t.Context(), first), a.form(t.Context(), second)); err != nil || string(second.Content) != `{"count":1,"width":"M"}` {
		t.Errorf("got %s and %s, %v; want the second answer from the terminal", first.Content, second.Content, err)
	}
}
