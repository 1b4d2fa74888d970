// Package schema compiles JSON Schemas (2020-12), validates JSON against them, and infers them from
// Go types. A server needs it only for JSON that no tool validates, such as a file: package mcp
// infers and checks the schemas of tools by the rules of this package.
//
//	s, err := schema.Compile(json.RawMessage(`{
//		"type": "object",
//		"properties": {"limit": {"type": "integer", "maximum": 100}},
//		"required": ["limit"],
//		"additionalProperties": false
//	}`))
//	…
//	err = s.Validate(json.RawMessage(`{"limit": 250}`)) // limit: must be at most 100, got 250
//
// [Compile] refuses keywords that this package cannot check, such as $dynamicRef and
// unevaluatedProperties, and a $ref to another document. It ignores annotations and unknown
// keywords. The formats date, date-time, email, uri and uuid are checked; other formats are
// annotations.
//
// Numbers of any size are compared exactly. Messages have the path, the expected value and the
// actual value, so that a language model can correct its input.
//
// # Struct tags
//
// The struct tag "schema" adds to the schema of a field. Settings are separated by commas. Quote a
// value with a comma in single quotes; double a single quote inside.
//
//	Limit int      `json:"limit" schema:"min=1,max=100,default=20"`
//	Title string   `json:"title" schema:"min=1,pattern='^[A-Z]',description='Bold, above the text.'"`
//	Level string   `json:"level" schema:"enum=low|normal|high"`
//	Tags  []string `json:"tags" schema:"max=10,unique"`
//
// The settings are:
//
//   - min and max: bounds of a number, or of the length of a string, list or map
//   - pattern and format: of a string, or of the strings in a list or map
//   - unique: the elements of a list must be unique
//   - enum: the allowed values of a string or number
//   - title: the name of the field for people, such as in a form
//   - description: what the field is for; by default derived code takes the comment of the field
//   - default: the value of an argument that the caller omits
//   - header: the HTTP header that repeats the argument, without the prefix Mcp-Param-
package schema

import (
	"encoding/json"
	"reflect"

	"github.com/petrock/petrock/core/internal/jsonschema"
)

// A Schema is a compiled schema document. It is safe for concurrent use.
type Schema struct{ compiled *jsonschema.Schema }

// Compile compiles a schema document. Compile once, and validate many values. Its error has a line
// for each invalid part of the document, such as "properties.age.minimum: must be a number, got a
// string".
func Compile(document json.RawMessage) (*Schema, error) {
	compiled, err := jsonschema.Compile(document)
	if err != nil {
		return nil, err
	}
	return &Schema{compiled}, nil
}

// Validate validates one JSON value. Its error has a line for each problem, such as "limit: must be
// at most 100, got 250", in the order of the value.
func (s *Schema) Validate(data json.RawMessage) error { return s.compiled.Validate(data) }

// A Direction tells whether a schema describes values that are decoded or encoded.
type Direction = jsonschema.Direction

// Directions of a schema.
const (
	Input  = jsonschema.Input  // JSON that is decoded into a Go value
	Output = jsonschema.Output // JSON that a Go value is encoded as
)

// Infer returns the schema document of a Go type: of the JSON that package strictjson decodes into
// it, or that strictjson.OutputEncoder encodes it as. Use it for a raw tool handler, or to publish
// the schema of a file format; mcp.AddTool calls it for typed tools.
//
//   - A struct is an object without additional properties. Names, embedding and the options
//     omitempty, omitzero and string are those of encoding/json. In an input, these fields are
//     optional: pointers, and fields with omitempty, omitzero or a default. In an output, fields
//     that encoding/json may omit are optional, and nil pointers and a nil []byte are null. Lists
//     and maps never are.
//   - The struct tag "schema" sets limits, defaults, enums and descriptions; see the package
//     comment.
//   - time.Time is a date-time, civil.Date a date, civil.Duration a string such as "1h30m" (in an
//     input also an integer in nanoseconds), time.Duration an integer in nanoseconds, []byte a
//     base64 string, and a type with MarshalText or UnmarshalText a string. any and json.RawMessage
//     are any value.
//   - Recursive types are in $defs.
//   - A type can implement [Schemer] and [Enumerator].
//
// A type that JSON cannot represent is an error, and so is a type with MarshalJSON or UnmarshalJSON
// that is not a [Schemer].
func Infer(t reflect.Type, d Direction) (json.RawMessage, error) { return jsonschema.Infer(t, d) }

// A Schemer is a type that defines its own schema. Implement it for types with their own JSON
// encoding. The method is called on the zero value, and returns a JSON object.
type Schemer interface{ JSONSchema() string }

// An Enumerator is a type that lists its values. Implement it for a string or number type whose
// values are constants. The method is called on the zero value.
type Enumerator interface{ SchemaEnum() []any }
