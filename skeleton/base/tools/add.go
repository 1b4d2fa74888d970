// Package tools holds the tools that the server offers.
package tools

import "context"

// AddInput is what add takes.
type AddInput struct {
	A float64 `json:"a"` // First number
	B float64 `json:"b"` // Second number
}

// AddOutput is what add returns.
type AddOutput struct {
	Sum float64 `json:"sum"` // The two numbers together
}

// Add adds two numbers.
func Add(_ context.Context, in AddInput) (AddOutput, error) {
	return AddOutput{Sum: in.A + in.B}, nil
}
