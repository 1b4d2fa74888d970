package inference_test

import (
	"encoding/json"
	"fmt"

	"github.com/petrock/petrock/core/schema/inference"
)

func ExampleParseTag() {
	tag, err := inference.ParseTag(`json:"limit" schema:"min=1,max=100,default=20"`)
	fmt.Println(tag.Min, tag.Max, *tag.Default, err)
	// Output: 1 100 20 <nil>
}

func ExampleProperties() {
	properties, err := inference.Properties(json.RawMessage(`{
		"type": "object",
		"properties": {"code": {"type": "string", "description": "What to review."}, "focus": {"type": "string"}},
		"required": ["code"]
	}`))
	for _, p := range properties {
		fmt.Printf("%s %q %t\n", p.Name, p.Description, p.Required)
	}
	fmt.Println(err)
	// Output:
	// code "What to review." true
	// focus "" false
	// <nil>
}
