package appmcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/strictjson"
)

// Do returns a command as a function for [mcp.AddTool]. A call whose _meta has an idempotencyKey gives the command that key. Callers that are
// known have keys of their own: what one came to is not told to another who has chosen the same.
func Do[C app.Commander[S, Out], S, Out any](a *app.App) func(context.Context, C) (mcp.Encoded[Out], error) {
	return func(ctx context.Context, c C) (mcp.Encoded[Out], error) {
		ctx, err := WithKey(ctx)
		if err != nil {
			return mcp.Encoded[Out]{}, err
		}
		raw, err := app.Execute[S, Out](ctx, a, c)
		return mcp.Encoded[Out]{JSON: raw}, err
	}
}

// Ask returns a query as a function for [mcp.AddTool].
func Ask[Q app.Answerer[S, Out], S, Out any](a *app.App) func(context.Context, Q) (mcp.Encoded[Out], error) {
	return func(ctx context.Context, q Q) (mcp.Encoded[Out], error) {
		raw, err := app.Read[S, Out](ctx, a, q)
		return mcp.Encoded[Out]{JSON: raw}, err
	}
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
