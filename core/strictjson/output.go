package strictjson

import (
	"encoding"
	"encoding/json"
	"reflect"
	"sync"

	"github.com/petrock/petrock/core/strictjson/jsonfield"
)

// An OutputEncoder encodes Go values as [Marshal] does, but nil slices and maps as [] and {} at
// every depth, so that clients find lists where they expect lists. Exceptions: a nil []byte is
// null, a nil field with omitempty or omitzero is omitted, and types with MarshalJSON or
// MarshalText encode themselves.
//
// It keeps what it has found out about types, so use one OutputEncoder for many values: it does not
// look into values whose type has no slices, maps and interfaces. The zero value is ready to use,
// also concurrently.
type OutputEncoder struct {
	types sync.Map // *outputType by reflect.Type; nil if its values have no slices and maps
}

// Encode returns the JSON of v. It does not modify v.
func (e *OutputEncoder) Encode(v any) (json.RawMessage, error) {
	if v == nil {
		return Marshal(nil)
	}
	if e.typeOf(reflect.TypeOf(v)) != nil {
		f := filler{OutputEncoder: e}
		if filled, changed := f.fill(reflect.ValueOf(v), 0); changed && !f.tooDeep {
			v = filled.Interface()
		}
	}
	return Marshal(v)
}

// An outputType is a type whose values may have a nil slice or map.
type outputType struct {
	fields []outputField // of a struct
}

// An outputField is a field that may have a nil slice or map.
type outputField struct {
	index []int // through embedded structs, but not through pointers
	omits bool  // the zero value is omitted
}

func (e *OutputEncoder) typeOf(t reflect.Type) *outputType {
	if known, ok := e.types.Load(t); ok {
		return known.(*outputType)
	}
	var made *outputType
	if hasLists(t, map[reflect.Type]bool{}) {
		made = &outputType{}
		if t.Kind() == reflect.Struct {
			made.fields = listFields(t)
		}
	}
	e.types.Store(t, made)
	return made
}

// hasLists reports whether values of t may have a slice or a map that encoding/json encodes as
// null.
func hasLists(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] || encodesItself(t) {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Map, reflect.Interface:
		return true
	case reflect.Slice:
		return !isBytes(t)
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

func isBytes(t reflect.Type) bool { return t.Elem().Kind() == reflect.Uint8 }

func encodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Marshaler]()) || p.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// listFields returns the fields of a struct that have lists, including those of embedded structs.
// It leaves out embedded pointers to unexported structs, which cannot be set.
func listFields(t reflect.Type) (fields []outputField) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		switch {
		case tag == "-" || !hasLists(f.Type, map[reflect.Type]bool{}):
		case f.IsExported():
			fields = append(fields, outputField{f.Index, jsonfield.ParseTag(tag, f.Name).Omits})
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			for _, inner := range listFields(f.Type) {
				fields = append(fields, outputField{append([]int{i}, inner.index...), inner.omits})
			}
		}
	}
	return fields
}

// A filler replaces nil slices and maps in one value.
type filler struct {
	*OutputEncoder
	tooDeep bool // the value is nested too deeply, or contains itself
}

// fill returns v with empty slices and maps in place of nil ones. It copies what it changes, and
// reports whether it has changed anything.
func (f *filler) fill(v reflect.Value, depth int) (filled reflect.Value, changed bool) {
	known := f.typeOf(v.Type())
	if f.tooDeep = f.tooDeep || depth > 2*MaxDepth; f.tooDeep || known == nil {
		return v, false
	}
	switch v.Kind() {
	case reflect.Slice:
		if v.IsNil() {
			return reflect.MakeSlice(v.Type(), 0, 0), true
		}
		return f.fillList(v, depth)
	case reflect.Array:
		return f.fillList(v, depth)
	case reflect.Map:
		if v.IsNil() {
			return reflect.MakeMap(v.Type()), true
		}
		return f.fillMap(v, depth)
	case reflect.Struct:
		return f.fillStruct(v, known.fields, depth)
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return v, false
		}
		inner, changed := f.fill(v.Elem(), depth+1)
		if !changed || v.Kind() == reflect.Interface {
			return inner, changed
		}
		pointer := reflect.New(inner.Type())
		pointer.Elem().Set(inner)
		return pointer.Convert(v.Type()), true
	}
	return v, false
}

// fillList fills the elements of a slice or an array.
func (f *filler) fillList(v reflect.Value, depth int) (filled reflect.Value, changed bool) {
	if f.typeOf(v.Type().Elem()) == nil {
		return v, false
	}
	for i := range v.Len() {
		item, itemChanged := f.fill(v.Index(i), depth+1)
		if !itemChanged {
			continue
		}
		if !changed {
			filled, changed = reflect.New(v.Type()).Elem(), true
			if v.Kind() == reflect.Slice {
				filled.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			}
			reflect.Copy(filled, v)
		}
		filled.Index(i).Set(item)
	}
	if !changed {
		return v, false
	}
	return filled, true
}

func (f *filler) fillMap(v reflect.Value, depth int) (filled reflect.Value, changed bool) {
	if f.typeOf(v.Type().Elem()) == nil {
		return v, false
	}
	filled = reflect.MakeMapWithSize(v.Type(), v.Len())
	for key, value := range v.Seq2() {
		value, valueChanged := f.fill(value, depth+1)
		changed = changed || valueChanged
		filled.SetMapIndex(key, value)
	}
	if !changed {
		return v, false
	}
	return filled, true
}

func (f *filler) fillStruct(v reflect.Value, fields []outputField, depth int) (filled reflect.Value, changed bool) {
	filled = v
	for _, field := range fields {
		old := v.FieldByIndex(field.index)
		if field.omits && old.IsZero() {
			continue
		}
		value, fieldChanged := f.fill(old, depth+1)
		if !fieldChanged {
			continue
		}
		if !changed {
			filled, changed = reflect.New(v.Type()).Elem(), true
			filled.Set(v)
		}
		filled.FieldByIndex(field.index).Set(value)
	}
	return filled, changed
}
