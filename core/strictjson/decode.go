package strictjson

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"sync"
)

// A Decoder decodes JSON into values of one type. Keep it: its first use inspects the type, which
// costs more than decoding. It is safe for concurrent use.
type Decoder struct {
	to     reflect.Type
	exact  bool
	once   sync.Once // sets decode
	decode decoder
}

// NewDecoder returns the decoder for t.
func NewDecoder(t reflect.Type) *Decoder { return &Decoder{to: t} }

// NewExactDecoder returns a decoder for data that [Marshal] wrote from a t, now or in an earlier
// build. It is stricter than [NewDecoder]: a key without a field is an error, and so is the absence
// of a key that Marshal always writes. Fields that are pointers, or have omitempty or omitzero, may
// be absent. Null is accepted only where Marshal writes it, and an array must have its exact
// length. These rules hold at every depth. Types with their own UnmarshalJSON or UnmarshalText
// decide for themselves. The keys at fault are in the [*TypeError].
func NewExactDecoder(t reflect.Type) *Decoder { return &Decoder{to: t, exact: true} }

// Decode fills v, a pointer to a value of the decoder's type, by the rules of encoding/json and its
// struct tags, except: keys match exactly, the rules of this package hold throughout, a whole
// number may be written 3.0 or 3e2, bytes are a base64 string and a json.Number is a number and
// nothing else, and what an interface held is not decoded into. Unknown keys are ignored. It
// returns an [*Error] for input that is not acceptable JSON and a [*TypeError], with the path, for
// what does not fit; v may then be filled in part.
func (d *Decoder) Decode(data []byte, v any) error {
	if err := Check(data); err != nil {
		return err
	}
	d.once.Do(d.inspect)
	_, err := d.decode(data, skipSpace(data, 0), reflect.ValueOf(v).Elem())
	return err
}

func (d *Decoder) inspect() { d.decode = newPlans(d.exact).of(d.to) }

// Unmarshal is [Decoder.Decode] with a decoder made for this one call.
func Unmarshal(data []byte, v any) error {
	p := reflect.TypeOf(v)
	if p == nil || p.Kind() != reflect.Pointer || reflect.ValueOf(v).IsNil() {
		return fmt.Errorf("decoding into %T: must be a pointer that is not nil", v)
	}
	return NewDecoder(p.Elem()).Decode(data, v)
}

// A decoder fills v from the checked JSON value at data[at], and returns where the value ends.
type decoder func(data []byte, at int, v reflect.Value) (int, error)

// whole is the decoder of a value that is looked at as a whole: raw, without space around it.
func whole(decode func(raw []byte, v reflect.Value) error) decoder {
	return func(data []byte, at int, v reflect.Value) (int, error) {
		end := skip(data, at)
		return end, decode(data[at:end], v)
	}
}

// plans holds the decoders made so far for the parts of one type.
type plans struct {
	made  map[reflect.Type]*decoder
	exact bool // see NewExactDecoder
}

func newPlans(exact bool) plans { return plans{map[reflect.Type]*decoder{}, exact} }

func (p plans) of(t reflect.Type) decoder {
	if d, ok := p.made[t]; ok {
		// The type holds itself: its decoder is still being made.
		return func(data []byte, at int, v reflect.Value) (int, error) { return (*d)(data, at, v) }
	}
	d := new(decoder)
	p.made[t] = d
	*d = p.make(t)
	return *d
}

func decodesItself(t reflect.Type) bool {
	ptr := reflect.PointerTo(t)
	return ptr.Implements(reflect.TypeFor[json.Unmarshaler]()) || ptr.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func encodesItself(t reflect.Type) bool {
	ptr := reflect.PointerTo(t)
	return ptr.Implements(reflect.TypeFor[json.Marshaler]()) || ptr.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

func (p plans) make(t reflect.Type) decoder {
	switch {
	case t.Kind() == reflect.Pointer:
		return atNull(true, decodePointer(p.of(t.Elem())))
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		return whole(decodeUnmarshaler)
	case p.exact && t.Kind() != reflect.Interface && encodesItself(t) && !decodesItself(t):
		return newPlans(false).of(t) // the keys that it writes are unknown
	case p.exact && decodesItself(t) && reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()):
		return atNull(false, whole(decodeText))
	case decodesItself(t):
		return p.notNull(whole(decodeText))
	case t == reflect.TypeFor[json.Number]():
		return p.notNull(whole(decodeNumber))
	}
	switch t.Kind() {
	case reflect.Bool:
		return p.notNull(whole(decodeBool))
	case reflect.String:
		return p.notNull(whole(decodeString))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return p.notNull(whole(decodeInt))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return p.notNull(whole(decodeUint))
	case reflect.Float32, reflect.Float64:
		return p.notNull(whole(decodeFloat))
	case reflect.Struct:
		return p.notNull(p.decodeStruct(p.fields(t)))
	case reflect.Map:
		return atNull(true, decodeMap(t, p.of(t.Elem())))
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 && !decodesItself(t.Elem()) {
			return atNull(true, whole(decodeBytes))
		}
		return atNull(true, decodeSlice(p.of(t.Elem())))
	case reflect.Array:
		return p.notNull(p.decodeArray(p.of(t.Elem())))
	case reflect.Interface:
		return whole(decodeAny)
	}
	return whole(func([]byte, reflect.Value) error {
		return &TypeError{Msg: "cannot be decoded into " + t.String()}
	})
}

// notNull is for the decoder of a type that Marshal never writes as null. The decoder itself
// refuses null.
func (p plans) notNull(d decoder) decoder {
	if p.exact {
		return d
	}
	return atNull(false, d)
}

// atNull returns a decoder that, at null, clears the value or leaves it alone, as encoding/json
// does.
func atNull(clear bool, d decoder) decoder {
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

func decodePointer(elem decoder) decoder {
	return func(data []byte, at int, v reflect.Value) (int, error) {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return elem(data, at, v.Elem())
	}
}

func decodeUnmarshaler(raw []byte, v reflect.Value) error {
	return typeError(v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(raw))
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

func mismatch(want string, raw []byte) error {
	return &TypeError{Msg: "must be " + want + ", got " + Describe(raw)}
}

func unfit(raw []byte, t reflect.Type) error {
	return &TypeError{Msg: fmt.Sprintf("%s does not fit in %s", Clip(string(raw), 40), t)}
}

// typeError gives an error of somebody else's decoding the form of ours.
func typeError(err error) error {
	if _, own := errors.AsType[*TypeError](err); own || err == nil {
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
