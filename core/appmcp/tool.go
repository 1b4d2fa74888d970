package appmcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/strictjson"
)

// Do is a command as a tool, for [mcp.Typed]. A call whose _meta has an idempotencyKey gives the command that key. Callers that are
// known have keys of their own: what one came to is not told to another who has chosen the same.
func Do[C app.Commander[S, Out], S, Out any](a *app.App) func(context.Context, C) (*mcp.ToolResult, error) {
	return func(ctx context.Context, c C) (*mcp.ToolResult, error) {
		ctx, err := WithKey(ctx)
		if err != nil {
			return nil, err
		}
		raw, err := app.Execute[S, Out](ctx, a, c)
		return result(raw, reflect.TypeFor[Out](), err)
	}
}

// Ask is a query as a tool, for [mcp.Typed].
func Ask[Q app.Answerer[S, Out], S, Out any](a *app.App) func(context.Context, Q) (*mcp.ToolResult, error) {
	return func(ctx context.Context, q Q) (*mcp.ToolResult, error) {
		raw, err := app.Read[S, Out](ctx, a, q)
		return result(raw, reflect.TypeFor[Out](), err)
	}
}

// result is an output of a type as the result of a tool, in the form that [mcp.Typed] gives it.
func result(raw json.RawMessage, t reflect.Type, err error) (*mcp.ToolResult, error) {
	if err != nil {
		return nil, err
	}
	made := &mcp.ToolResult{StructuredContent: raw}
	if text, ok := strictjson.Unquote(raw); ok && t == reflect.TypeFor[string]() {
		made.Content = []mcp.Content{mcp.Text{Text: text}}
	}
	return made, nil
}

// WithKey is ctx with the idempotency key that its call carries, if it does. It is for tools that execute one command, and so
// give back the same when they are called again.
func WithKey(ctx context.Context) (context.Context, error) {
	call := mcp.CallFrom(ctx)
	if call == nil || call.Meta == nil {
		return ctx, nil
	}
	err := strictjson.Members(call.Meta, func(name, value []byte) error {
		if string(name) != "idempotencyKey" {
			return nil
		}
		key, ok := strictjson.Unquote(value)
		switch {
		case !ok:
			return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta.idempotencyKey must be a string, got %s", strictjson.Describe(value))
		case key == "":
			return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta.idempotencyKey must not be empty: leave it out for a command that is executed each time")
		}
		ctx = app.WithKey(ctx, ownKey(ctx, key))
		return nil
	})
	return ctx, err
}

// ownKey is the key of a caller in the log, where those of all are.
func ownKey(ctx context.Context, key string) string {
	principal := auth.From(ctx).Principal()
	if principal == "" {
		return key
	}
	sum := sha256.Sum256([]byte(principal))
	return hex.EncodeToString(sum[:8]) + ":" + key
}
