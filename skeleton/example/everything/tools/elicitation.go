package tools

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/petrock/petrock/core/mcp"
)

// Questions to the user: forms, and web pages to open.

// ElicitationInput is the input of test_elicitation.
type ElicitationInput struct {
	Message string `json:"message"` // Question to the user
}

// Elicitation asks the user for a name and an email address.
//
//petrock:name test_elicitation
//petrock:hints read-only
func Elicitation(ctx context.Context, in ElicitationInput) (string, error) {
	filled, err := askForm(ctx, &mcp.Elicitation{Key: "person", Message: in.Message, Schema: json.RawMessage(`{
		"type": "object",
		"properties": {
			"username": {"type": "string", "description": "User's response"},
			"email": {"type": "string", "description": "User's email address"}
		},
		"required": ["username", "email"]
	}`)})
	if err != nil {
		return "", err
	}
	return "User response: " + filled, nil
}

// ElicitationDefaults shows the user a form with defaults.
//
//petrock:name test_elicitation_sep1034_defaults
//petrock:hints read-only
func ElicitationDefaults(ctx context.Context, _ struct{}) (string, error) {
	filled, err := askForm(ctx, &mcp.Elicitation{Key: "form", Message: "Please review your profile", Schema: json.RawMessage(`{
		"type": "object",
		"properties": {
			"name": {"type": "string", "default": "John Doe"},
			"age": {"type": "integer", "default": 30},
			"score": {"type": "number", "default": 95.5},
			"status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
			"verified": {"type": "boolean", "default": true}
		}
	}`)})
	return "Elicitation completed: " + filled, err
}

// ElicitationChoices shows the user a form with single and multiple choices.
//
//petrock:name test_elicitation_sep1330_enums
//petrock:hints read-only
func ElicitationChoices(ctx context.Context, _ struct{}) (string, error) {
	filled, err := askForm(ctx, &mcp.Elicitation{Key: "form", Message: "Please choose", Schema: json.RawMessage(`{
		"type": "object",
		"properties": {
			"untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
			"titledSingle": {"type": "string", "oneOf": [
				{"const": "value1", "title": "First option"},
				{"const": "value2", "title": "Second option"},
				{"const": "value3", "title": "Third option"}
			]},
			"legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option one", "Option two", "Option three"]},
			"untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
			"titledMulti": {"type": "array", "items": {"anyOf": [
				{"const": "value1", "title": "First choice"},
				{"const": "value2", "title": "Second choice"},
				{"const": "value3", "title": "Third choice"}
			]}}
		}
	}`)})
	return "Elicitation completed: " + filled, err
}

// ElicitationStream reports progress, then asks the user for a name.
//
//petrock:name test_streaming_elicitation
//petrock:hints read-only
func ElicitationStream(ctx context.Context, _ struct{}) (string, error) {
	mcp.Progress(ctx, 1, 2, "asking")
	return greet(ctx)
}

// ElicitationName asks the user for a name, and returns a greeting.
//
//petrock:name test_input_required_result_elicitation
//petrock:hints read-only
func ElicitationName(ctx context.Context, _ struct{}) (string, error) { return greet(ctx) }

// ElicitationPage asks the user to open a web page, for data that must not pass through the client.
//
//petrock:name test_elicitation_url
//petrock:hints read-only
func ElicitationPage(ctx context.Context, _ struct{}) (string, error) {
	question := &mcp.URLElicitation{Key: "page", Message: "Please connect your account", URL: "https://example.com/connect"}
	if err := mcp.Ask(ctx, question); err != nil {
		return "", err
	}
	return fmt.Sprintf("Elicitation completed: action=%s", question.Action), nil
}

// greet asks for a name, and returns a greeting.
func greet(ctx context.Context) (string, error) {
	name, err := askText(ctx, "user_name", "What is your name?", "name")
	if err != nil {
		return "", err
	}
	return "Hello, " + name + "!", nil
}

// askForm shows a form, and describes the answer.
func askForm(ctx context.Context, form *mcp.Elicitation) (string, error) {
	if err := mcp.Ask(ctx, form); err != nil {
		return "", err
	}
	return fmt.Sprintf("action=%s, content=%s", form.Action, form.Content), nil
}

// askText asks for one text. It fails if the user declines or cancels; a tool that does not need
// the answer would continue.
func askText(ctx context.Context, key, message, field string) (string, error) {
	question := textQuestion(key, message, field)
	if err := mcp.Ask(ctx, question); err != nil {
		return "", err
	}
	if question.Action != mcp.ActionAccept {
		return "", fmt.Errorf("ask for %s: the user chose %s", field, question.Action)
	}
	filled := map[string]string{}
	err := question.Decode(&filled)
	return filled[field], err
}

// textQuestion returns a form with one text field.
func textQuestion(key, message, field string) *mcp.Elicitation {
	form := fmt.Sprintf(`{"type": "object", "properties": {%q: {"type": "string"}}, "required": [%[1]q]}`, field)
	return &mcp.Elicitation{Key: key, Message: message, Schema: json.RawMessage(form)}
}
