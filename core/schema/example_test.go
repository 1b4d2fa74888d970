package schema_test

import (
	"encoding/json"
	"fmt"
	"reflect"

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

func ExampleInfer() {
	type search struct {
		Query string `json:"query" schema:"min=1"`
		Limit int    `json:"limit" schema:"max=100,default=20"`
	}
	document, err := schema.Infer(reflect.TypeFor[search](), schema.Input)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(document))
	// Output:
	// {"type":"object","properties":{"query":{"type":"string","minLength":1},"limit":{"type":"integer","maximum":100,"default":20}},"required":["query"],"additionalProperties":false}
}
