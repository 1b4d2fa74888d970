package mcp

import (
	"context"
	"errors"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// withParams returns a method that decodes its params for f.
func withParams[P any](f func(context.Context, *Call, *P) (any, error)) func(context.Context, *Call) (any, error) {
	decoder := new(strictjson.Decoder)
	return func(ctx context.Context, c *Call) (any, error) {
		p := new(P)
		if c.Params != nil {
			err := decoder.Decode(c.Params, p)
			if _, ok := errors.AsType[*strictjson.TypeError](err); ok {
				return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid params of %s: %v", c.Method, err)
			}
			if err != nil {
				return nil, err
			}
		}
		return f(ctx, c, p)
	}
}
