package tools

import (
	"context"

	"github.com/petrock/petrock/core/mcp"
)

// Questions to the client's model.

// SamplingInput is what test_sampling takes.
type SamplingInput struct {
	Prompt string `json:"prompt"` // What the model is asked
}

// Sampling asks the client's model something, and returns what it says.
//
//petrock:name test_sampling
//petrock:hints read-only
func Sampling(ctx context.Context, in SamplingInput) (string, error) {
	said, err := askModel(ctx, "answer", in.Prompt, 100)
	if err != nil {
		return "", err
	}
	return "LLM response: " + said, nil
}

// SamplingCapital asks the client's model for the capital of France.
//
//petrock:name test_input_required_result_sampling
//petrock:hints read-only
func SamplingCapital(ctx context.Context, _ struct{}) (string, error) {
	return askModel(ctx, "capital_question", "What is the capital of France?", 100)
}

// SamplingRequired cannot do without the client's model. A client that has not declared one is told so.
//
//petrock:name test_missing_capability
//petrock:hints read-only
func SamplingRequired(ctx context.Context, _ struct{}) (string, error) {
	return askModel(ctx, "answer", "Say anything.", 10)
}

// askModel asks the client's model a question, which is known by key if the call comes again with the answer.
func askModel(ctx context.Context, key, text string, maxTokens int) (string, error) {
	question := modelQuestion(key, text, maxTokens)
	if err := mcp.Ask(ctx, question); err != nil {
		return "", err
	}
	return question.Answer.Text(), nil
}

// modelQuestion is a question of one text.
func modelQuestion(key, text string, maxTokens int) *mcp.Sampling {
	return &mcp.Sampling{
		Key:       key,
		Messages:  []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: []mcp.Content{mcp.Text{Text: text}}}},
		MaxTokens: maxTokens,
	}
}
