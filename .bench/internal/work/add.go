// Package work holds what the tools of the servers do, so that all of them do the same.
package work

// AddInput is what add takes, for the servers that derive a schema from a Go type.
type AddInput struct {
	A float64 `json:"a" jsonschema:"First number"`
	B float64 `json:"b" jsonschema:"Second number"`
}

// AddOutput is what add returns.
type AddOutput struct {
	Sum float64 `json:"sum" jsonschema:"The two numbers together"`
}

// Add adds two numbers.
func Add(in AddInput) AddOutput {
	return AddOutput{Sum: in.A + in.B}
}
