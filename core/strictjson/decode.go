package strictjson

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
)

// A Decoder decodes JSON into values of type T. Working out how costs more than
// doing it, so a decoder is made once and kept. It may be used by several goroutines.
type Decoder[T any] struct {
	decode decoder
}

// NewDecoder returns the decoder for T.
func NewDecoder[T any]() *Decoder[T] {
	return &Decoder[T]{plans{}.of(reflect.TypeFor[T]())}
}

// Decode fills v from data, by the rules of encoding/json and its struct tags but
// for these: keys match exactly, the rules of this package hold throughout, a whole
// number may be written 3.0 or 3e2, bytes are a base64 string and a json.Number is a
// number and nothing else, and what an interface held is not decoded into. Unknown
// keys are ignored. It returns an [*Error] for input that is not acceptable JSON and a [*TypeError], with the
// path, for what does not fit; v may then be filled in part.
func (d *Decoder[T]) Decode(data []byte, v *T) error {
	if err := Check(data); err != nil {
		return err
	}
	return d.decode(trim(data), reflect.ValueOf(v).Elem())
}

// Unmarshal fills what v, a pointer, points to. It is [Decoder.Decode] with a
// decoder made for this one call.
func Unmarshal(data []byte, v any) error {
	if err := Check(data); err != nil {
		return err
	}
	p := reflect.ValueOf(v)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		return fmt.Errorf("decoding into %T: must be a pointer that is not nil", v)
	}
	return plans{}.of(p.Type().Elem())(trim(data), p.Elem())
}

// A decoder fills v from raw, which is a checked JSON value without space around it.
type decoder func(raw []byte, v reflect.Value) error

// plans holds the decoders made so far for the parts of one type.
type plans map[reflect.Type]*decoder

func (p plans) of(t reflect.Type) decoder {
	if d, ok := p[t]; ok {
		// The type holds itself: its decoder is still being made.
		return func(raw []byte, v reflect.Value) error { return (*d)(raw, v) }
	}
	d := new(decoder)
	p[t] = d
	*d = p.make(t)
	return *d
}

// decodesItself reports whether a type brings its own decoding.
func decodesItself(t reflect.Type) bool {
	ptr := reflect.PointerTo(t)
	return ptr.Implements(reflect.TypeFor[json.Unmarshaler]()) || ptr.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func (p plans) make(t reflect.Type) decoder {
	switch {
	case t.Kind() == reflect.Pointer:
		return decodePointer(p.of(t.Elem()))
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		return decodeUnmarshaler
	case decodesItself(t):
		return notNull(decodeText)
	case t == reflect.TypeFor[json.Number]():
		return notNull(decodeNumber)
	}
	switch t.Kind() {
	case reflect.Bool:
		return notNull(decodeBool)
	case reflect.String:
		return notNull(decodeString)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return notNull(decodeInt)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return notNull(decodeUint)
	case reflect.Float32, reflect.Float64:
		return notNull(decodeFloat)
	case reflect.Struct:
		return notNull(decodeStruct(p.fields(t)))
	case reflect.Map:
		return decodeMap(t, p.of(t.Elem()))
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 && !decodesItself(t.Elem()) {
			return decodeBytes
		}
		return decodeSlice(p.of(t.Elem()))
	case reflect.Array:
		return notNull(decodeArray(p.of(t.Elem())))
	case reflect.Interface:
		return decodeAny
	}
	return func([]byte, reflect.Value) error {
		return &TypeError{Msg: "cannot be decoded into " + t.String()}
	}
}

// notNull leaves the value alone where the input is null, as encoding/json does.
func notNull(d decoder) decoder {
	return func(raw []byte, v reflect.Value) error {
		if raw[0] == 'n' {
			return nil
		}
		return d(raw, v)
	}
}

func decodePointer(elem decoder) decoder {
	return func(raw []byte, v reflect.Value) error {
		if raw[0] == 'n' {
			v.SetZero()
			return nil
		}
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return elem(raw, v.Elem())
	}
}

func decodeUnmarshaler(raw []byte, v reflect.Value) error {
	err := v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(raw)
	return typeError(err)
}

func decodeText(raw []byte, v reflect.Value) error {
	text, ok := Unquote(raw)
	if !ok {
		return mismatch("a string", raw)
	}
	return typeError(v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)))
}

func decodeBool(raw []byte, v reflect.Value) error {
	if raw[0] != 't' && raw[0] != 'f' {
		return mismatch("a boolean", raw)
	}
	v.SetBool(raw[0] == 't')
	return nil
}

func decodeString(raw []byte, v reflect.Value) error {
	text, ok := Unquote(raw)
	if !ok {
		return mismatch("a string", raw)
	}
	v.SetString(text)
	return nil
}

func decodeNumber(raw []byte, v reflect.Value) error {
	if !isNumber(raw) {
		return mismatch("a number", raw)
	}
	v.SetString(string(raw))
	return nil
}

func decodeInt(raw []byte, v reflect.Value) error {
	if !isNumber(raw) {
		return mismatch("a whole number", raw)
	}
	n, err := strconv.ParseInt(wholeNumber(raw), 10, 64)
	if err != nil || v.OverflowInt(n) {
		return unfit(raw, v.Type())
	}
	v.SetInt(n)
	return nil
}

func decodeUint(raw []byte, v reflect.Value) error {
	if !isNumber(raw) {
		return mismatch("a whole number", raw)
	}
	n, err := strconv.ParseUint(wholeNumber(raw), 10, 64)
	if err != nil || v.OverflowUint(n) {
		return unfit(raw, v.Type())
	}
	v.SetUint(n)
	return nil
}

func decodeFloat(raw []byte, v reflect.Value) error {
	if !isNumber(raw) {
		return mismatch("a number", raw)
	}
	f, err := strconv.ParseFloat(string(raw), v.Type().Bits())
	if err != nil {
		return unfit(raw, v.Type())
	}
	v.SetFloat(f)
	return nil
}

// decodeAny decodes into an interface, whatever it held. There are no struct fields
// below one, so encoding/json's way with keys does no harm.
func decodeAny(raw []byte, v reflect.Value) error {
	v.SetZero()
	return typeError(json.Unmarshal(raw, v.Addr().Interface()))
}

func decodeBytes(raw []byte, v reflect.Value) error {
	if raw[0] == 'n' {
		v.SetZero()
		return nil
	}
	text, ok := Unquote(raw)
	if !ok {
		return mismatch("a base64 string", raw)
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

// mismatch is the error for a value of another kind than the one wanted.
func mismatch(want string, raw []byte) error {
	return &TypeError{Msg: "must be " + want + ", got " + Describe(raw)}
}

func unfit(raw []byte, t reflect.Type) error {
	return &TypeError{Msg: fmt.Sprintf("%s does not fit in %s", cut(raw), t)}
}

// typeError gives an error of somebody else's decoding the form of ours.
func typeError(err error) error {
	var own *TypeError
	if err == nil || errors.As(err, &own) {
		return err
	}
	return &TypeError{Msg: err.Error()}
}

// Describe names the kind of a JSON value for a message: "a string", "null".
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

func cut(raw []byte) string {
	const most = 40
	if len(raw) > most {
		return string(raw[:most]) + "…"
	}
	return string(raw)
}

func trim(data []byte) []byte {
	for len(data) > 0 && isSpace(data[0]) {
		data = data[1:]
	}
	for len(data) > 0 && isSpace(data[len(data)-1]) {
		data = data[:len(data)-1]
	}
	return data
}
