package main

// identity is how the server tells who calls over HTTP, beside API keys, which need nothing here. To check the bearer tokens of an
// authorization server (OAuth 2.1), return the package oauth, which is below this one:
//
//	return []extension{oauth.New(programName)}
//
// Any extension that is a gatekeeper will do.
func identity() []extension {
	return nil
}
