package strictjson

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/petrock/petrock/core/internal/jsonscan"
	"github.com/petrock/petrock/core/plumbing/jsonfield"
)

// A Decoder decodes JSON into Go values. It caches its analysis of struct types, so use one Decoder
// for many values. In a field of type any, a number becomes a float64, as in encoding/json, and may
// lose digits. The zero value is ready to use, and safe for concurrent use.
type Decoder struct {
	// Exact is for data that [Marshal] encoded from the same type, possibly in an earlier build. An
	// unknown key is an error, and so is a missing one, unless its field is a pointer or has
	// omitempty or omitzero. Null is accepted only where Marshal writes it. An array must have its
	// exact length. These rules apply at every depth, except in types with an UnmarshalJSON or
	// UnmarshalText method. The [*TypeError] has the unknown and missing keys.
	Exact bool

	structs sync.Map // *structType by reflect.Type
}

// Decode decodes data into v, a pointer. It works like encoding/json, with the rules of this
// package, and these differences: integers accept 3.0 and 3e2, []byte accepts only a base64 string,
// json.Number accepts only a number, and the old value of an interface is replaced. Unknown keys
// are ignored. Decode returns an [*Error] for invalid JSON, and a [*TypeError] for JSON that does
// not match the type; v may then be partly filled.
func (d *Decoder) Decode(data []byte, v any) error {
	p := reflect.ValueOf(v)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		return fmt.Errorf("decode into %T: must be a non-nil pointer", v)
	}
	if err := Check(data); err != nil {
		return err
	}
	return d.DecodeChecked(data, p)
}

// DecodeChecked is a faster [Decoder.Decode] for data that [Check] accepts. It may panic on other
// input.
func (d *Decoder) DecodeChecked(data []byte, pointer reflect.Value) error {
	_, err := d.value(data, jsonscan.SkipSpace(data, 0), pointer.Elem())
	return err
}

// Unmarshal decodes data into v, a pointer, see [Decoder.Decode].
func Unmarshal(data []byte, v any) error { return new(Decoder).Decode(data, v) }

// value decodes the valid JSON value at data[at] into v, and returns where the value ends.
func (d *Decoder) value(data []byte, at int, v reflect.Value) (end int, err error) {
	kind, isNull, afterNull := v.Kind(), data[at] == 'n', at+len("null")
	if kind == reflect.Pointer && !isNull {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return d.value(data, at, v.Elem())
	}
	if kind == reflect.Struct || v.Type().PkgPath() != "" { // other types have no methods
		switch u := v.Addr().Interface().(type) {
		case json.Unmarshaler:
			end = jsonscan.Skip(data, at)
			return end, asTypeError(u.UnmarshalJSON(data[at:end]))
		case encoding.TextUnmarshaler:
			_, marshalsJSON := u.(json.Marshaler)
			if isNull && (marshalsJSON || !d.Exact) {
				return afterNull, nil
			}
			end = jsonscan.Skip(data, at)
			text, ok := Unquote(data[at:end])
			if !ok {
				return end, typeMismatch("a string", data[at:end])
			}
			return end, asTypeError(u.UnmarshalText([]byte(text)))
		case json.Marshaler, encoding.TextMarshaler:
			if d.Exact {
				d = new(Decoder) // the keys of the type are not known
			}
		}
	}
	switch kind {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		if isNull {
			v.SetZero()
			return afterNull, nil
		}
	default:
		if isNull && !d.Exact {
			return afterNull, nil
		}
	}
	switch kind {
	case reflect.Struct:
		return d.structure(data, at, v)
	case reflect.Map:
		return d.mapping(data, at, v)
	case reflect.Array:
		return d.list(data, at, v)
	case reflect.Slice:
		if elem := v.Type().Elem(); elem.Kind() != reflect.Uint8 || implementsOne[json.Unmarshaler, encoding.TextUnmarshaler](elem) {
			return d.list(data, at, v)
		}
	}
	end = jsonscan.Skip(data, at)
	return end, decodeScalar(data[at:end], v)
}

// implementsOne reports whether a pointer to t implements A or B.
func implementsOne[A, B any](t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[A]()) || p.Implements(reflect.TypeFor[B]())
}

func (d *Decoder) structure(data []byte, at int, v reflect.Value) (int, error) {
	if data[at] != '{' {
		return at, typeMismatch("an object", data[at:])
	}
	s := d.structType(v.Type())
	next := 0  // keys are usually in the order of the fields
	found := 0 // number of required keys
	end, err := jsonscan.Walk(data, at, func(key []byte, i int) (int, error) {
		if next >= len(s.fields) || s.fields[next].Key != string(key) {
			known, ok := s.byKey[string(key)]
			if !ok && d.Exact {
				return i, s.keyError(data, at)
			}
			if !ok {
				return jsonscan.Skip(data, i), nil
			}
			next = known
		}
		f := &s.fields[next]
		next++
		if isRequired(f) {
			found++
		}
		decode := d.value
		if f.Quoted {
			decode = d.quoted
		}
		end, err := decode(data, i, fieldOf(v, f.Index))
		if err != nil {
			err = prefixPath(Path("").Key(string(key)), err)
		}
		return end, err
	})
	if err == nil && d.Exact && found < s.required {
		err = s.keyError(data, at)
	}
	return end, err
}

func (d *Decoder) mapping(data []byte, at int, v reflect.Value) (int, error) {
	if data[at] != '{' {
		return at, typeMismatch("an object", data[at:])
	}
	t := v.Type()
	if v.IsNil() {
		v.Set(reflect.MakeMap(t))
	}
	k, e := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
	return jsonscan.Walk(data, at, func(key []byte, at int) (int, error) {
		k.SetZero()
		e.SetZero()
		err := decodeKey(string(key), k)
		end := at
		if err == nil {
			end, err = d.value(data, at, e)
		}
		if err != nil {
			return end, prefixPath(Path("").Key(string(key)), err)
		}
		v.SetMapIndex(k, e)
		return end, nil
	})
}

func decodeKey(text string, k reflect.Value) error {
	if u, ok := k.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return asTypeError(u.UnmarshalText([]byte(text)))
	}
	if k.Kind() == reflect.String {
		k.SetString(text)
		return nil
	}
	if !k.CanInt() && !k.CanUint() || setInteger(k, text) != nil {
		return &TypeError{Msg: "the key does not fit in " + k.Type().String()}
	}
	return nil
}

// list decodes into a slice, or into an array, whose length does not change.
func (d *Decoder) list(data []byte, at int, v reflect.Value) (int, error) {
	if data[at] != '[' {
		return at, typeMismatch("an array", data[at:])
	}
	isSlice := v.Kind() == reflect.Slice
	if isSlice {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	}
	n := 0
	end, err := jsonscan.Walk(data, at, func(_ []byte, at int) (int, error) {
		n++
		if isSlice {
			v.Grow(1)
			v.SetLen(n)
		}
		if n > v.Len() {
			return jsonscan.Skip(data, at), nil
		}
		end, err := d.value(data, at, v.Index(n-1))
		if err != nil {
			err = prefixPath(Path("").Index(n-1), err)
		}
		return end, err
	})
	if err == nil && d.Exact && n != v.Len() {
		err = &TypeError{Msg: fmt.Sprintf("must have %d elements, has %d", v.Len(), n)}
	}
	for ; n < v.Len(); n++ {
		v.Index(n).SetZero()
	}
	return end, err
}

// quoted decodes a field with the json option string.
func (d *Decoder) quoted(data []byte, at int, v reflect.Value) (int, error) {
	if data[at] == 'n' {
		return d.value(data, at, v)
	}
	end := jsonscan.Skip(data, at)
	unquoted, ok := Unquote(data[at:end])
	if !ok {
		return at, typeMismatch("a string", data[at:])
	}
	text := []byte(unquoted)
	if err := Check(text); err != nil {
		return end, &TypeError{Msg: "must contain a JSON value: " + err.Error()}
	}
	if jsonscan.IsSpace(text[0]) || jsonscan.IsSpace(text[len(text)-1]) {
		return end, &TypeError{Msg: "must contain a JSON value without space around it"}
	}
	_, err := d.value(text, 0, v)
	return end, err
}

// prefixPath adds a step to the start of the path of an error.
func prefixPath(step Path, err error) error {
	e, ok := errors.AsType[*TypeError](err)
	if !ok {
		return err
	}
	return &TypeError{Path: step.Join(e.Path), Msg: e.Msg, Unknown: e.Unknown, Missing: e.Missing}
}

// decodeScalar decodes a value into a basic type, a []byte or an interface.
func decodeScalar(raw []byte, v reflect.Value) error {
	switch kind := v.Kind(); {
	case kind == reflect.Interface:
		// encoding/json is strict enough here, because the value has no struct fields.
		v.SetZero()
		return asTypeError(json.Unmarshal(raw, v.Addr().Interface()))
	case kind == reflect.Bool:
		if raw[0] != 't' && raw[0] != 'f' {
			return typeMismatch("a boolean", raw)
		}
		v.SetBool(raw[0] == 't')
	case v.Type() == reflect.TypeFor[json.Number]():
		if !isNumber(raw) {
			return typeMismatch("a number", raw)
		}
		v.SetString(string(raw))
	case kind == reflect.String:
		text, ok := Unquote(raw)
		if !ok {
			return typeMismatch("a string", raw)
		}
		v.SetString(text)
	case kind == reflect.Slice:
		text, ok := Unquote(raw)
		if !ok {
			return typeMismatch("a base64 string", raw)
		}
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return &TypeError{Msg: "must be standard base64: " + err.Error()}
		}
		v.SetBytes(b)
	case v.CanInt() || v.CanUint() || v.CanFloat():
		return decodeNumber(raw, v)
	default:
		return &TypeError{Msg: "cannot be decoded into " + v.Type().String()}
	}
	return nil
}

func decodeNumber(raw []byte, v reflect.Value) (err error) {
	switch {
	case !isNumber(raw) && v.CanFloat():
		return typeMismatch("a number", raw)
	case !isNumber(raw):
		return typeMismatch("an integer", raw)
	case v.CanFloat():
		var f float64
		f, err = strconv.ParseFloat(string(raw), v.Type().Bits())
		v.SetFloat(f)
	default:
		err = setInteger(v, integerText(raw))
	}
	if err != nil {
		return &TypeError{Msg: fmt.Sprintf("%s does not fit in %s", Clip(string(raw), 40), v.Type())}
	}
	return nil
}

// setInteger sets v, an integer, to the value of text.
func setInteger(v reflect.Value, text string) error {
	if v.CanInt() {
		n, err := strconv.ParseInt(text, 10, v.Type().Bits())
		v.SetInt(n)
		return err
	}
	n, err := strconv.ParseUint(text, 10, v.Type().Bits())
	v.SetUint(n)
	return err
}

func isNumber(raw []byte) bool {
	return raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9'
}

// asTypeError converts the error of another decoder to a [*TypeError].
func asTypeError(err error) error {
	if _, ok := errors.AsType[*TypeError](err); ok || err == nil {
		return err
	}
	return &TypeError{Msg: err.Error()}
}

// A structType is a struct type to decode into.
type structType struct {
	fields   []jsonfield.Field
	byKey    map[string]int // indexes of fields
	required int            // number of required fields
}

// isRequired reports whether Marshal always writes the field: no omitempty, omitzero or pointer.
func isRequired(f *jsonfield.Field) bool {
	return !f.Omits && !f.Indirect && f.Type.Kind() != reflect.Pointer
}

func (d *Decoder) structType(t reflect.Type) *structType {
	if s, ok := d.structs.Load(t); ok {
		return s.(*structType)
	}
	s := &structType{fields: jsonfield.Decoded(t), byKey: map[string]int{}}
	for i := range s.fields {
		s.byKey[s.fields[i].Key] = i
		if isRequired(&s.fields[i]) {
			s.required++
		}
	}
	d.structs.Store(t, s)
	return s
}

// fieldOf returns the field at an index, through embedded structs. It allocates embedded pointers
// on the way.
func fieldOf(v reflect.Value, index []int) reflect.Value {
	for i, at := range index {
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

// keyError returns the error for the object at data[at], with all its unknown and missing keys.
func (s *structType) keyError(data []byte, at int) error {
	e := &TypeError{}
	present := map[string]bool{}
	var parts []string
	_, _ = jsonscan.Walk(data, at, func(key []byte, i int) (int, error) {
		name := string(key)
		present[name] = true
		if _, known := s.byKey[name]; !known {
			e.Unknown = append(e.Unknown, name)
			parts = append(parts, strconv.Quote(name)+" is unknown")
		}
		return jsonscan.Skip(data, i), nil
	})
	for _, f := range s.fields {
		if isRequired(&f) && !present[f.Key] {
			e.Missing = append(e.Missing, f.Key)
			parts = append(parts, strconv.Quote(f.Key)+" is missing")
		}
	}
	e.Msg = "field " + strings.Join(parts, ", ")
	return e
}
