package transport_test

import (
	"encoding/json"
	"fmt"
	"log"

	"github.com/petrock/petrock/core/plumbing/transport"
)

// The headers that a client sends with a tools/call, from the input schema and the arguments.
func ExampleHeaderArguments() {
	schema := json.RawMessage(`{
		"type": "object",
		"properties": {
			"query": {"type": "string"},
			"region": {"type": "string", "x-mcp-header": "Region"},
			"page": {"type": "object", "properties": {"size": {"type": "integer", "x-mcp-header": "Page-Size"}}}
		}
	}`)
	arguments := json.RawMessage(`{"query": "storks", "region": "eu-west", "page": {"size": 20}}`)
	headers, err := transport.HeaderArguments(schema)
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range headers {
		fmt.Printf("%s: %s (%s)\n", h.Header, h.Value(arguments), h.Type)
	}
	// Output:
	// Mcp-Param-Region: "eu-west" (string)
	// Mcp-Param-Page-Size: 20 (integer)
}
