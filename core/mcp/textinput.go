package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/schema"
)

// compileInput reads the schema of what a component takes.
func compileInput(raw json.RawMessage) (*schema.Schema, error) {
	s, err := schema.Compile(string(raw))
	if err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	if !s.RootIsObject() {
		return nil, errors.New(`input schema: must say "type":"object" at its root: arguments are always an object`)
	}
	return s, nil
}

// A textInput is what the arguments of a prompt, or the variables of a template, must be
// beyond being text. The nil one allows everything.
type textInput struct {
	schema  *schema.Schema
	choices map[string][]string // the values of those that have an enum
}

// newTextInput reads a schema, if there is one.
func newTextInput(raw json.RawMessage) (*textInput, error) {
	if raw == nil {
		return nil, nil
	}
	s, err := compileInput(raw)
	if err != nil {
		return nil, err
	}
	in := &textInput{s, make(map[string][]string)}
	for _, p := range s.Properties() {
		if choices := s.Choices(p.Name); choices != nil {
			in.choices[p.Name] = choices
		}
	}
	return in, nil
}

// arguments are the properties of the schema as arguments of a prompt.
func (in *textInput) arguments() []PromptArgument {
	var all []PromptArgument
	for _, p := range in.schema.Properties() {
		all = append(all, PromptArgument{Name: p.Name, Description: p.Description, Required: p.Required})
	}
	return all
}

// check reports what is wrong with values, which are what of name.
func (in *textInput) check(what, name string, values map[string]string) error {
	if in == nil {
		return nil
	}
	if err := in.schema.Validate(textObject(values)); err != nil {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid %s %s:\n%v", what, name, err)
	}
	return nil
}

// hasChoices reports whether there is something to complete.
func (in *textInput) hasChoices() bool { return in != nil && len(in.choices) > 0 }

// completer is set, if it is, or else the one that offers the choices, if there are any.
func (in *textInput) completer(set Completer) Completer {
	if set != nil || !in.hasChoices() {
		return set
	}
	return func(_ context.Context, argument, prefix string, _ map[string]string) ([]string, error) {
		var fitting []string
		for _, choice := range in.choices[argument] {
			if strings.HasPrefix(choice, prefix) {
				fitting = append(fitting, choice)
			}
		}
		return fitting, nil
	}
}

// textObject is the JSON object of values, in the order of their names.
func textObject(values map[string]string) json.RawMessage {
	var o object
	for _, name := range slices.Sorted(maps.Keys(values)) {
		o.text(name, values[name])
	}
	return o.appendTo(nil)
}
