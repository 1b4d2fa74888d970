package mcp

import (
	"context"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// withParams returns a method that decodes its params for f. Params that do not fit P fail the
// request; without params, f gets the zero value.
func withParams[P any](f func(context.Context, *Call, *P) (any, error)) func(context.Context, *Call) (any, error) {
	decoder := new(strictjson.Decoder)
	return func(ctx context.Context, c *Call) (any, error) {
		p := new(P)
		if c.Params != nil {
			if err := decoder.Decode(c.Params, p); err != nil {
				return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid params of %s: %v", c.Method, err)
			}
		}
		return f(ctx, c, p)
	}
}
