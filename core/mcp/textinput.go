package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/internal/jsonschema"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// A textInput validates and completes the arguments of a prompt or the variables of a template. The
// schema does not change; Server.mu guards the completer.
type textInput struct {
	schema   *jsonschema.Schema // nil allows any text
	complete Completer          // by default suggests the enums of the schema; may be nil
}

// newTextInput compiles the schema, which may be nil.
func newTextInput(raw json.RawMessage) (*textInput, error) {
	in := &textInput{}
	if raw == nil {
		return in, nil
	}
	var err error
	if in.schema, err = compileInput(raw); err != nil {
		return nil, err
	}
	choices := make(map[string][]string)
	for _, p := range in.schema.Properties() {
		if texts := p.Choices(); texts != nil {
			choices[p.Name] = texts
		}
	}
	if len(choices) > 0 {
		in.complete = func(_ context.Context, argument, prefix string, _ map[string]string) ([]string, error) {
			isOther := func(choice string) bool { return !strings.HasPrefix(choice, prefix) }
			return slices.DeleteFunc(slices.Clone(choices[argument]), isOther), nil
		}
	}
	return in, nil
}

// compileInput compiles the schema of an input, which is always an object.
func compileInput(raw json.RawMessage) (*jsonschema.Schema, error) {
	s, err := jsonschema.Compile(raw)
	if err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	if !s.RootIsObject() {
		return nil, errors.New(`input schema: must have "type":"object" at its root`)
	}
	return s, nil
}

// check validates values. what and name describe them in errors.
func (in *textInput) check(what, name string, values map[string]string) error {
	if in.schema == nil {
		return nil
	}
	if err := in.schema.Validate(textObject(values)); err != nil {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid %s %s:\n%v", what, name, err)
	}
	return nil
}

// textObject returns values as a JSON object of strings.
func textObject(values map[string]string) json.RawMessage {
	object := []byte{'{'}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		object = strictjson.AppendMember(object, name, strictjson.AppendString(nil, values[name]))
	}
	return append(object, '}')
}

// A Completer suggests values for an argument of a prompt or a variable of a resource template,
// best first. prefix is the text typed so far; known holds the values of other arguments, and is
// nil if there are none. The client gets the first hundred values. An error fails the request.
type Completer func(ctx context.Context, argument, prefix string, known map[string]string) ([]string, error)
