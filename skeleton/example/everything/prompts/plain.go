// Package prompts holds the prompts that people can choose.
package prompts

import (
	"context"
	"fmt"
	"strings"
)

// Simple is a prompt that is always the same.
//
//petrock:name test_simple_prompt
//petrock:title A simple prompt
func Simple(context.Context, struct{}) (string, error) {
	return "This is a simple prompt for testing.", nil
}

// ArgumentsInput is what test_prompt_with_arguments takes.
type ArgumentsInput struct {
	Arg1 string `json:"arg1"` // The first word
	Arg2 string `json:"arg2"` // The second word
}

// Arguments is a prompt that is filled in.
//
//petrock:name test_prompt_with_arguments
func Arguments(_ context.Context, in ArgumentsInput) (string, error) {
	return fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", in.Arg1, in.Arg2), nil
}

// words are those that begin with what was typed. They are not those that were chosen for the other argument.
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
