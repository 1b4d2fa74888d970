package tools

import (
	"context"
	"maps"
	"slices"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/mcp"
)

// AboutOutput is the output of about.
type AboutOutput struct {
	Revision     string   `json:"revision"`               // Protocol revision of the call
	Client       string   `json:"client"`                 // Name of the client program
	Capabilities []string `json:"capabilities,omitempty"` // Capabilities that the client declares
	Caller       string   `json:"caller,omitempty"`       // Identity of the caller, if the server checks it
}

// About describes the client and the caller, from the context of the call.
//
//petrock:title About the caller
//petrock:hints read-only closed-world
func About(ctx context.Context, _ struct{}) (AboutOutput, error) {
	call := mcp.CallFrom(ctx)
	out := AboutOutput{
		Revision:     string(call.Revision),
		Client:       call.Client().Name,
		Capabilities: slices.Sorted(maps.Keys(call.ClientCapabilities())),
	}
	if id := auth.From(ctx); id != nil {
		out.Caller = id.Actor()
	}
	return out, nil
}
