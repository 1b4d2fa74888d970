// Package prompts holds the server's prompts.
package prompts

import (
	"context"
	"fmt"
	"strings"
)

// Simple returns a constant prompt.
//
//petrock:name test_simple_prompt
//petrock:title A simple prompt
func Simple(context.Context, struct{}) (string, error) {
	return "This is a simple prompt for testing.", nil
}

// ArgumentsInput is the input of test_prompt_with_arguments.
type ArgumentsInput struct {
	Arg1 string `json:"arg1"` // The first word
	Arg2 string `json:"arg2"` // The second word
}

// Arguments returns a prompt with its arguments.
//
//petrock:name test_prompt_with_arguments
func Arguments(_ context.Context, in ArgumentsInput) (string, error) {
	return fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", in.Arg1, in.Arg2), nil
}

// words completes an argument. It does not suggest the value of the other argument.
//
//petrock:completes test_prompt_with_arguments
func words(_ context.Context, _, prefix string, known map[string]string) ([]string, error) {
	var found []string
	for _, word := range []string{"tea", "test", "testing", "toast"} {
		if strings.HasPrefix(word, prefix) && word != known["arg1"] && word != known["arg2"] {
			found = append(found, word)
		}
	}
	return found, nil
}
