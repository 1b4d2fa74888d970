package token_test

import (
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/petrock/petrock/core/auth/token"
)

// A gate for the tokens of one issuer. A client that calls without a token gets the challenge,
// finds the issuer in the metadata, and gets a token there.
func ExampleNew() {
	gate, err := token.New(token.Options{
		Resource: "https://notes.example.com/mcp",
		Issuers:  []string{"https://login.example.com"},
	})
	if err != nil {
		log.Fatal(err)
	}
	caller, err := gate.Authenticate(httptest.NewRequest("POST", "/mcp", nil))
	fmt.Println(caller == nil, err) // no token, so another gate may accept the request
	fmt.Println(gate.Challenge("", nil))

	path, _ := gate.Metadata() // and the handler for it
	fmt.Println(path)
	// Output:
	// true <nil>
	// Bearer resource_metadata="https://notes.example.com/.well-known/oauth-protected-resource/mcp"
	// /.well-known/oauth-protected-resource/mcp
}
