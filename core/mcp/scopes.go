package mcp

import (
	"strings"

	"github.com/petrock/petrock/core/jsonrpc"
)

// A ScopeError says that who calls is known and may not: the call needs scopes that their token does not have.
type ScopeError struct {
	Needed []string // all that the call needs
}

func (e *ScopeError) Error() string {
	return "this needs a token with the scopes " + strings.Join(e.Needed, " ")
}

// Unwrap is what the client is told.
func (e *ScopeError) Unwrap() error { return jsonrpc.Errorf(jsonrpc.InvalidRequest, "%v", e) }
