package schema_test

import (
	"encoding/json"
	"fmt"

	"github.com/petrock/petrock/core/schema"
)

func ExampleSchema_Validate() {
	s, err := schema.Compile(json.RawMessage(`{
		"type": "object",
		"properties": {
			"status": {"enum": ["open", "done"]},
			"limit": {"type": "integer", "maximum": 100}
		},
		"required": ["limit"],
		"additionalProperties": false
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Validate(json.RawMessage(`{"limit": 10, "status": "open"}`)))
	fmt.Println(s.Validate(json.RawMessage(`{"Limit": 250, "status": "opne"}`)))
	// Output:
	// <nil>
	// Limit: is not a known property; known: status, limit
	// status: must be one of "open", "done", got "opne"
	// limit: required but missing
}
