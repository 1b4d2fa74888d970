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

func (p plans) decodeStruct(fields []field) decoder {
	byName := make(map[string]int, len(fields))
	required := 0
	for i, f := range fields {
		if byName[f.name] = i; p.exact && f.required {
			required++
		}
	}
	return func(data []byte, at int, v reflect.Value) (int, error) {
		next := 0  // keys mostly come in the order of the fields
		found := 0 // required keys; none comes twice in checked data
		end, err := members(data, at, func(key []byte, i int) (int, error) {
			if next >= len(fields) || fields[next].name != string(key) {
				known, ok := byName[string(key)]
				if !ok && p.exact {
					return i, misfit(fields, data, at)
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
			end, err := f.decode(data, i, f.of(v))
			if err != nil {
				err = within(Path("").Key(string(key)), err)
			}
			return end, err
		})
		if err == nil && found < required {
			err = misfit(fields, data, at)
		}
		return end, err
	}
}

func decodeMap(t reflect.Type, elem decoder) decoder {
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
				return end, within(Path("").Key(string(key)), err)
			}
			v.SetMapIndex(k, e)
			return end, nil
		})
	}
}

func decodeKey(text string, k reflect.Value) error {
	if u, ok := k.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return typeError(u.UnmarshalText([]byte(text)))
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
	return &TypeError{Msg: "a key that does not fit in " + k.Type().String()}
}

func decodeSlice(elem decoder) decoder {
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
				err = within(Path("").Index(n), err)
			}
			n++
			return end, err
		})
	}
}

func (p plans) decodeArray(elem decoder) decoder {
	return func(data []byte, at int, v reflect.Value) (int, error) {
		n := 0
		end, err := elements(data, at, func(at int) (int, error) {
			if n++; n > v.Len() {
				return skip(data, at), nil
			}
			end, err := elem(data, at, v.Index(n-1))
			if err != nil {
				err = within(Path("").Index(n-1), err)
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

// within adds a step to the front of an error's path.
func within(step Path, err error) error {
	e, ok := errors.AsType[*TypeError](err)
	if !ok {
		return err
	}
	return &TypeError{Path: step.Join(e.Path), Msg: e.Msg, Unknown: e.Unknown, Missing: e.Missing}
}

// A Field is a struct field that JSON has a key for.
type Field struct {
	reflect.StructField // Index leads to it through embedded structs
	Claim
}

// A Claim is the key that JSON may have for a struct field.
type Claim struct {
	Key      string
	Depth    int  // the number of structs that it is embedded in
	Tagged   bool // the json tag gives the key
	Quoted   bool // the option string of the json tag puts the value into a string
	Omits    bool // it has the option omitempty or omitzero
	Indirect bool // an embedded pointer leads to it
}

// ParseTag reads the json tag of a field with that Go name. Only values of basic types are
// quotable.
func ParseTag(tag, name string, quotable bool) Claim {
	key, options, _ := strings.Cut(tag, ",")
	c := Claim{Key: cmp.Or(key, name), Tagged: key != ""}
	for option := range strings.SplitSeq(options, ",") {
		c.Omits = c.Omits || option == "omitempty" || option == "omitzero"
		c.Quoted = c.Quoted || option == "string" && quotable
	}
	return c
}

// Dominant returns the fields that get the key that they claim. Of several that claim the same one,
// the least embedded one gets it, or else the only one with a tag, or else none: encoding/json's
// rule.
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

// Fields lists the fields of the struct type t in their order, one for each key. Fields of an
// embedded pointer to an unexported struct can be written, but not read: they are listed only if
// written is true.
func Fields(t reflect.Type, written bool) []Field {
	all := appendFields(make([]Field, 0, t.NumField()), t, Field{}, nil, written)
	return Dominant(all, func(f Field) Claim { return f.Claim })
}

// appendFields appends the fields of t, which is reached through outer, and of what it embeds.
func appendFields(fields []Field, t reflect.Type, outer Field, within []reflect.Type, written bool) []Field {
	if slices.Contains(within, t) {
		return fields
	}
	within = append(slices.Clip(within), t)
	for i := range t.NumField() {
		f := Field{StructField: t.Field(i)}
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
		f.Claim = ParseTag(tag, f.Name, isQuotable(inner.Kind()))
		f.Depth, f.Indirect = outer.Depth+1, outer.Indirect
		if len(outer.Index) > 0 {
			f.Index = append(slices.Clip(outer.Index), i)
		}
		if promotes && !f.Tagged {
			f.Indirect = f.Indirect || pointer
			fields = appendFields(fields, inner, f, within, written)
			continue
		}
		if !f.IsExported() {
			continue
		}
		fields = append(fields, f)
	}
	return fields
}

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

func decodeQuoted(inside decoder) decoder {
	return func(data []byte, at int, v reflect.Value) (int, error) {
		if data[at] == 'n' {
			return inside(data, at, v)
		}
		end := skip(data, at)
		unquoted, ok := Unquote(data[at:end])
		if !ok {
			return at, mismatch("a string", data[at:])
		}
		text := []byte(unquoted)
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

// misfit is the error for the checked object at data[at], which has unknown keys or lacks required
// ones. It names them all.
func misfit(fields []field, data []byte, at int) error {
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
	parts := append(listed(e.Unknown, "unknown"), listed(e.Missing, "missing")...)
	noun := "field "
	if len(e.Unknown) > 1 || len(e.Unknown) == 0 && len(e.Missing) > 1 {
		noun = "fields "
	}
	e.Msg = noun + strings.Join(parts, ", ")
	return e
}

// listed says of names what they are, such as "a", "b" are unknown. It is empty for none.
func listed(names []string, are string) []string {
	const most = 10
	var quoted []string
	for _, name := range names[:min(len(names), most)] {
		quoted = append(quoted, strconv.Quote(name))
	}
	text := strings.Join(quoted, ", ")
	switch {
	case len(names) == 0:
		return nil
	case len(names) == 1:
		return []string{text + " is " + are}
	case len(names) > most:
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return []string{text + " are " + are}
}
