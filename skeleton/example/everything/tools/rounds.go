package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/petrock/petrock/core/mcp"
)

// Several questions, at once or one after the other. Where the protocol has no sessions the call ends with the
// questions, and comes again with the answers: a tool runs from its start each time, so it does nothing that must not be
// done twice before its last question. What was answered before is in a state that the client sends along: it is signed, so that
// nobody changes it, and readable by the client, so no secret belongs into an answer.

// ListRoots asks the client what the person works on.
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

// AskConfirmation asks the person to confirm, and goes on where it was.
//
//petrock:name test_input_required_result_request_state
//petrock:hints read-only
func AskConfirmation(ctx context.Context, _ struct{}) (string, error) { return confirm(ctx) }

// AskSealed asks the person to confirm. A client that has changed the state is refused before the tool is called.
//
//petrock:name test_input_required_result_tampered_state
//petrock:hints read-only
func AskSealed(ctx context.Context, _ struct{}) (string, error) { return confirm(ctx) }

// AskAll asks for a name, for a greeting and for the roots, all at once.
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

// AskTwice asks for a name, and then for a color.
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

// AskSomebody asks the person for a name, or the model where the client cannot ask a person.
//
//petrock:name test_input_required_result_capabilities
//petrock:hints read-only
func AskSomebody(ctx context.Context, _ struct{}) (string, error) {
	greeting, err := greet(ctx)
	var cannot *mcp.CannotAskError
	if errors.As(err, &cannot) {
		return askModel(ctx, "greeting", "Generate a greeting", 50)
	}
	return greeting, err
}

// confirm asks for a yes. Two tools do nothing else, as the official suite calls one with the state that it was given and the other with
// one that it has changed, and the server looks at the state before a tool is called.
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
		return "", errors.New("the person said no")
	}
	return "state-ok", nil
}
