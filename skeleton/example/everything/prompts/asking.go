package prompts

import (
	"context"
	"encoding/json"

	"github.com/petrock/petrock/core/mcp"
)

// Asking asks the user a question before it returns the prompt, as tools can.
//
//petrock:name test_input_required_result_prompt
func Asking(ctx context.Context, _ struct{}) (string, error) {
	question := &mcp.Elicitation{
		Key:     "user_context",
		Message: "What context should the prompt use?",
		Schema:  json.RawMessage(`{"type": "object", "properties": {"context": {"type": "string"}}, "required": ["context"]}`),
	}
	if err := mcp.Ask(ctx, question); err != nil {
		return "", err
	}
	var filled struct {
		Context string `json:"context"`
	}
	err := question.Decode(&filled)
	return "Use this context: " + filled.Context, err
}
