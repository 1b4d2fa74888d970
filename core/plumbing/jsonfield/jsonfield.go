// Package jsonfield finds the struct fields that encoding/json decodes and encodes, and their keys.
// It is plumbing for other packages of core and petrock's generators; servers do not need it.
package jsonfield

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// A Field is a struct field with a JSON key.
type Field struct {
	reflect.StructField // Index includes embedded structs
	Claim
}

// A Claim is the JSON key that a struct field asks for, with its options. If several fields ask for
// the same key, [Dominant] decides which one gets it.
type Claim struct {
	Key      string
	Depth    int  // 1 for a field of the struct itself, 1 more for each embedded struct around it
	Tagged   bool // the json tag sets the key
	Quoted   bool // the json tag has the option string
	Omits    bool // the json tag has the option omitempty or omitzero
	Indirect bool // the field is in an embedded pointer
}

// ParseTag parses the json tag of a field. name is its Go name. encoding/json ignores Quoted for
// types other than basic ones.
func ParseTag(tag, name string) Claim {
	key, options, _ := strings.Cut(tag, ",")
	c := Claim{Key: cmp.Or(key, name), Tagged: key != ""}
	for option := range strings.SplitSeq(options, ",") {
		c.Omits = c.Omits || option == "omitempty" || option == "omitzero"
		c.Quoted = c.Quoted || option == "string"
	}
	return c
}

// Dominant returns the fields that get their key, by the rule of encoding/json: of several fields
// with the same key, the least embedded one gets it, or else the only tagged one, or else none.
func Dominant[F any](fields []F, claim func(F) Claim) (found []F) {
	for i, field := range fields {
		c := claim(field)
		loses := func(other F) bool {
			o := claim(other)
			return o.Key == c.Key && (o.Depth < c.Depth || o.Depth == c.Depth && (o.Tagged || !c.Tagged))
		}
		if !slices.ContainsFunc(fields[:i], loses) && !slices.ContainsFunc(fields[i+1:], loses) {
			found = append(found, field)
		}
	}
	return found
}

// Decoded returns the fields of the struct type t that JSON can be decoded into, in order, one for
// each key.
func Decoded(t reflect.Type) []Field { return fields(t, false) }

// Encoded returns the fields of the struct type t that encoding/json encodes, in order, one for
// each key. Fields of an embedded pointer to an unexported struct can be encoded but not decoded.
func Encoded(t reflect.Type) []Field { return fields(t, true) }

func fields(t reflect.Type, encoding bool) []Field {
	all := appendFields(make([]Field, 0, t.NumField()), t, Field{}, nil, encoding)
	return Dominant(all, func(f Field) Claim { return f.Claim })
}

// appendFields appends the fields of t and of its embedded structs. outer is the field that embeds
// t, and parents are the types that do.
func appendFields(fields []Field, t reflect.Type, outer Field, parents []reflect.Type, encoding bool) []Field {
	if slices.Contains(parents, t) {
		return fields
	}
	parents = append(slices.Clip(parents), t)
	for i := range t.NumField() {
		f := Field{StructField: t.Field(i)}
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		pointer := f.Type.Kind() == reflect.Pointer
		// An unexported embedded struct still promotes its exported fields, but a pointer to it
		// cannot be set.
		promotes := f.Anonymous && inner.Kind() == reflect.Struct
		tag := f.Tag.Get("json")
		if tag == "-" || !f.IsExported() && (!promotes || pointer && !encoding) {
			continue
		}
		f.Claim = ParseTag(tag, f.Name)
		f.Quoted = f.Quoted && isQuotable(inner.Kind())
		f.Depth, f.Indirect = outer.Depth+1, outer.Indirect
		if len(outer.Index) > 0 {
			f.Index = append(slices.Clip(outer.Index), i)
		}
		switch {
		case promotes && !f.Tagged:
			f.Indirect = f.Indirect || pointer
			fields = appendFields(fields, inner, f, parents, encoding)
		case f.IsExported():
			fields = append(fields, f)
		}
	}
	return fields
}

func isQuotable(kind reflect.Kind) bool {
	return kind == reflect.String || kind >= reflect.Bool && kind <= reflect.Float64
}
