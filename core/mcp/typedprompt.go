package mcp

import (
	"context"
	"sync"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// A PromptOutput is what a function that fills in a prompt may return: the text of one message of
// the user, messages, or the whole result.
type PromptOutput interface {
	string | []PromptMessage | PromptResult | *PromptResult
}

// TypedPrompt makes a [PromptHandler] of a function of Go types. Its input, a struct, is decoded from
// the arguments as the JSON object that they are: fields are strings, types that
// unmarshal themselves from text, or numbers and booleans with the option "string" in their tag.
// Arguments that do not fit are an error of the caller.
func TypedPrompt[In any, Out PromptOutput](f func(context.Context, In) (Out, error)) PromptHandler {
	decode := textDecoder[In]("arguments")
	return func(ctx context.Context, arguments map[string]string) (*PromptResult, error) {
		in, err := decode(arguments)
		if err != nil {
			return nil, err
		}
		out, err := f(ctx, in)
		if err != nil {
			return nil, err
		}
		switch out := any(out).(type) {
		case string:
			return &PromptResult{Messages: []PromptMessage{{RoleUser, Text{Text: out}}}}, nil
		case []PromptMessage:
			return &PromptResult{Messages: out}, nil
		case PromptResult:
			return &out, nil
		}
		return any(out).(*PromptResult), nil // the one that is left
	}
}

// textDecoder returns the function that fills an In from values that are text; what is their name.
func textDecoder[In any](what string) func(map[string]string) (In, error) {
	decoder := sync.OnceValue(strictjson.NewDecoder[In])
	return func(values map[string]string) (in In, err error) {
		if err := decoder().DecodeChecked(textObject(values), &in); err != nil {
			return in, jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid %s: %v", what, err)
		}
		return in, nil
	}
}
