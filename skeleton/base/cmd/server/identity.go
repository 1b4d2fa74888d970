package main

import (
	"net/http"

	"github.com/petrock/petrock/core/auth"
)

// identity is how the server tells who calls over HTTP, beside API keys, which need nothing here. To check bearer tokens of an
// authorization server (OAuth 2.1), import the package oauth, which is below this one in a project that was made with --oauth:
//
//	return []extension{oauth.New()}
//
// Any extension that is a gatekeeper will do.
func identity() []extension {
	return nil
}

// A gatekeeper is an extension that tells who may come in over HTTP.
type gatekeeper interface {
	extension

	// Gate returns a gate, and the pages that belong to it by their paths, which are for everybody. The gate is nil
	// if it is not in use. resource is the address that clients call the server by, such as https://mcp.example.com/mcp.
	Gate(resource string) (gate auth.Gate, pages map[string]http.Handler, err error)
}
