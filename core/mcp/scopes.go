package mcp

import (
	"context"
	"strings"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/jsonrpc"
)

// A ScopeError says that who calls is known and may not: the call needs scopes that their token does not have. A handler may
// return one too, where what is needed depends on what it is asked for.
type ScopeError struct {
	Needed []string // all that the call needs
}

func (e *ScopeError) Error() string {
	return "this needs a token with the scopes " + strings.Join(e.Needed, " ")
}

// Unwrap is what the client is told.
func (e *ScopeError) Unwrap() error { return jsonrpc.Errorf(jsonrpc.InvalidRequest, "%v", e) }

// checkScopes refuses who is known and lacks one of the scopes that are needed.
func checkScopes(ctx context.Context, needed []string) error {
	if len(needed) > 0 && !auth.From(ctx).May(needed...) {
		return &ScopeError{needed}
	}
	return nil
}

// ToolScopes are the scopes that each tool needs that is offered now, by its name.
func (s *Server) ToolScopes() map[string][]string {
	all := map[string][]string{}
	s.tools.find(func(t *tool) bool {
		all[t.Name] = t.Scopes
		return false
	})
	return all
}
