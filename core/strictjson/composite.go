package strictjson

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

func (p decoders) decodeStruct(fields []field) decodeFunc {
	byName := make(map[string]int, len(fields))
	required := 0
	for i, f := range fields {
		byName[f.name] = i
		if p.exact && f.required {
			required++
		}
	}
	return func(data []byte, at int, v reflect.Value) (int, error) {
		next := 0  // keys are usually in the order of the fields
		found := 0 // number of required keys
		end, err := members(data, at, func(key []byte, i int) (int, error) {
			if next >= len(fields) || fields[next].name != string(key) {
				known, ok := byName[string(key)]
				if !ok && p.exact {
					return i, keyError(fields, data, at)
				}
				if !ok {
					return skip(data, i), nil
				}
				next = known
			}
			f := &fields[next]
			next++
			if f.required {
				found++
			}
			end, err := f.decode(data, i, f.valueIn(v))
			if err != nil {
				err = prefixPath(Path("").Key(string(key)), err)
			}
			return end, err
		})
		if err == nil && found < required {
			err = keyError(fields, data, at)
		}
		return end, err
	}
}

func decodeMap(t reflect.Type, elem decodeFunc) decodeFunc {
	return func(data []byte, at int, v reflect.Value) (int, error) {
		if v.IsNil() && data[at] == '{' {
			v.Set(reflect.MakeMap(t))
		}
		k, e := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
		return members(data, at, func(key []byte, at int) (int, error) {
			k.SetZero()
			e.SetZero()
			err := decodeKey(string(key), k)
			end := at
			if err == nil {
				end, err = elem(data, at, e)
			}
			if err != nil {
				return end, prefixPath(Path("").Key(string(key)), err)
			}
			v.SetMapIndex(k, e)
			return end, nil
		})
	}
}

func decodeKey(text string, k reflect.Value) error {
	if u, ok := k.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return asTypeError(u.UnmarshalText([]byte(text)))
	}
	switch k.Kind() {
	case reflect.String:
		k.SetString(text)
		return nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if n, err := strconv.ParseInt(text, 10, k.Type().Bits()); err == nil {
			k.SetInt(n)
			return nil
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if n, err := strconv.ParseUint(text, 10, k.Type().Bits()); err == nil {
			k.SetUint(n)
			return nil
		}
	}
	return &TypeError{Msg: "the key does not fit in " + k.Type().String()}
}

func decodeSlice(elem decodeFunc) decodeFunc {
	return func(data []byte, at int, v reflect.Value) (int, error) {
		if data[at] == '[' {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		n := 0
		return elements(data, at, func(at int) (int, error) {
			v.Grow(1)
			v.SetLen(n + 1)
			end, err := elem(data, at, v.Index(n))
			if err != nil {
				err = prefixPath(Path("").Index(n), err)
			}
			n++
			return end, err
		})
	}
}

func (p decoders) decodeArray(elem decodeFunc) decodeFunc {
	return func(data []byte, at int, v reflect.Value) (int, error) {
		n := 0
		end, err := elements(data, at, func(at int) (int, error) {
			n++
			if n > v.Len() {
				return skip(data, at), nil
			}
			end, err := elem(data, at, v.Index(n-1))
			if err != nil {
				err = prefixPath(Path("").Index(n-1), err)
			}
			return end, err
		})
		if err == nil && p.exact && n != v.Len() {
			err = &TypeError{Msg: fmt.Sprintf("must have %d elements, has %d", v.Len(), n)}
		}
		for ; n < v.Len() && data[at] == '['; n++ {
			v.Index(n).SetZero()
		}
		return end, err
	}
}

// prefixPath adds a step to the start of the path of an error.
func prefixPath(step Path, err error) error {
	e, ok := errors.AsType[*TypeError](err)
	if !ok {
		return err
	}
	return &TypeError{Path: step.Join(e.Path), Msg: e.Msg, Unknown: e.Unknown, Missing: e.Missing}
}

// A Field is a struct field with a JSON key.
type Field struct {
	reflect.StructField // Index includes embedded structs
	Claim
}

// A Claim is the JSON key that a struct field asks for, with its options. If several fields ask for the
// same key, [Dominant] decides which one gets it.
type Claim struct {
	Key      string
	Depth    int  // 1 for a field of the struct itself, and 1 more for each embedded struct around it
	Tagged   bool // the json tag sets the key
	Quoted   bool // the json tag has the option string
	Omits    bool // the json tag has the option omitempty or omitzero
	Indirect bool // the field is in an embedded pointer
}

// ParseTag parses the json tag of a field. name is its Go name. Only basic types are quotable.
func ParseTag(tag, name string, quotable bool) Claim {
	key, options, _ := strings.Cut(tag, ",")
	c := Claim{Key: cmp.Or(key, name), Tagged: key != ""}
	for option := range strings.SplitSeq(options, ",") {
		c.Omits = c.Omits || option == "omitempty" || option == "omitzero"
		c.Quoted = c.Quoted || option == "string" && quotable
	}
	return c
}

// Dominant returns the fields that get their key, by the rule of encoding/json: of several fields with
// the same key, the least embedded one gets it, or else the only tagged one, or else none.
func Dominant[F any](fields []F, claim func(F) Claim) []F {
	var found []F
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

// Fields returns the fields of the struct type t in order, one for each key. Fields of an embedded
// pointer to an unexported struct can be encoded but not decoded. Fields returns them only if encoding
// is true.
func Fields(t reflect.Type, encoding bool) []Field {
	all := appendFields(make([]Field, 0, t.NumField()), t, Field{}, nil, encoding)
	return Dominant(all, func(f Field) Claim { return f.Claim })
}

// appendFields appends the fields of t and of its embedded structs. outer is the field that embeds t,
// and parents are the types that do.
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
		f.Claim = ParseTag(tag, f.Name, isQuotable(inner.Kind()))
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

// A field is a struct field to decode.
type field struct {
	name   string
	index  []int // through embedded structs
	decode decodeFunc

	required bool // Marshal always writes the field: no omitempty, omitzero or pointer
}

// valueIn returns the field in v. It allocates embedded pointers on the way.
func (f *field) valueIn(v reflect.Value) reflect.Value {
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

func (p decoders) fields(t reflect.Type) []field {
	var fields []field
	for _, f := range Fields(t, false) {
		decoded := field{name: f.Key, index: f.Index, decode: p.forType(f.Type)}
		decoded.required = !f.Omits && !f.Indirect && f.Type.Kind() != reflect.Pointer
		if f.Quoted {
			decoded.decode = decodeQuoted(decoded.decode)
		}
		fields = append(fields, decoded)
	}
	return fields
}

func decodeQuoted(inside decodeFunc) decodeFunc {
	return func(data []byte, at int, v reflect.Value) (int, error) {
		if data[at] == 'n' {
			return inside(data, at, v)
		}
		end := skip(data, at)
		unquoted, ok := Unquote(data[at:end])
		if !ok {
			return at, typeMismatch("a string", data[at:])
		}
		text := []byte(unquoted)
		if err := Check(text); err != nil {
			return end, &TypeError{Msg: "must contain a JSON value: " + err.Error()}
		}
		if isSpace(text[0]) || isSpace(text[len(text)-1]) {
			return end, &TypeError{Msg: "must contain a JSON value without space around it"}
		}
		_, err := inside(text, 0, v)
		return end, err
	}
}

// keyError returns the error for the object at data[at], with all its unknown and missing keys.
func keyError(fields []field, data []byte, at int) error {
	e := &TypeError{}
	for _, f := range fields {
		if f.required {
			e.Missing = append(e.Missing, f.name)
		}
	}
	_, _ = members(data, at, func(key []byte, i int) (int, error) {
		name := string(key)
		if !slices.ContainsFunc(fields, func(f field) bool { return f.name == name }) {
			e.Unknown = append(e.Unknown, name)
		}
		e.Missing = slices.DeleteFunc(e.Missing, func(m string) bool { return m == name })
		return skip(data, i), nil
	})
	parts := append(describeKeys(e.Unknown, "unknown"), describeKeys(e.Missing, "missing")...)
	noun := "field "
	if len(e.Unknown) > 1 || len(e.Unknown) == 0 && len(e.Missing) > 1 {
		noun = "fields "
	}
	e.Msg = noun + strings.Join(parts, ", ")
	return e
}

// describeKeys returns a text such as "a", "b" are unknown; nil without names.
func describeKeys(names []string, state string) []string {
	const limit = 10
	var quoted []string
	for _, name := range names[:min(len(names), limit)] {
		quoted = append(quoted, strconv.Quote(name))
	}
	text := strings.Join(quoted, ", ")
	switch {
	case len(names) == 0:
		return nil
	case len(names) == 1:
		return []string{text + " is " + state}
	case len(names) > limit:
		text += fmt.Sprintf(" and %d more", len(names)-limit)
	}
	return []string{text + " are " + state}
}
