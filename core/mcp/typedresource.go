package mcp

import (
	"context"
	"fmt"

	"github.com/petrock/petrock/core/strictjson"
)

// TypedResource makes a [ResourceHandler] of a function of Go types. A string is text, a []byte a
// blob; [ResourceContents], one, a pointer to one or several, are sent as they are; and
// anything else is sent as JSON, of the type application/json.
func TypedResource[Out any](f func(context.Context) (Out, error)) ResourceHandler {
	return func(ctx context.Context, _ string, _ map[string]string) ([]ResourceContents, error) {
		out, err := f(ctx)
		if err != nil {
			return nil, err
		}
		return contentsOf(out)
	}
}

// TypedTemplate is [TypedResource] for a function that takes the variables of a template, decoded as
// [TypedPrompt] decodes arguments.
func TypedTemplate[In, Out any](f func(context.Context, In) (Out, error)) ResourceHandler {
	decode := textDecoder[In]("variables")
	return func(ctx context.Context, _ string, variables map[string]string) ([]ResourceContents, error) {
		in, err := decode(variables)
		if err != nil {
			return nil, err
		}
		out, err := f(ctx, in)
		if err != nil {
			return nil, err
		}
		return contentsOf(out)
	}
}

// contentsOf is what a typed function has read, in the form of the protocol.
func contentsOf(out any) ([]ResourceContents, error) {
	switch out := out.(type) {
	case string:
		return []ResourceContents{{Text: out}}, nil
	case []byte:
		return []ResourceContents{{Blob: append([]byte{}, out...)}}, nil // not nil, or it would be text
	case ResourceContents:
		return []ResourceContents{out}, nil
	case *ResourceContents:
		if out == nil {
			return nil, nil
		}
		return []ResourceContents{*out}, nil
	case []ResourceContents:
		return out, nil
	}
	raw, err := strictjson.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encoding the contents: %w", err)
	}
	return []ResourceContents{{MIMEType: "application/json", Text: string(raw)}}, nil
}
