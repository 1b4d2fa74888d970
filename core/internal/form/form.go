// Package form handles the schemas of forms, with which a server asks a user for input: objects whose
// properties are strings, numbers, booleans and choices.
package form

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/petrock/petrock/core/internal/jsonschema"
	"github.com/petrock/petrock/core/strictjson"
)

// Check returns an error if a form has a property that clients cannot show.
func Check(form json.RawMessage) error {
	if _, err := jsonschema.Compile(form); err != nil {
		return err
	}
	return eachField(form, func(_ string, raw json.RawMessage, f field) error {
		if !slices.Contains([]string{"string", "number", "integer", "boolean", "array"}, f.Type) {
			return fmt.Errorf("type %q is not supported in a form; use string, number, integer, boolean, or array for a multiple choice", f.Type)
		}
		return f.check(raw)
	})
}

// Downgrade converts a form to revision 2025-06-18, where only booleans have a default, a choice is an
// enum with enumNames, and multiple choice is not supported.
func Downgrade(form json.RawMessage) (json.RawMessage, error) {
	var fields []byte
	err := eachField(form, func(name string, raw json.RawMessage, f field) error {
		older, err := downgradeField(raw, f)
		fields = strictjson.AppendMember(fields, name, older)
		return err
	})
	if err != nil {
		return nil, err
	}
	return replaceMembers(form, func(key string, value []byte) (string, []byte) {
		if key == "properties" {
			value = append(append([]byte{'{'}, fields...), '}')
		}
		return key, value
	})
}

// FillDefaults adds the defaults of a form to content, for members that it does not have.
func FillDefaults(form, content json.RawMessage) (json.RawMessage, error) {
	filled := map[string]json.RawMessage{}
	if strictjson.First(content) != 'n' && content != nil {
		if err := strictjson.Unmarshal(content, &filled); err != nil {
			return nil, fmt.Errorf("content: %w", err)
		}
	}
	err := eachField(form, func(name string, _ json.RawMessage, f field) error {
		if _, ok := filled[name]; !ok && f.Default != nil {
			filled[name] = f.Default
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return strictjson.Marshal(filled)
}

// A field is the schema of a property of a form.
type field struct {
	Type    string          `json:"type"`
	Enum    json.RawMessage `json:"enum"`
	OneOf   []titled        `json:"oneOf"`
	Default json.RawMessage `json:"default"`
	Items   *struct {
		Enum  json.RawMessage `json:"enum"`
		AnyOf []titled        `json:"anyOf"`
	} `json:"items"`
}

// A titled value is a choice with its label.
type titled struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// eachField calls visit for each property of a form.
func eachField(form json.RawMessage, visit func(name string, raw json.RawMessage, f field) error) error {
	var root struct {
		Type       string          `json:"type"`
		Properties json.RawMessage `json:"properties"`
	}
	if err := strictjson.Unmarshal(form, &root); err != nil {
		return err
	}
	if root.Type != "object" || strictjson.First(root.Properties) != '{' {
		return errors.New(`must have "type":"object" and properties`)
	}
	return strictjson.Object(root.Properties, func(key, raw []byte) error {
		var f field
		if err := strictjson.Unmarshal(raw, &f); err != nil {
			return fmt.Errorf("properties.%s: %w", key, err)
		}
		if err := visit(string(key), raw, f); err != nil {
			return fmt.Errorf("properties.%s: %w", key, err)
		}
		return nil
	})
}

func (f *field) check(raw json.RawMessage) error {
	switch {
	case f.Type == "array" && (f.Items == nil || f.Items.Enum == nil && len(f.Items.AnyOf) == 0):
		return errors.New("an array must be a multiple choice: its items need enum, or anyOf with const and title")
	case f.OneOf != nil && (len(f.OneOf) == 0 || f.Enum != nil):
		return errors.New("a choice needs either enum, or oneOf with const and title")
	case f.Default == nil:
		return nil
	}
	own, err := jsonschema.Compile(raw)
	if err != nil {
		return err
	}
	if err := own.Validate(f.Default); err != nil {
		return fmt.Errorf("default: %w", err)
	}
	return nil
}

func downgradeField(raw json.RawMessage, f field) (json.RawMessage, error) {
	if f.Type == "array" {
		return nil, errors.New("multiple choice is not supported in revision 2025-06-18")
	}
	var values, names []string
	for _, choice := range f.OneOf {
		values = append(values, choice.Const)
		names = append(names, cmp.Or(choice.Title, choice.Const))
	}
	older, err := replaceMembers(raw, func(key string, value []byte) (string, []byte) {
		switch {
		case key == "default" && f.Type != "boolean":
			return "", nil
		case key == "oneOf":
			value, _ = strictjson.Marshal(values) // strings cannot fail
			return "enum", value
		}
		return key, value
	})
	if err != nil || f.OneOf == nil {
		return older, err
	}
	encoded, err := strictjson.Marshal(names)
	return append(strictjson.AppendMember(older[:len(older)-1], "enumNames", encoded), '}'), err
}

// replaceMembers returns an object with each member replaced. If replace returns an empty key, the
// member is dropped.
func replaceMembers(object json.RawMessage, replace func(key string, value []byte) (string, []byte)) (json.RawMessage, error) {
	var members []byte
	err := strictjson.Object(object, func(key, value []byte) error {
		if key, value := replace(string(key), value); key != "" {
			members = strictjson.AppendMember(members, key, value)
		}
		return nil
	})
	return append(append([]byte{'{'}, members...), '}'), err
}
