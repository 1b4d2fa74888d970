package tools

import (
	"context"
	"maps"
	"slices"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/mcp"
)

// AboutOutput is what about returns.
type AboutOutput struct {
	Revision     string   `json:"revision"`               // Of the protocol, in which the call came
	Client       string   `json:"client"`                 // The program that calls, as it calls itself
	Capabilities []string `json:"capabilities,omitempty"` // What it can be asked for
	Caller       string   `json:"caller,omitempty"`       // Who is behind it, if that was asked
}

// About tells who is calling, and how. All of it is in the context of a call.
//
//petrock:title Who is calling
//petrock:hints read-only closed-world
func About(ctx context.Context, _ struct{}) (AboutOutput, error) {
	call := mcp.CallFrom(ctx)
	out := AboutOutput{
		Revision:     string(call.Revision),
		Client:       call.Client().Name,
		Capabilities: slices.Sorted(maps.Keys(call.ClientCapabilities())),
	}
	if id := auth.From(ctx); id != nil {
		out.Caller = id.Subject
	}
	return out, nil
}
