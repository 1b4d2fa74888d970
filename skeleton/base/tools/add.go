// Package tools holds the functions that models call as tools.
package tools

import "context"

// AddInput is the input of add.
type AddInput struct {
	A float64 `json:"a"` // First number
	B float64 `json:"b"` // Second number
}

// AddOutput is the output of add.
type AddOutput struct {
	Sum float64 `json:"sum"` // Sum of both
}

// Add adds two numbers.
func Add(ctx context.Context, in AddInput) (AddOutput, error) {
	return AddOutput{Sum: in.A + in.B}, nil
}
