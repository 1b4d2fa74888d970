package strictjson

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"sync"

	"github.com/petrock/petrock/core/plumbing/jsonfield"
)

// An OutputEncoder encodes Go values as [Marshal] does, but nil slices and maps as [] and {} at
// every depth, so that clients find lists where they expect lists. Exceptions: a nil []byte is
// null, a nil field with omitempty or omitzero is omitted, and types with MarshalJSON or
// MarshalText encode themselves.
//
// It caches its analysis of types, so use one OutputEncoder for many values. The zero value is
// ready to use, and safe for concurrent use.
type OutputEncoder struct {
	types sync.Map // *outputType by reflect.Type; nil if its values have no slices and maps
}

// Encode returns the JSON of v. It does not modify v.
func (e *OutputEncoder) Encode(v any) (json.RawMessage, error) {
	raw, err := Marshal(v)
	if err != nil || v == nil || !bytes.Contains(raw, []byte("null")) || e.typeOf(reflect.TypeOf(v)) == nil {
		return raw, err
	}
	filled := settable(reflect.ValueOf(v))
	e.fill(filled, 0)
	return Marshal(filled.Interface())
}

// An outputType is a type whose values may have a nil slice or map.
type outputType struct {
	fields []outputField // of a struct
}

// An outputField is a field that may have a nil slice or map.
type outputField struct {
	index int
	omits bool // the zero value is omitted
}

func (e *OutputEncoder) typeOf(t reflect.Type) *outputType {
	if known, ok := e.types.Load(t); ok {
		return known.(*outputType)
	}
	var made *outputType
	if hasLists(t, map[reflect.Type]bool{}) {
		made = &outputType{listFields(t)}
	}
	e.types.Store(t, made)
	return made
}

// hasLists reports whether values of t may have a slice or a map that encoding/json encodes as
// null.
func hasLists(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] || implementsOne[json.Marshaler, encoding.TextMarshaler](t) {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Map, reflect.Interface:
		return true
	case reflect.Slice:
		return t.Elem().Kind() != reflect.Uint8
	case reflect.Pointer, reflect.Array:
		return hasLists(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); (f.IsExported() || f.Anonymous) && hasLists(f.Type, seen) {
				return true
			}
		}
	}
	return false
}

// listFields returns the fields that have lists, if t is a struct. It leaves out embedded pointers
// to unexported structs, which cannot be set.
func listFields(t reflect.Type) (fields []outputField) {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		isEncoded := f.IsExported() || f.Anonymous && f.Type.Kind() == reflect.Struct
		if isEncoded && tag != "-" && hasLists(f.Type, map[reflect.Type]bool{}) {
			fields = append(fields, outputField{i, jsonfield.ParseTag(tag, f.Name).Omits})
		}
	}
	return fields
}

// fill sets nil slices and maps in v to empty ones. Pointers, slices and maps in v are copied
// before they are changed.
func (e *OutputEncoder) fill(v reflect.Value, depth int) {
	known := e.typeOf(v.Type())
	if known == nil || depth > 2*MaxDepth {
		return
	}
	depth++
	switch kind := v.Kind(); kind {
	case reflect.Struct:
		for _, f := range known.fields {
			if field := v.Field(f.index); !f.omits || !field.IsZero() {
				e.fill(field, depth)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			e.fill(v.Index(i), depth)
		}
	case reflect.Slice, reflect.Map:
		if v.IsNil() || e.typeOf(v.Type().Elem()) != nil {
			v.Set(e.filledCopy(v, depth))
		}
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return
		}
		inner := settable(v.Elem())
		e.fill(inner, depth)
		if kind == reflect.Pointer {
			inner = inner.Addr().Convert(v.Type())
		}
		v.Set(inner)
	}
}

// filledCopy returns a copy of a slice or map whose elements are filled.
func (e *OutputEncoder) filledCopy(v reflect.Value, depth int) reflect.Value {
	if v.Kind() == reflect.Map {
		filled := reflect.MakeMapWithSize(v.Type(), v.Len())
		for key, value := range v.Seq2() {
			value = settable(value)
			e.fill(value, depth)
			filled.SetMapIndex(key, value)
		}
		return filled
	}
	filled := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	reflect.Copy(filled, v)
	for i := range v.Len() {
		e.fill(filled.Index(i), depth)
	}
	return filled
}

// settable returns a copy of v that can be changed.
func settable(v reflect.Value) reflect.Value {
	copied := reflect.New(v.Type()).Elem()
	copied.Set(v)
	return copied
}
