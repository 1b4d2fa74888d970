package tools

import (
	"context"

	"github.com/petrock/petrock/core/mcp"
)

// Questions to the client's model.

// SamplingInput is the input of test_sampling.
type SamplingInput struct {
	Prompt string `json:"prompt"` // Prompt for the model
}

// Sampling sends a prompt to the client's model, and returns its answer.
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

// SamplingRequired needs the client's model. It fails if the client does not declare sampling.
//
//petrock:name test_missing_capability
//petrock:hints read-only
func SamplingRequired(ctx context.Context, _ struct{}) (string, error) {
	return askModel(ctx, "answer", "Say anything.", 10)
}

// askModel asks the client's model. In the stateless revision, the client repeats the call with the
// answer under key.
func askModel(ctx context.Context, key, text string, maxTokens int) (string, error) {
	question := modelQuestion(key, text, maxTokens)
	if err := mcp.Ask(ctx, question); err != nil {
		return "", err
	}
	return question.Answer.Text(), nil
}

// modelQuestion returns a question that is one text.
func modelQuestion(key, text string, maxTokens int) *mcp.Sampling {
	return &mcp.Sampling{
		Key:       key,
		Messages:  []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: []mcp.Content{mcp.Text{Text: text}}}},
		MaxTokens: maxTokens,
	}
}
