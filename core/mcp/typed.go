package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"

	"github.com/petrock/petrock/core/strictjson"
)

// Typed makes a [ToolHandler] of a function of Go types. Its input is decoded
// from the arguments. Its output is sent as structured content, and as text: a string as
// it is, anything else as JSON; a nil slice is an empty list and a nil map an empty object. A function
// whose output is a [ToolResult], or a pointer to one, decides for itself.
func Typed[In, Out any](f func(context.Context, In) (Out, error)) ToolHandler {
	var none In
	return TypedFrom(none, f)
}

// TypedFrom is [Typed] for an input with defaults: what the caller leaves out is as it is in
// them. Each call has a copy of its own. As in package encoding/json, an object
// is decoded into the struct or the map that is its default, whose other fields or keys stay.
func TypedFrom[In, Out any](defaults In, f func(context.Context, In) (Out, error)) ToolHandler {
	return typedTool{
		input: func() any { in := defaults; return &in },
		call:  func(ctx context.Context, in any) (any, error) { return f(ctx, *in.(*In)) },
	}.handler()
}

// A typedTool is what differs between functions of different types. The compiler makes it
// anew for each of them, so it is little.
type typedTool struct {
	input func() any // points to a copy of the defaults
	call  func(ctx context.Context, in any) (any, error)
}

// handler is what the functions have in common.
func (t typedTool) handler() ToolHandler {
	defaults := reflect.ValueOf(t.input()).Elem()
	decoder := sync.OnceValue(func() *strictjson.ValueDecoder { return strictjson.NewValueDecoder(defaults.Type()) })
	none := defaults.IsZero()
	return func(ctx context.Context, arguments json.RawMessage) (*ToolResult, error) {
		decode := decoder().Decode
		if c := CallFrom(ctx); c != nil && same(arguments, c.arguments) {
			decode = decoder().DecodeChecked // the connection has checked them
		}
		in := t.input()
		if !none {
			unshare(reflect.ValueOf(in).Elem())
		}
		if err := decode(arguments, in); err != nil {
			return nil, fmt.Errorf("invalid arguments: %w", err)
		}
		output, err := t.call(ctx, in)
		if err != nil {
			return nil, err
		}
		result := &ToolResult{}
		switch out := output.(type) {
		case *ToolResult:
			return out, nil
		case ToolResult:
			return &out, nil
		case string:
			result.Content = []Content{Text{Text: out}}
		}
		if result.StructuredContent, err = strictjson.MarshalOutput(output); err != nil {
			return nil, fmt.Errorf("encoding the output: %w", err)
		}
		return result, nil
	}
}
