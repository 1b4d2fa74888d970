// Package inference infers JSON Schemas from types in source code, which reflection does not know,
// and reads what generators need from schemas. It is plumbing for petrock's own generators; servers
// do not need it and use [schema.Infer].
package inference

import (
	"encoding/json"

	"github.com/petrock/petrock/core/internal/form"
	"github.com/petrock/petrock/core/internal/jsonschema"
	"github.com/petrock/petrock/core/schema"
)

type (
	// A Type is a Go type to infer a schema from.
	Type = jsonschema.Type
	// A Field is a field of a struct [Type].
	Field = jsonschema.Field
	// A TypeError is the error of [Infer]. It has the path to the invalid field.
	TypeError = jsonschema.TypeError
	// A FieldError is an error of [CheckForm].
	FieldError = form.FieldError
	// A Property is a property of the root of a schema.
	Property = jsonschema.Property
)

// Infer is [schema.Infer] for any implementation of [Type]. It also reports whether a field of the
// input has a default.
func Infer(t Type, d schema.Direction) (document json.RawMessage, hasDefaults bool, err error) {
	return jsonschema.InferFrom(t, d)
}

// CheckForm returns an error if mcp.AskFor cannot ask for a struct with this input schema: for a
// field, a [*FieldError].
func CheckForm(document json.RawMessage) error {
	_, err := form.Of(document)
	return err
}

// IsStandardType reports whether a type of the standard library, such as time.Time, has its own
// JSON encoding and a known schema. name includes the import path.
func IsStandardType(name string) bool { return jsonschema.IsStandardType(name) }

// Properties returns the properties of the root of a schema document, in order. Of an invalid
// document, it returns the properties that it can read.
func Properties(document json.RawMessage) []*Property { return jsonschema.ReadProperties(document) }
