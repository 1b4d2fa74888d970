package strictjson

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// A Field is a struct field that JSON has a key for.
type Field struct {
	reflect.StructField        // Index leads to it through embedded structs
	Key                 string // its name in JSON
	Tagged              bool   // the json tag gives the key
	Quoted              bool   // the option string of the json tag puts the value into a string
	Omits               bool   // it has the option omitempty or omitzero
	Indirect            bool   // an embedded pointer leads to it
}

// Fields lists the fields of the struct type t in their order, one for each key. Of fields that claim
// the same key the least embedded one has it, or else the only one with a tag, or else none:
// encoding/json's rule. Fields of an embedded pointer to an unexported struct can be written, but not
// read: they are listed only if written is true.
func Fields(t reflect.Type, written bool) []Field {
	all := appendFields(make([]Field, 0, t.NumField()), t, Field{}, nil, written)
	var lost []int
	for i := range all {
		if !dominates(all, i) {
			lost = append(lost, i)
		}
	}
	for _, i := range slices.Backward(lost) {
		all = slices.Delete(all, i, i+1)
	}
	return all
}

// appendFields appends the fields of t, which is reached through outer, and of what it embeds.
func appendFields(fields []Field, t reflect.Type, outer Field, within []reflect.Type, written bool) []Field {
	if slices.Contains(within, t) {
		return fields
	}
	within = append(slices.Clip(within), t)
	for i := range t.NumField() {
		f := Field{StructField: t.Field(i), Indirect: outer.Indirect}
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		pointer := f.Type.Kind() == reflect.Pointer
		// An embedded struct may be unexported and still lend its exported fields,
		// but not behind a pointer that cannot be set.
		promotes := f.Anonymous && inner.Kind() == reflect.Struct
		if !f.IsExported() && (!promotes || pointer && !written) {
			continue
		}
		tag := f.Tag.Get("json")
		if tag == "-" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if len(outer.Index) > 0 {
			f.Index = append(slices.Clip(outer.Index), i)
		}
		if promotes && name == "" {
			f.Indirect = f.Indirect || pointer
			fields = appendFields(fields, inner, f, within, written)
			continue
		}
		if !f.IsExported() {
			continue
		}
		f.Key, f.Tagged = cmp.Or(name, f.Name), name != ""
		for option := range strings.SplitSeq(options, ",") {
			f.Omits = f.Omits || option == "omitempty" || option == "omitzero"
			f.Quoted = f.Quoted || option == "string" && isQuotable(inner.Kind())
		}
		fields = append(fields, f)
	}
	return fields
}

// dominates reports whether no other field has a better or an equal claim to the key of fields[i].
func dominates(fields []Field, i int) bool {
	mine := &fields[i]
	for j := range fields {
		other := &fields[j]
		if j == i || other.Key != mine.Key {
			continue
		}
		switch c := cmp.Compare(len(other.Index), len(mine.Index)); {
		case c < 0, c == 0 && (other.Tagged || !mine.Tagged):
			return false
		}
	}
	return true
}

// isQuotable reports whether the option string of a json tag has an effect.
func isQuotable(kind reflect.Kind) bool {
	return kind == reflect.String || kind >= reflect.Bool && kind <= reflect.Float64
}

// A field is where in a struct a key's value goes.
type field struct {
	name   string
	index  []int // through embedded structs
	decode decoder

	// required says that Marshal always writes it: it has neither omitempty nor omitzero, and there
	// is no pointer in it or on the way to it.
	required bool
}

// of returns the field in v, and makes the embedded pointers on the way to it.
func (f *field) of(v reflect.Value) reflect.Value {
	for i, at := range f.index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(at)
	}
	return v
}

// fields are those of the struct type t, ready to be decoded.
func (p plans) fields(t reflect.Type) []field {
	var fields []field
	for _, f := range Fields(t, false) {
		made := field{name: f.Key, index: f.Index, decode: p.of(f.Type)}
		made.required = !f.Omits && !f.Indirect && f.Type.Kind() != reflect.Pointer
		if f.Quoted {
			made.decode = decodeQuoted(made.decode)
		}
		fields = append(fields, made)
	}
	return fields
}

// decodeQuoted decodes the value that stands inside a string.
func decodeQuoted(inside decoder) decoder {
	return func(data []byte, at int, v reflect.Value) (int, error) {
		if data[at] == 'n' {
			return inside(data, at, v)
		}
		if data[at] != '"' {
			return at, mismatch("a string", data[at:])
		}
		end := skip(data, at)
		text := []byte(textOf(data[at:end]))
		if err := Check(text); err != nil {
			return end, &TypeError{Msg: "must hold a JSON value: " + err.Error()}
		}
		if isSpace(text[0]) || isSpace(text[len(text)-1]) {
			return end, &TypeError{Msg: "must hold a JSON value without space around it"}
		}
		_, err := inside(text, 0, v)
		return end, err
	}
}
