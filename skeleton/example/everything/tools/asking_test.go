package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/skeleton/example/everything/tools"
)

// answer answers every question of the server.
func answer(_ context.Context, method string, params json.RawMessage) (any, error) {
	switch method {
	case "sampling/createMessage":
		return map[string]any{"role": "assistant", "model": "m", "content": map[string]any{"type": "text", "text": "Paris"}}, nil
	case "roots/list":
		return map[string]any{"roots": []any{map[string]any{"uri": "file:///work"}}}, nil
	case "elicitation/create":
		var asked struct {
			Form struct {
				Properties map[string]struct{ Type string } `json:"properties"`
				Required   []string                         `json:"required"`
			} `json:"requestedSchema"`
		}
		if err := json.Unmarshal(params, &asked); err != nil {
			return nil, err
		}
		filled := map[string]any{}
		for _, name := range asked.Form.Required {
			if filled[name] = any("my " + name); asked.Form.Properties[name].Type == "boolean" {
				filled[name] = true
			}
		}
		return map[string]any{"action": "accept", "content": filled}, nil
	}
	return nil, fmt.Errorf("%s is not answered", method)
}

// Tools ask in the same way in both eras of the protocol.
func TestAsking(t *testing.T) {
	server := mcp.NewServer(mcp.Implementation{Name: "test", Version: "0"}, mcp.Options{})
	if err := tools.Register(server); err != nil {
		t.Fatal(err)
	}
	everything := mcp.Capabilities{"sampling": json.RawMessage(`{}`), "roots": json.RawMessage(`{}`), "elicitation": json.RawMessage(`{"form":{},"url":{}}`)}
	for _, revision := range []mcp.Revision{mcp.LatestHandshake, mcp.Latest} {
		client := mcptest.ConnectWith(t, server, mcptest.Options{Revision: revision, Capabilities: everything, Handle: answer})
		for _, test := range []struct{ tool, input, text string }{
			{"test_sampling", `{"prompt":"Where?"}`, "LLM response: Paris"},
			{"test_missing_capability", `{}`, "Paris"},
			{"test_elicitation", `{"message":"Who?"}`, `User response: action=accept, content={"email":"my email","username":"my username"}`},
			{"test_elicitation_sep1034_defaults", `{}`, `Elicitation completed: action=accept, content={"age":30,"name":"John Doe","score":95.5,"status":"active","verified":true}`},
			{"test_elicitation_sep1330_enums", `{}`, `Elicitation completed: action=accept, content={}`},
			{"test_elicitation_url", `{}`, "Elicitation completed: action=accept"},
			{"test_streaming_elicitation", `{}`, "Hello, my name!"},
			{"test_input_required_result_elicitation", `{}`, "Hello, my name!"},
			{"test_input_required_result_sampling", `{}`, "Paris"},
			{"test_input_required_result_list_roots", `{}`, "Roots: file:///work"},
			{"test_input_required_result_request_state", `{}`, "state-ok"},
			{"test_input_required_result_tampered_state", `{}`, "state-ok"},
			{"test_input_required_result_multiple_inputs", `{}`, "Paris (to my name, who works on 1 roots)"},
			{"test_input_required_result_multi_round", `{}`, "my name likes my color."},
			{"test_input_required_result_capabilities", `{}`, "Hello, my name!"},
		} {
			if got := client.CallTool(test.tool, json.RawMessage(test.input)).Text(); got != test.text {
				t.Errorf("%s in revision %s: got %q, want %q", test.tool, revision, got, test.text)
			}
		}
	}
}

// A declined question is not repeated, and the model sees the error.
func TestAskingInVain(t *testing.T) {
	server := mcp.NewServer(mcp.Implementation{Name: "test", Version: "0"}, mcp.Options{})
	if err := tools.Register(server); err != nil {
		t.Fatal(err)
	}
	decline := func(context.Context, string, json.RawMessage) (any, error) {
		return map[string]any{"action": "decline"}, nil
	}
	client := mcptest.ConnectWith(t, server, mcptest.Options{Capabilities: mcp.Capabilities{"elicitation": json.RawMessage(`{}`)}, Handle: decline})
	result := client.CallTool("test_input_required_result_multi_round", nil)
	if got := result.Text(); !result.IsError || !strings.Contains(got, "ask for name: the user chose decline") {
		t.Errorf(`got %s (error: %t); want an error containing "ask for name: the user chose decline"`, got, result.IsError)
	}
}

// A client that cannot ask the user is asked for its model. If it has neither, the error names the
// missing capability.
func TestAskingLess(t *testing.T) {
	server := mcp.NewServer(mcp.Implementation{Name: "test", Version: "0"}, mcp.Options{})
	if err := tools.Register(server); err != nil {
		t.Fatal(err)
	}
	modelOnly := mcptest.Options{Revision: mcp.Latest, Capabilities: mcp.Capabilities{"sampling": json.RawMessage(`{}`)}, Handle: answer}
	if got := mcptest.ConnectWith(t, server, modelOnly).CallTool("test_input_required_result_capabilities", nil).Text(); got != "Paris" {
		t.Errorf(`with a model alone: got %q, want "Paris"`, got)
	}

	nothing := mcptest.ConnectWith(t, server, mcptest.Options{Revision: mcp.Latest})
	err := nothing.Call("tools/call", map[string]any{"name": "test_missing_capability"}, nil)
	if !errors.Is(err, mcp.MissingCapability) || !strings.Contains(err.Error(), "sampling") {
		t.Errorf("without a model: %v; want %v for sampling", err, mcp.MissingCapability)
	}
}
