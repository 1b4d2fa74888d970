package schema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/petrock/petrock/core/strictjson"
)

// A Type is a Go type, known by reflection or from source code.
type Type interface {
	String() string
	ID() any               // equal for equal declared types; nil for other types
	Name() string          // of a declared type, with its import path; empty for other types
	Kind() reflect.Kind    // of the underlying type; Invalid if not known
	Reflect() reflect.Type // for a basic kind, a type of that kind
	Elem() Type
	Key() Type
	Len() int
	NumMethod() int // of an interface
	Fields(output bool) []Field

	// OwnSchema returns the schema that a declared type defines itself, if any.
	OwnSchema() (text string, ok bool, err error)
	// Enum returns the values of a type as a JSON array, or "" if they are not known.
	Enum() (string, error)
	// HasMethod reports whether the type or the pointer to it has a method such as MarshalText, and
	// whether the type itself has it.
	HasMethod(method string) (has, onValue bool)
	// Remedy returns how to give a schema to a type with its own JSON encoding.
	Remedy() string
}

// A Field is a struct field with a JSON key.
type Field struct {
	strictjson.Claim
	Name        string // in Go
	Tag         reflect.StructTag
	Type        Type
	Description string // used if the tag has none
	Source      any    // for the implementation of [Type]
}

// A Schemer is a type that defines its own schema, a JSON object. The method is called on the zero
// value.
type Schemer interface{ JSONSchema() string }

// An Enumerator is a type that lists its values. The method is called on the zero value.
type Enumerator interface{ SchemaEnum() []any }

type reflected struct{ reflect.Type }

func (t reflected) Reflect() reflect.Type { return t.Type }
func (t reflected) Elem() Type            { return reflected{t.Type.Elem()} }
func (t reflected) Key() Type             { return reflected{t.Type.Key()} }

func (t reflected) ID() any {
	if !isNamed(t.Type) {
		return nil
	}
	return t.Type
}

func (t reflected) Name() string {
	if !isNamed(t.Type) {
		return ""
	}
	return t.PkgPath() + "." + t.Type.Name()
}

// isNamed reports whether a type is declared. Only declared types can contain themselves.
func isNamed(t reflect.Type) bool { return t.PkgPath() != "" }

func (t reflected) Fields(output bool) []Field {
	var fields []Field
	for _, f := range strictjson.Fields(t.Type, output) {
		fields = append(fields, Field{Claim: f.Claim, Name: f.Name, Tag: f.Tag, Type: reflected{f.Type}})
	}
	return fields
}

func (t reflected) OwnSchema() (string, bool, error) {
	schemer, ok := zeroValue[Schemer](t.Type)
	if !ok {
		return "", false, nil
	}
	return schemer.JSONSchema(), true, nil
}

// zeroValue returns a pointer to the zero value of a type, if it implements I.
func zeroValue[I any](t reflect.Type) (I, bool) {
	if t.Kind() == reflect.Interface || !reflect.PointerTo(t).Implements(reflect.TypeFor[I]()) {
		var none I
		return none, false
	}
	return reflect.New(t).Interface().(I), true
}

func (t reflected) Enum() (string, error) {
	enumerator, ok := zeroValue[Enumerator](t.Type)
	if !ok || t.Kind() == reflect.Struct {
		return "", nil
	}
	values, err := strictjson.Marshal(enumerator.SchemaEnum())
	if err != nil {
		return "", fmt.Errorf("encode SchemaEnum of %v: %w", t, err)
	}
	return string(values), nil
}

func (t reflected) HasMethod(method string) (has, onValue bool) {
	marshaler := map[string]reflect.Type{
		"MarshalJSON":   reflect.TypeFor[json.Marshaler](),
		"UnmarshalJSON": reflect.TypeFor[json.Unmarshaler](),
		"MarshalText":   reflect.TypeFor[encoding.TextMarshaler](),
		"UnmarshalText": reflect.TypeFor[encoding.TextUnmarshaler](),
	}[method]
	onValue = t.Implements(marshaler)
	return onValue || reflect.PointerTo(t.Type).Implements(marshaler), onValue
}

func (t reflected) Remedy() string {
	return "give it a method JSONSchema() string, or use another type"
}
