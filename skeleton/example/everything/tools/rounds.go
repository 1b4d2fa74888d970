package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/petrock/petrock/core/mcp"
)

// Several questions, in parallel or in sequence. In the stateless revision a call ends with the
// questions, and the client repeats it with the answers. The tool runs from its start each time: do
// nothing that must not happen twice before the last question. Earlier answers are in a state that
// the client sends back. It is signed, but the client can read it, so keep secrets out of answers.

// ListRoots asks the client for its roots.
//
//petrock:name test_input_required_result_list_roots
//petrock:hints read-only
func ListRoots(ctx context.Context, _ struct{}) (string, error) {
	question := &mcp.RootList{Key: "client_roots"}
	if err := mcp.Ask(ctx, question); err != nil {
		return "", err
	}
	var addresses []string
	for _, root := range question.Roots {
		addresses = append(addresses, root.URI)
	}
	return "Roots: " + strings.Join(addresses, ", "), nil
}

// AskConfirmation asks the user to confirm, and continues with the answer.
//
//petrock:name test_input_required_result_request_state
//petrock:hints read-only
func AskConfirmation(ctx context.Context, _ struct{}) (string, error) { return confirm(ctx) }

// AskSealed asks the user to confirm. The server refuses a call whose state was modified.
//
//petrock:name test_input_required_result_tampered_state
//petrock:hints read-only
func AskSealed(ctx context.Context, _ struct{}) (string, error) { return confirm(ctx) }

// AskAll asks for a name, a greeting and the roots in parallel.
//
//petrock:name test_input_required_result_multiple_inputs
//petrock:hints read-only
func AskAll(ctx context.Context, _ struct{}) (string, error) {
	name := textQuestion("user_name", "What is your name?", "name")
	greeting := modelQuestion("greeting", "Generate a greeting", 50)
	roots := &mcp.RootList{Key: "client_roots"}
	if err := mcp.Ask(ctx, name, greeting, roots); err != nil {
		return "", err
	}
	var person struct {
		Name string `json:"name"`
	}
	if err := name.Decode(&person); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s (to %s, who works on %d roots)", greeting.Answer.Text(), person.Name, len(roots.Roots)), nil
}

// AskTwice asks for a name, then for a color.
//
//petrock:name test_input_required_result_multi_round
//petrock:hints read-only
func AskTwice(ctx context.Context, _ struct{}) (string, error) {
	name, err := askText(ctx, "step1", "Step 1: What is your name?", "name")
	if err != nil {
		return "", err
	}
	color, err := askText(ctx, "step2", "Step 2: What is your favorite color?", "color")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s likes %s.", name, color), nil
}

// AskUserOrModel asks the user for a name, or the model if the client cannot ask the user.
//
//petrock:name test_input_required_result_capabilities
//petrock:hints read-only
func AskUserOrModel(ctx context.Context, _ struct{}) (string, error) {
	greeting, err := greet(ctx)
	var cannot *mcp.CannotAskError
	if errors.As(err, &cannot) {
		return askModel(ctx, "greeting", "Generate a greeting", 50)
	}
	return greeting, err
}

// confirm asks for a confirmation. Two tools use it, because the MCP conformance suite calls one
// with the state that it received and the other with a modified one.
func confirm(ctx context.Context) (string, error) {
	question := &mcp.Elicitation{
		Key:     "confirm",
		Message: "Please confirm",
		Schema:  json.RawMessage(`{"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}`),
	}
	if err := mcp.Ask(ctx, question); err != nil {
		return "", err
	}
	var answer struct {
		OK bool `json:"ok"`
	}
	if err := question.Decode(&answer); err != nil {
		return "", err
	}
	if !answer.OK {
		return "", errors.New("the user did not confirm")
	}
	return "state-ok", nil
}
