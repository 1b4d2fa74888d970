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
)

// A Decoder decodes JSON into values of one type. Its first use inspects the type, which is slow, so
// keep a Decoder for further calls. It is safe for concurrent use.
type Decoder struct {
	target reflect.Type
	exact  bool
	once   sync.Once // sets decode
	decode decodeFunc
}

// NewDecoder returns a decoder for values of type t.
func NewDecoder(t reflect.Type) *Decoder { return &Decoder{target: t} }

// NewExactDecoder returns a decoder for data that [Marshal] encoded from a t, possibly in an earlier
// build. It is stricter than [NewDecoder]. An unknown key is an error, and so is a missing one, unless
// its field is a pointer or has omitempty or omitzero. Null is accepted only where Marshal writes it.
// An array must have its exact length. These rules apply at every depth, except in types with an
// UnmarshalJSON or UnmarshalText method. The [*TypeError] has the unknown and missing keys.
func NewExactDecoder(t reflect.Type) *Decoder { return &Decoder{target: t, exact: true} }

// Decode decodes data into v, a pointer to the decoder's type. It works like encoding/json, with the
// rules of this package, and these differences: integers accept 3.0 and 3e2, []byte accepts only a
// base64 string, json.Number accepts only a number, and the old value of an interface is replaced.
// Unknown keys are ignored. Decode returns an [*Error] for invalid JSON, and a [*TypeError] for JSON
// that does not match the type; v may then be partly filled.
func (d *Decoder) Decode(data []byte, v any) error {
	if err := Check(data); err != nil {
		return err
	}
	d.once.Do(func() { d.decode = newDecoders(d.exact).forType(d.target) })
	_, err := d.decode(data, skipSpace(data, 0), reflect.ValueOf(v).Elem())
	return err
}

// Unmarshal decodes data into v, a pointer, see [Decoder.Decode].
func Unmarshal(data []byte, v any) error {
	p := reflect.TypeOf(v)
	if p == nil || p.Kind() != reflect.Pointer || reflect.ValueOf(v).IsNil() {
		return fmt.Errorf("decode into %T: must be a non-nil pointer", v)
	}
	return NewDecoder(p.Elem()).Decode(data, v)
}

// A decodeFunc decodes the valid JSON value at data[at] into v, and returns where the value ends.
type decodeFunc func(data []byte, at int, v reflect.Value) (int, error)

// wholeValue returns a decodeFunc that passes the raw value to decode.
func wholeValue(decode func(raw []byte, v reflect.Value) error) decodeFunc {
	return func(data []byte, at int, v reflect.Value) (int, error) {
		end := skip(data, at)
		return end, decode(data[at:end], v)
	}
}

// decoders caches the decoders of one type and its parts.
type decoders struct {
	cache map[reflect.Type]*decodeFunc
	exact bool // see NewExactDecoder
}

func newDecoders(exact bool) decoders { return decoders{map[reflect.Type]*decodeFunc{}, exact} }

func (p decoders) forType(t reflect.Type) decodeFunc {
	if d, ok := p.cache[t]; ok {
		// The type is recursive: *d is not set yet.
		return func(data []byte, at int, v reflect.Value) (int, error) { return (*d)(data, at, v) }
	}
	d := new(decodeFunc)
	p.cache[t] = d
	*d = p.newFor(t)
	return *d
}

func hasUnmarshaler(t reflect.Type) bool {
	return implements[json.Unmarshaler](t) || implements[encoding.TextUnmarshaler](t)
}

// implements reports whether a pointer to t implements I.
func implements[I any](t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[I]())
}

func (p decoders) newFor(t reflect.Type) decodeFunc {
	hasMarshaler := implements[json.Marshaler](t) || implements[encoding.TextMarshaler](t)
	switch {
	case t.Kind() == reflect.Pointer:
		return acceptNull(true, decodePointer(p.forType(t.Elem())))
	case implements[json.Unmarshaler](t):
		return wholeValue(decodeUnmarshaler)
	case p.exact && t.Kind() != reflect.Interface && hasMarshaler && !hasUnmarshaler(t):
		return newDecoders(false).forType(t) // its keys are not known
	case p.exact && hasUnmarshaler(t) && implements[json.Marshaler](t):
		return acceptNull(false, wholeValue(decodeText))
	case hasUnmarshaler(t):
		return p.nonNull(wholeValue(decodeText))
	case t == reflect.TypeFor[json.Number]():
		return p.nonNull(wholeValue(decodeNumber))
	}
	switch t.Kind() {
	case reflect.Bool:
		return p.nonNull(wholeValue(decodeBool))
	case reflect.String:
		return p.nonNull(wholeValue(decodeString))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return p.nonNull(wholeValue(decodeInt))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return p.nonNull(wholeValue(decodeUint))
	case reflect.Float32, reflect.Float64:
		return p.nonNull(wholeValue(decodeFloat))
	case reflect.Struct:
		return p.nonNull(p.decodeStruct(p.fields(t)))
	case reflect.Map:
		return acceptNull(true, decodeMap(t, p.forType(t.Elem())))
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 && !hasUnmarshaler(t.Elem()) {
			return acceptNull(true, wholeValue(decodeBytes))
		}
		return acceptNull(true, decodeSlice(p.forType(t.Elem())))
	case reflect.Array:
		return p.nonNull(p.decodeArray(p.forType(t.Elem())))
	case reflect.Interface:
		return wholeValue(decodeAny)
	}
	return wholeValue(func([]byte, reflect.Value) error {
		return &TypeError{Msg: "cannot be decoded into " + t.String()}
	})
}

// nonNull returns the decoder of a type that Marshal never encodes as null. Only an exact decoder
// refuses null, as d does.
func (p decoders) nonNull(d decodeFunc) decodeFunc {
	if p.exact {
		return d
	}
	return acceptNull(false, d)
}

// acceptNull returns a decoder that accepts null, which clears the value or leaves it unchanged.
func acceptNull(clear bool, d decodeFunc) decodeFunc {
	return func(data []byte, at int, v reflect.Value) (int, error) {
		if data[at] != 'n' {
			return d(data, at, v)
		}
		if clear {
			v.SetZero()
		}
		return at + len("null"), nil
	}
}

func decodePointer(elem decodeFunc) decodeFunc {
	return func(data []byte, at int, v reflect.Value) (int, error) {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return elem(data, at, v.Elem())
	}
}

func decodeUnmarshaler(raw []byte, v reflect.Value) error {
	return asTypeError(v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(raw))
}

func decodeText(raw []byte, v reflect.Value) error {
	text, ok := Unquote(raw)
	if !ok {
		return typeMismatch("a string", raw)
	}
	return asTypeError(v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)))
}

func decodeBool(raw []byte, v reflect.Value) error {
	if raw[0] != 't' && raw[0] != 'f' {
		return typeMismatch("a boolean", raw)
	}
	v.SetBool(raw[0] == 't')
	return nil
}

func decodeString(raw []byte, v reflect.Value) error {
	text, ok := Unquote(raw)
	if !ok {
		return typeMismatch("a string", raw)
	}
	v.SetString(text)
	return nil
}

func decodeNumber(raw []byte, v reflect.Value) error {
	if !isNumber(raw) {
		return typeMismatch("a number", raw)
	}
	v.SetString(string(raw))
	return nil
}

func decodeInt(raw []byte, v reflect.Value) error {
	if !isNumber(raw) {
		return typeMismatch("an integer", raw)
	}
	n, err := strconv.ParseInt(integerText(raw), 10, 64)
	if err != nil || v.OverflowInt(n) {
		return overflowError(raw, v.Type())
	}
	v.SetInt(n)
	return nil
}

func decodeUint(raw []byte, v reflect.Value) error {
	if !isNumber(raw) {
		return typeMismatch("an integer", raw)
	}
	n, err := strconv.ParseUint(integerText(raw), 10, 64)
	if err != nil || v.OverflowUint(n) {
		return overflowError(raw, v.Type())
	}
	v.SetUint(n)
	return nil
}

func decodeFloat(raw []byte, v reflect.Value) error {
	if !isNumber(raw) {
		return typeMismatch("a number", raw)
	}
	f, err := strconv.ParseFloat(string(raw), v.Type().Bits())
	if err != nil {
		return overflowError(raw, v.Type())
	}
	v.SetFloat(f)
	return nil
}

// decodeAny decodes into an interface. encoding/json is strict enough here, because the value has no
// struct fields.
func decodeAny(raw []byte, v reflect.Value) error {
	v.SetZero()
	return asTypeError(json.Unmarshal(raw, v.Addr().Interface()))
}

func decodeBytes(raw []byte, v reflect.Value) error {
	text, ok := Unquote(raw)
	if !ok {
		return typeMismatch("a base64 string", raw)
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return &TypeError{Msg: "must be standard base64: " + err.Error()}
	}
	v.SetBytes(b)
	return nil
}

func isNumber(raw []byte) bool {
	return raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9'
}

func typeMismatch(want string, raw []byte) error {
	return &TypeError{Msg: "must be " + want + ", got " + Describe(raw)}
}

func overflowError(raw []byte, t reflect.Type) error {
	return &TypeError{Msg: fmt.Sprintf("%s does not fit in %s", Clip(string(raw), 40), t)}
}

// asTypeError converts the error of another decoder to a [*TypeError].
func asTypeError(err error) error {
	if _, ok := errors.AsType[*TypeError](err); ok || err == nil {
		return err
	}
	return &TypeError{Msg: err.Error()}
}

// Describe returns the kind of a JSON value for a message, such as "a string" or "null".
func Describe(raw []byte) string {
	switch First(raw) {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// TypeName returns the name of the type of a JSON value: string, number, boolean, object, array or null.
func TypeName(raw []byte) string {
	name := Describe(raw)
	return name[strings.LastIndexByte(name, ' ')+1:]
}
