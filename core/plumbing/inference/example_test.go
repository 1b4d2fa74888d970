package inference_test

import (
	"encoding/json"
	"fmt"

	"github.com/petrock/petrock/core/plumbing/inference"
)

func ExampleProperties() {
	properties := inference.Properties(json.RawMessage(`{
		"type": "object",
		"properties": {"code": {"type": "string", "description": "What to review."}, "focus": {"type": "string"}},
		"required": ["code"]
	}`))
	for _, p := range properties {
		fmt.Printf("%s %q %t\n", p.Name, p.Description, p.Required)
	}
	// Output:
	// code "What to review." true
	// focus "" false
}
