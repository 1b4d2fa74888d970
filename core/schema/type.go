package schema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/petrock/petrock/core/strictjson"
)

// A Type is a Go type as an inference sees it: by reflection, or in source code.
type Type interface {
	String() string
	ID() any               // equal for equal declared types; nil for other types
	Name() string          // of a declared type, with its import path; empty for other types
	Kind() reflect.Kind    // of what is under it; Invalid if it is not known
	Reflect() reflect.Type // a type of the same kind, if that is a basic one
	Elem() Type
	Key() Type
	Len() int
	NumMethod() int // of an interface
	Fields(written bool) []Field

	// Given returns the schema that a declared type has instead of an inferred one, if it has one.
	Given() (text string, ok bool, err error)
	// Enum returns the values of a type as a JSON array; empty if they are not listed.
	Enum() (string, error)
	// Marshals reports whether the type or the pointer to it has a method such as MarshalText, and
	// whether the type itself has it.
	Marshals(method string) (has, onValue bool)
	// Remedy says how a type with its own JSON encoding can have a schema.
	Remedy() string
}

// A Field is a struct field that JSON has a key for.
type Field struct {
	strictjson.Claim
	Name        string // in Go
	Tag         reflect.StructTag
	Type        Type
	Description string // unless the tag has one
	Source      any    // for those who made the [Type]
}

// A Schemer gives its whole schema, a JSON object, for a type whose schema cannot be inferred. The
// method is called on the zero value.
type Schemer interface{ JSONSchema() string }

// An Enumerator lists the values of a type: what its constants are. The method is called on the
// zero value.
type Enumerator interface{ SchemaEnum() []any }

// A Describer describes a type. Fields of that type have its description unless their tag has one.
// The method is called on the zero value.
type Describer interface{ SchemaDescription() string }

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

// isNamed reports whether a type is declared somewhere: only such a type can contain itself.
func isNamed(t reflect.Type) bool { return t.PkgPath() != "" }

func (t reflected) Fields(written bool) []Field {
	var fields []Field
	for _, f := range strictjson.Fields(t.Type, written) {
		made := Field{Claim: f.Claim, Name: f.Name, Tag: f.Tag, Type: reflected{f.Type}}
		held := f.Type
		if held.Kind() == reflect.Pointer {
			held = held.Elem()
		}
		if own, ok := zero[Describer](held); ok {
			made.Description = own.SchemaDescription()
		}
		fields = append(fields, made)
	}
	return fields
}

func (t reflected) Given() (string, bool, error) {
	own, ok := zero[Schemer](t.Type)
	if !ok {
		return "", false, nil
	}
	return own.JSONSchema(), true, nil
}

// zero is the zero value of a type, or a pointer to one, if it has the methods of I.
func zero[I any](t reflect.Type) (I, bool) {
	if t.Kind() == reflect.Interface || !reflect.PointerTo(t).Implements(reflect.TypeFor[I]()) {
		var none I
		return none, false
	}
	return reflect.New(t).Interface().(I), true
}

func (t reflected) Enum() (string, error) {
	own, ok := zero[Enumerator](t.Type)
	if !ok || t.Kind() == reflect.Struct {
		return "", nil
	}
	values, err := strictjson.Marshal(own.SchemaEnum())
	if err != nil {
		return "", fmt.Errorf("encode SchemaEnum of %v: %w", t, err)
	}
	return string(values), nil
}

func (t reflected) Marshals(method string) (has, onValue bool) {
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
