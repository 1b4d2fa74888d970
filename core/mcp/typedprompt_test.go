package mcp_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcptest"
)

// What a function of Go types may return for a prompt, and what comes of it.
func TestTypedPrompt(t *testing.T) {
	messages := []mcp.PromptMessage{{Role: mcp.RoleAssistant, Content: mcp.Text{Text: "a"}}}
	whole := mcp.PromptResult{Description: "d", Messages: messages}
	type in struct{}
	tests := []struct {
		name    string
		handler mcp.PromptHandler
		want    *mcp.PromptResult
	}{
		{"string", mcp.TypedPrompt(func(context.Context, in) (string, error) { return "u", nil }), &mcp.PromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text{Text: "u"}}}}},
		{"messages", mcp.TypedPrompt(func(context.Context, in) ([]mcp.PromptMessage, error) { return messages, nil }), &mcp.PromptResult{Messages: messages}},
		{"result", mcp.TypedPrompt(func(context.Context, in) (mcp.PromptResult, error) { return whole, nil }), &whole},
		{"pointer", mcp.TypedPrompt(func(context.Context, *in) (*mcp.PromptResult, error) { return &whole, nil }), &whole},
		{"nothing", mcp.TypedPrompt(func(context.Context, in) (*mcp.PromptResult, error) { return nil, nil }), nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got, err := test.handler(t.Context(), nil); err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestTypedPromptInput(t *testing.T) {
	var got reviewInput
	handler := mcp.TypedPrompt(func(_ context.Context, in reviewInput) (string, error) {
		got = in
		return "", nil
	})
	want := reviewInput{Code: "\"<a>\"\n\u2028", Style: "brief", Lines: 12}
	if _, err := handler(t.Context(), map[string]string{"code": want.Code, "style": "brief", "lines": "12", "CODE": "x"}); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := handler(t.Context(), map[string]string{"lines": "1.5"}); !errors.Is(err, jsonrpc.InvalidParams) || err.Error() != "invalid arguments: lines: 1.5 does not fit in int" {
		t.Errorf("error = %v", err)
	}
}

// Who is set to complete an argument does it, and not the schema.
func TestCompleterBeforeChoices(t *testing.T) {
	s := newServer(mcp.Options{})
	addTyped(t, s)
	err := s.CompletePrompt("review", func(context.Context, string, string, map[string]string) ([]string, error) {
		return []string{"mine"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var result struct {
		Completion struct {
			Values []string `json:"values"`
		} `json:"completion"`
	}
	params := map[string]any{"ref": map[string]any{"type": "ref/prompt", "name": "review"}, "argument": map[string]any{"name": "style", "value": "b"}}
	if err := mcptest.Connect(t, s).Call("completion/complete", params, &result); err != nil || !reflect.DeepEqual(result.Completion.Values, []string{"mine"}) {
		t.Errorf("got %v, %v", result, err)
	}
}
