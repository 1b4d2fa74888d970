package main

// gateKeepers are how the server tells who calls over HTTP, beside API keys, which need nothing here. To check the bearer tokens of an
// authorization server (OAuth 2.1), return the package oauth, which is below this one:
//
//	return []extension{oauth.New(programName)}
//
// Any extension that is a gateKeeper will do.
func gateKeepers() []extension {
	return nil
}
