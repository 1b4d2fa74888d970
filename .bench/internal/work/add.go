// Package work has the implementation of the tools, which all servers share.
package work

// AddInput is the input of add, for servers that derive the schema from a Go type.
type AddInput struct {
	A float64 `json:"a" jsonschema:"First number"`
	B float64 `json:"b" jsonschema:"Second number"`
}

// AddOutput is the output of add.
type AddOutput struct {
	Sum float64 `json:"sum" jsonschema:"The two numbers together"`
}

// Add adds two numbers.
func Add(in AddInput) AddOutput {
	return AddOutput{Sum: in.A + in.B}
}
