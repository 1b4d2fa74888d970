// Package form handles the schemas of forms, with which a server asks a user for input: objects
// whose properties are strings, numbers, booleans and choices.
package form

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/internal/jsonschema"
	"github.com/petrock/petrock/core/strictjson"
)

// Check returns an error if a form is not a valid schema, or has a property that clients cannot
// show.
func Check(form json.RawMessage) error {
	s, err := jsonschema.Compile(form)
	if err != nil {
		return err
	}
	fields := strictjson.Member(form, "properties")
	if !s.RootIsObject() || strictjson.First(fields) != '{' {
		return errors.New(`must have "type":"object" and properties`)
	}
	for _, p := range s.Properties() {
		if err := check(p, strictjson.Member(fields, p.Name)); err != nil {
			return &FieldError{p.Name, err}
		}
	}
	return nil
}

// A FieldError means that a form cannot have a field.
type FieldError struct {
	Name string // its JSON key
	Err  error
}

func (e *FieldError) Error() string { return fmt.Sprintf("properties.%s: %v", e.Name, e.Err) }

// Unwrap returns the cause.
func (e *FieldError) Unwrap() error { return e.Err }

// Of returns the form for an object schema, as inferred from a struct. It has only the keywords
// that the protocol defines for forms; a field that needs others is an error.
func Of(document json.RawMessage) (json.RawMessage, error) {
	fields := []byte(`{}`)
	if properties := strictjson.Member(document, "properties"); properties != nil {
		fields = properties
	}
	for _, p := range jsonschema.ReadProperties(document) {
		if err := checkKeywords(p, strictjson.Member(fields, p.Name)); err != nil {
			return nil, &FieldError{p.Name, err}
		}
	}
	form := strictjson.AppendMember([]byte(`{"type":"object"`), "properties", fields)
	if required := strictjson.Member(document, "required"); required != nil {
		form = strictjson.AppendMember(form, "required", required)
	}
	form = append(form, '}')
	return form, Check(form)
}

const formats = "email, uri, date, date-time" // of strings

// keywords are the keywords of fields, by type, in addition to those that all have.
var keywords = map[string]string{
	"string": "minLength maxLength format enum", "number": "minimum maximum", "integer": "minimum maximum", "boolean": "", "array": "minItems maxItems items",
}

// checkKeywords returns an error if a field has a keyword or a format that the protocol does not
// define for its type.
func checkKeywords(p *jsonschema.Property, raw json.RawMessage) error {
	switch {
	case len(p.Kinds) > 1 && slices.Contains(p.Kinds, "null"):
		return errors.New("may be null, which a form cannot express; add omitempty to its json tag")
	case len(p.Kinds) != 1 || p.Kinds[0] == "object":
		return nil // Check refuses the type
	case p.Format != "" && !slices.Contains(strings.Split(formats, ", "), p.Format):
		return fmt.Errorf("format %q is not supported in a form; use %s", p.Format, formats)
	}
	supported := strings.Fields("type title description default " + keywords[p.Kinds[0]])
	return strictjson.Members(raw, func(key, _ []byte) error {
		if !slices.Contains(supported, string(key)) {
			return fmt.Errorf("%s is not supported for type %s in a form; check it in the function", key, p.Kinds[0])
		}
		return nil
	})
}

func check(p *jsonschema.Property, raw json.RawMessage) error {
	kind := ""
	if len(p.Kinds) == 1 {
		kind = p.Kinds[0]
	}
	switch {
	case !slices.Contains([]string{"string", "number", "integer", "boolean", "array"}, kind):
		return fmt.Errorf("type %q is not supported in a form; use string, number, integer, boolean, or array for a multiple choice", kind)
	case kind == "array" && (p.Items == nil || len(p.Items.Enum) == 0):
		return errors.New("an array must be a multiple choice: its items need enum, or anyOf with const and title")
	case strictjson.Member(raw, "oneOf") != nil && (strictjson.Member(raw, "enum") != nil || len(p.Enum) == 0):
		return errors.New("a choice needs either enum, or oneOf with const and title")
	case p.Default == nil:
		return nil
	}
	if err := p.Schema.Validate(p.Default); err != nil {
		return fmt.Errorf("default: %w", err)
	}
	return nil
}

// FillDefaults adds the defaults of a form to content, for members that it does not have.
func FillDefaults(form, content json.RawMessage) (json.RawMessage, error) {
	filled := map[string]json.RawMessage{}
	if strictjson.First(content) != 'n' && content != nil {
		if err := strictjson.Unmarshal(content, &filled); err != nil {
			return nil, fmt.Errorf("content: %w", err)
		}
	}
	for _, p := range jsonschema.ReadProperties(form) {
		if _, ok := filled[p.Name]; !ok && p.Default != nil {
			filled[p.Name] = p.Default
		}
	}
	return strictjson.Marshal(filled)
}

// Downgrade converts a form that [Check] accepts to revision 2025-06-18, where only booleans have a
// default, a choice is an enum with enumNames, and multiple choice is not supported.
func Downgrade(form json.RawMessage) (json.RawMessage, error) {
	var fields []byte
	for _, p := range jsonschema.ReadProperties(form) {
		if p.Kinds[0] == "array" {
			return nil, fmt.Errorf("properties.%s: multiple choice is not supported in revision 2025-06-18", p.Name)
		}
		raw := strictjson.Member(strictjson.Member(form, "properties"), p.Name)
		fields = strictjson.AppendMember(fields, p.Name, replaceMembers(raw, func(key string, value []byte) []byte {
			switch {
			case key == "default" && p.Kinds[0] != "boolean":
				return nil
			case key == "oneOf":
				names := make([]string, len(p.Choices()))
				copy(names, p.EnumTitles)
				for i, value := range p.Choices() {
					names[i] = cmp.Or(names[i], value)
				}
				values, _ := strictjson.Marshal(p.Choices()) // strings cannot fail
				titles, _ := strictjson.Marshal(names)
				return strictjson.AppendMember(strictjson.AppendMember(nil, "enum", values), "enumNames", titles)
			}
			return strictjson.AppendMember(nil, key, value)
		}))
	}
	return replaceMembers(form, func(key string, value []byte) []byte {
		if key == "properties" {
			value = slices.Concat([]byte{'{'}, fields, []byte{'}'})
		}
		return strictjson.AppendMember(nil, key, value)
	}), nil
}

// replaceMembers returns a valid object with each member replaced by other members, or none.
func replaceMembers(object json.RawMessage, replace func(key string, value []byte) (members []byte)) json.RawMessage {
	out := []byte{'{'}
	_ = strictjson.Members(object, func(key, value []byte) error { // replace returns no error
		members := replace(string(key), value)
		if len(members) > 0 && len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, members...)
		return nil
	})
	return append(out, '}')
}
