package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
	"github.com/petrock/petrock/core/mcptest"
)

// A struct that the protocol's forms cannot express is refused with the name of the field, before
// the client is asked.
func TestAskForRefusesStructs(t *testing.T) {
	type inner struct{ A string }
	for _, test := range []struct {
		ask  func(context.Context) error
		want string
	}{
		{askFor[struct{ Inner inner }], `properties.Inner: type "object" is not supported in a form`},
		{askFor[struct{ Names []string }], "properties.Names: an array must be a multiple choice"},
		{askFor[struct {
			Zip string `schema:"pattern=^[0-9]+$"`
		}], "properties.Zip: pattern is not supported for type string in a form"},
		{askFor[struct {
			Code int `schema:"enum=1|2"`
		}], "properties.Code: enum is not supported for type integer"},
		{askFor[struct {
			ID string `schema:"format=uuid"`
		}], `properties.ID: format "uuid" is not supported in a form; use email, uri, date, date-time`},
		{askFor[struct{ Note *string }], "properties.Note: may be null, which a form cannot express; add omitempty"},
		{askFor[struct{ Raw []byte }], "properties.Raw: contentEncoding is not supported"},
		{askFor[struct{ Any any }], `properties.Any: type "" is not supported`},
		{askFor[struct{ Call func() }], "field Call: "},
		{askFor[map[string]string], "form map[string]string: must be a struct"},
		{askFor[struct{}], ""},
		{askFor[struct {
			When time.Time     `json:"when"`
			Wait time.Duration `json:"wait,omitempty"`
			Part float32       `json:"part" schema:"min=0,max=1"`
		}], ""},
	} {
		s := newServer(mcp.Options{})
		if err := s.AddTool(mcp.Tool{Name: "ask"}, fixture.Handler(func(ctx context.Context) (string, error) { return "", test.ask(ctx) })); err != nil {
			t.Fatal(err)
		}
		client := mcptest.ConnectWith(t, s, mcptest.Options{Elicit: func(_ context.Context, e *mcp.Elicitation) error {
			if test.want != "" {
				t.Errorf("the client is asked for %s, want an error with %q", e.Schema, test.want)
			}
			e.Action = mcp.ActionDecline
			return nil
		}})
		want := test.want
		if want == "" {
			want = "the user declined: Well?"
		}
		if got := client.CallTool("ask", nil).Text(); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
}

func askFor[T any](ctx context.Context) error {
	_, err := mcp.AskFor[T](ctx, "Well?")
	return err
}

// A schema that derived code registers becomes the form. It must match its type.
func TestAddForm(t *testing.T) {
	const schema = `{"type":"object","properties":{"size":{"type":"string","enum":["S","M"],"default":"M","description":"From a comment"},"count":{"type":"integer","minimum":1,"maximum":9},"mail":{"type":"string"},"gift":{"type":"boolean"}},"required":["count"],"additionalProperties":false}`
	s := newServer(mcp.Options{})
	d := s.Derived("tools_gen.go")
	if err := mcp.AddForm[fixture.Order](d, json.RawMessage(strings.Replace(schema, `"gift"`, `"gone"`, 1))); err == nil || !strings.Contains(err.Error(), "tools_gen.go is stale: ") {
		t.Errorf("a schema with another field: %v, want an error that tools_gen.go is stale", err)
	}
	if err := mcp.AddForm[fixture.Order](d, json.RawMessage(schema)); err != nil {
		t.Fatal(err)
	}
	if err := s.AddTool(mcp.Tool{Name: "ask"}, fixture.AskingTools()["ask.for"]); err != nil {
		t.Fatal(err)
	}
	for _, r := range []mcp.Revision{mcp.Revision20250618, mcp.Revision20251125, mcp.Revision20260728} {
		client := mcptest.ConnectWith(t, s, mcptest.Options{Revision: r, Elicit: func(_ context.Context, e *mcp.Elicitation) error {
			if e.Key != "Order" || !strings.Contains(string(e.Schema), "From a comment") || strings.Contains(string(e.Schema), "additional") {
				t.Errorf("%s: the client is asked %q for %s; want the key Order, and the derived description", r, e.Key, e.Schema)
			}
			e.Action, e.Content = mcp.ActionAccept, json.RawMessage(`{"count":3}`)
			return nil
		}})
		if got, want := client.CallTool("ask", nil).Text(), "{Size:M Count:3 Mail: Gift:<nil>}"; got != want {
			t.Errorf("%s: got %q, want %q", r, got, want)
		}
	}
}

// Questions with the same type have different keys; an example answers them in every revision.
func TestAskForKeys(t *testing.T) {
	type name struct {
		Name string `json:"name"`
	}
	s := newServer(mcp.Options{})
	ask := func(second string) mcp.ToolHandler {
		return fixture.Handler(func(ctx context.Context) (string, error) {
			first, err := mcp.AskFor[name](ctx, "First?", mcp.Key("first"))
			if err != nil {
				return "", err
			}
			last, err := mcp.AskFor[name](ctx, "Last?", mcp.Key(second))
			return fmt.Sprintf("%s %s", first.Name, last.Name), err
		})
	}
	if err := s.AddTool(mcp.Tool{Name: "ask"}, ask("last")); err != nil {
		t.Fatal(err)
	}
	if err := s.AddTool(mcp.Tool{Name: "same"}, ask("first")); err != nil {
		t.Fatal(err)
	}
	first := map[string]any{"first": name{"Ann"}}
	for _, r := range []mcp.Revision{mcp.Revision20250618, mcp.Revision20251125, mcp.Revision20260728} {
		client := mcptest.ConnectWith(t, s, mcptest.Options{Revision: r})
		for _, e := range []mcptest.Example{
			{Name: "both", Answers: map[string]any{"first": name{"Ann"}, "last": `{"name":"Lee"}`}, Output: `Ann Lee`},
			{Name: "declined", Answers: map[string]any{"first": name{"Ann"}, "last": "decline"}, Error: "the user declined: Last?"},
			{Name: "cancelled", Answers: map[string]any{"first": "cancel"}, Error: "the user cancelled: First?"},
			{Name: "no answer", Answers: first, Error: `no answer with the key "last"`},
			{Name: "wrong answer", Answers: map[string]any{"first": `{}`}, Error: "name: required"},
		} {
			client.CheckTool(t, "ask", e)
		}
		client.CheckTool(t, "same", mcptest.Example{Answers: first, Error: `duplicate key "first"`})
		client.CheckTool(t, "ask", mcptest.Example{Error: `capability elicitation {"form":{}}`})
	}
	old := mcptest.ConnectWith(t, s, mcptest.Options{Revision: mcp.Revision20250326})
	old.CheckTool(t, "ask", mcptest.Example{Answers: first, Error: "which revision 2025-03-26 does not have; connect with 2025-06-18 or newer"})
}
