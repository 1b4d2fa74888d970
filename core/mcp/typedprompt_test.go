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

func addPromptFunc[In any, Out mcp.PromptOutput](f func(context.Context, In) (Out, error)) func(*mcp.Server) error {
	return func(s *mcp.Server) error { return mcp.AddPrompt(s, mcp.Prompt{Name: "p"}, f) }
}

// The outputs of typed prompt functions, and the results that clients get.
func TestAddPrompt(t *testing.T) {
	messages := []mcp.PromptMessage{{Role: mcp.RoleAssistant, Content: mcp.Text{Text: "a"}}}
	whole := mcp.PromptResult{Description: "d", Messages: messages}
	type in struct{}
	tests := []struct {
		name string
		add  func(*mcp.Server) error
		want mcp.PromptResult
	}{
		{"string", addPromptFunc(func(context.Context, in) (string, error) { return "u", nil }), mcp.PromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text{Text: "u"}}}}},
		{"messages", addPromptFunc(func(context.Context, in) ([]mcp.PromptMessage, error) { return messages, nil }), mcp.PromptResult{Messages: messages}},
		{"result", addPromptFunc(func(context.Context, in) (mcp.PromptResult, error) { return whole, nil }), whole},
		{"pointer", addPromptFunc(func(context.Context, in) (*mcp.PromptResult, error) { return &whole, nil }), whole},
		{"nothing", addPromptFunc(func(context.Context, in) (*mcp.PromptResult, error) { return nil, nil }), mcp.PromptResult{Messages: []mcp.PromptMessage{}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got mcp.PromptResult
			if err := mcptest.Serve(t, test.add).Call("prompts/get", map[string]any{"name": "p"}, &got); err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, %v; want %+v and no error", got, err, test.want)
			}
		})
	}
}

// The arguments of a prompt are the fields of its input.
func TestAddPromptArguments(t *testing.T) {
	type in struct {
		Code  string `json:"code" schema:"min=3,description='What to review, as it is'"`
		Style style  `json:"style,omitempty" schema:"enum=brief|brutal"`
		Lines int    `json:"lines,string"`
	}
	var got in
	client := mcptest.Serve(t, addPromptFunc(func(_ context.Context, in in) (string, error) {
		got = in
		return "", nil
	}))
	want := []mcp.PromptArgument{{Name: "code", Description: "What to review, as it is", Required: true}, {Name: "style"}, {Name: "lines", Required: true}}
	if prompts := client.Prompts(); len(prompts) != 1 || !reflect.DeepEqual(prompts[0].Arguments, want) {
		t.Errorf("the prompts are %+v; want one with the arguments %+v", prompts, want)
	}
	for _, test := range []struct {
		arguments map[string]string
		want      in
		err       string
	}{
		{map[string]string{"code": "\"<a>\"\n\u2028", "style": "brief", "lines": "12"}, in{"\"<a>\"\n\u2028", "brief", 12}, ""},
		{map[string]string{"code": "abc", "lines": "1.5"}, in{}, "invalid arguments: lines: 1.5 does not fit in int"},
		{map[string]string{"code": "a", "lines": "1"}, in{}, "invalid arguments for the prompt p:\ncode: must have at least 3 characters, got 1"},
		{map[string]string{"code": "abc", "lines": "1", "style": "nice"}, in{}, `invalid arguments for the prompt p:` + "\n" + `style: must be one of "brief", "brutal", got "nice"`},
	} {
		got = in{}
		err := client.Call("prompts/get", map[string]any{"name": "p", "arguments": test.arguments}, nil)
		if got != test.want || test.err == "" && err != nil || test.err != "" && (!errors.Is(err, jsonrpc.InvalidParams) || err.Error() != test.err) {
			t.Errorf("%v: got %+v, %v", test.arguments, got, err)
		}
	}
}

// A completer takes precedence over the enums of the schema.
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
		t.Errorf("got %v, %v; want the values [mine] and no error", result, err)
	}
}
