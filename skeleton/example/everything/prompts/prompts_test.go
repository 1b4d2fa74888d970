package prompts_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/skeleton/example/everything/prompts"
)

func TestPrompts(t *testing.T) {
	server := mcp.NewServer(mcp.Implementation{Name: "test", Version: "0"}, mcp.Options{})
	if err := prompts.Register(server); err != nil {
		t.Fatal(err)
	}
	client := mcptest.ConnectWith(t, server, mcptest.Options{
		Capabilities: mcp.Capabilities{"elicitation": json.RawMessage(`{}`)},
		Handle: func(context.Context, string, json.RawMessage) (any, error) {
			return map[string]any{"action": "accept", "content": map[string]any{"context": "the sea"}}, nil
		},
	})
	for name, example := range map[string]mcptest.Example{
		"test_simple_prompt":                 {Input: `{}`, Output: "This is a simple prompt for testing."},
		"test_prompt_with_arguments":         {Input: `{"arg1":"one","arg2":"two"}`, Output: "Prompt with arguments: arg1='one', arg2='two'"},
		"test_prompt_with_embedded_resource": {Input: `{"resourceUri":"test://it"}`, Output: "Please process the embedded resource above."},
		"test_prompt_with_image":             {Input: `{}`, Output: "Please analyze the image above."},
		"test_input_required_result_prompt":  {Input: `{}`, Output: "Use this context: the sea"},
	} {
		t.Run(name, func(t *testing.T) { client.CheckPrompt(t, name, example) })
	}
}

// Completion leaves out the value of the other argument.
func TestWords(t *testing.T) {
	client := mcptest.Serve(t, prompts.Register)
	var result struct {
		Completion struct {
			Values []string `json:"values"`
		} `json:"completion"`
	}
	err := client.Call("completion/complete", map[string]any{
		"ref":      map[string]any{"type": "ref/prompt", "name": "test_prompt_with_arguments"},
		"argument": map[string]any{"name": "arg2", "value": "te"},
		"context":  map[string]any{"arguments": map[string]string{"arg1": "tea"}},
	}, &result)
	if err != nil || !slices.Equal(result.Completion.Values, []string{"test", "testing"}) {
		t.Errorf("te is completed to %q (%v); want test and testing, and no error", result.Completion.Values, err)
	}
}
