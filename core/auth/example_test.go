package auth_test

import (
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/petrock/petrock/core/auth"
)

// A gate that accepts the key of one caller. mcphttp.Serve takes gates.
func ExampleKeys() {
	const key = "0123456789abcdef0123456789abcdef"
	gate, err := auth.Keys("notes", []string{"alice=" + key})
	if err != nil {
		log.Fatal(err)
	}
	r := httptest.NewRequest("POST", "/mcp", nil)
	r.Header.Set("X-Api-Token", key)
	caller, err := gate.Authenticate(r)
	fmt.Println(caller.Actor(), caller.May("notes:write"), err)

	r.Header.Set("X-Api-Token", "another key")
	_, err = gate.Authenticate(r)
	fmt.Println(err)
	// Output:
	// alice true <nil>
	// invalid API key
}
