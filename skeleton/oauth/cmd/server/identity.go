package main

import "github.com/petrock/petrock/skeleton/base/cmd/server/oauth"

// gateKeepers are how the server tells who calls over HTTP, beside API keys, which need nothing here: by the bearer tokens of an
// authorization server (OAuth 2.1). Flags and environment variables of serve say which; without one, no tokens are asked for.
//
// Any extension that is a gateKeeper will do.
func gateKeepers() []extension {
	return []extension{oauth.New(programName)}
}
