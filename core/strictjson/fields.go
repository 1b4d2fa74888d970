package strictjson

import (
	"reflect"
	"slices"
	"strings"
)

// A field is where in a struct a key's value goes.
type field struct {
	name   string
	index  []int // through embedded structs
	tagged bool  // its name comes from a tag
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

// fields lists the fields of the struct type t in their order, one for each key. Of fields that claim
// the same key the least embedded one has it, or else the only one with a tag, or
// else none: encoding/json's rule.
func (p plans) fields(t reflect.Type) []field {
	claims := make(map[string][]field)
	p.collect(t, nil, true, map[reflect.Type]bool{}, claims)
	fields := make([]field, 0, len(claims))
	for _, list := range claims {
		if f, ok := dominant(list); ok {
			fields = append(fields, f)
		}
	}
	slices.SortFunc(fields, func(a, b field) int { return slices.Compare(a.index, b.index) })
	return fields
}

// collect adds the fields of t, which is reached by index, and of what it embeds. There is always a
// t if it is required.
func (p plans) collect(t reflect.Type, index []int, required bool, within map[reflect.Type]bool, claims map[string][]field) {
	if within[t] {
		return
	}
	within[t] = true
	defer delete(within, t)
	for i := range t.NumField() {
		sf := t.Field(i)
		inner := sf.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		// An embedded struct may be unexported and still lend its exported fields,
		// but not behind a pointer that cannot be set.
		promotes := sf.Anonymous && inner.Kind() == reflect.Struct
		if !sf.IsExported() && (!promotes || sf.Type.Kind() == reflect.Pointer) {
			continue
		}
		tag := sf.Tag.Get("json")
		if tag == "-" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		at := append(append([]int(nil), index...), i)
		if promotes && name == "" {
			p.collect(inner, at, required && sf.Type == inner, within, claims)
			continue
		}
		if !sf.IsExported() {
			continue
		}
		f := field{name: name, index: at, tagged: name != "", decode: p.of(sf.Type)}
		f.required = required && sf.Type == inner && !omits(options)
		if name == "" {
			f.name = sf.Name
		}
		if quotes(options, inner.Kind()) {
			f.decode = decodeQuoted(f.decode)
		}
		claims[f.name] = append(claims[f.name], f)
	}
}

func dominant(list []field) (field, bool) {
	var best []field
	for _, f := range list {
		switch {
		case len(best) == 0 || len(f.index) < len(best[0].index):
			best = []field{f}
		case len(f.index) == len(best[0].index):
			best = append(best, f)
		}
	}
	if len(best) == 1 {
		return best[0], true
	}
	var tagged []field
	for _, f := range best {
		if f.tagged {
			tagged = append(tagged, f)
		}
	}
	if len(tagged) == 1 {
		return tagged[0], true
	}
	return field{}, false
}

// omits reports whether a tag's options leave some values out.
func omits(options string) bool {
	all := strings.Split(options, ",")
	return slices.Contains(all, "omitempty") || slices.Contains(all, "omitzero")
}

// quotes reports whether a tag's options put the value into a string.
func quotes(options string, kind reflect.Kind) bool {
	for option := range strings.SplitSeq(options, ",") {
		if option != "string" {
			continue
		}
		return kind == reflect.String || kind >= reflect.Bool && kind <= reflect.Float64
	}
	return false
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
