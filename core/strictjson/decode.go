package strictjson

import (
	"bytes"
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

// A Decoder decodes JSON into values of type T. Keep it: its first use inspects the type, which costs
// more than decoding. It is safe for concurrent use.
type Decoder[T any] struct {
	value *ValueDecoder
}

// NewDecoder returns the decoder for T.
func NewDecoder[T any]() *Decoder[T] {
	return &Decoder[T]{NewValueDecoder(reflect.TypeFor[T]())}
}

// NewExactDecoder returns a decoder for data that [Marshal] wrote from a T, now or in an earlier
// build. It is stricter than [NewDecoder]: a key without a field is an error, and so is the absence
// of a key that Marshal always writes. Fields that are pointers, or have omitempty or omitzero, may
// be absent. Null is accepted only where Marshal writes it, and an array must have its exact
// length. These rules hold at every depth. Types with their own UnmarshalJSON or UnmarshalText
// decide for themselves. The keys at fault are in the [*TypeError].
func NewExactDecoder[T any]() *Decoder[T] {
	return &Decoder[T]{NewExactValueDecoder(reflect.TypeFor[T]())}
}

// Decode fills v from data, by the rules of encoding/json and its struct tags, except: keys
// match exactly, the rules of this package hold throughout, a whole number may be written 3.0 or
// 3e2, bytes are a base64 string and a json.Number is a number and nothing else, and what an
// interface held is not decoded into. Unknown keys are ignored. It returns an [*Error] for input
// that is not acceptable JSON and a [*TypeError], with the path, for what does not fit; v may then
// be filled in part.
func (d *Decoder[T]) Decode(data []byte, v *T) error { return d.value.Decode(data, v) }

// A ValueDecoder is a [Decoder] for a type that is known only at run time.
type ValueDecoder struct {
	to     reflect.Type
	exact  bool
	once   sync.Once // sets decode
	decode decoder
}

// NewValueDecoder returns the decoder for t.
func NewValueDecoder(t reflect.Type) *ValueDecoder { return &ValueDecoder{to: t} }

// NewExactValueDecoder is [NewExactDecoder] for a type that is known only at run time.
func NewExactValueDecoder(t reflect.Type) *ValueDecoder {
	return &ValueDecoder{to: t, exact: true}
}

// Decode is [Decoder.Decode]; v points to a value of the decoder's type.
func (d *ValueDecoder) Decode(data []byte, v any) error {
	if err := Check(data); err != nil {
		return err
	}
	d.once.Do(d.inspect)
	_, err := d.decode(data, skipSpace(data, 0), reflect.ValueOf(v).Elem())
	return err
}

func (d *ValueDecoder) inspect() { d.decode = newPlans(d.exact).of(d.to) }

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
	_, err := newPlans(false).of(p.Type().Elem())(data, skipSpace(data, 0), p.Elem())
	return err
}

// A decoder fills v from the checked JSON value that begins at data[at], and returns where
// the value ends, unless there is an error.
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
		return decodePointer(p.of(t.Elem()))
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		return whole(decodeUnmarshaler)
	case p.exact && t.Kind() != reflect.Interface && encodesItself(t) && !decodesItself(t):
		return newPlans(false).of(t) // the keys that it writes are unknown
	case p.exact && decodesItself(t) && reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()):
		return leaveAtNull(whole(decodeText))
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
		return decodeMap(t, p.of(t.Elem()))
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 && !decodesItself(t.Elem()) {
			return whole(decodeBytes)
		}
		return decodeSlice(p.of(t.Elem()))
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
	return leaveAtNull(d)
}

// leaveAtNull leaves the value alone where the input is null, as encoding/json does.
func leaveAtNull(d decoder) decoder {
	return func(data []byte, at int, v reflect.Value) (int, error) {
		if data[at] == 'n' {
			return at + len("null"), nil
		}
		return d(data, at, v)
	}
}

func decodePointer(elem decoder) decoder {
	return func(data []byte, at int, v reflect.Value) (int, error) {
		if data[at] == 'n' {
			v.SetZero()
			return at + len("null"), nil
		}
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return elem(data, at, v.Elem())
	}
}

func decodeUnmarshaler(raw []byte, v reflect.Value) error {
	err := v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(raw)
	return typeError(err)
}

func decodeText(raw []byte, v reflect.Value) error {
	if raw[0] != '"' {
		return mismatch("a string", raw)
	}
	return typeError(v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(textOf(raw))))
}

func decodeBool(raw []byte, v reflect.Value) error {
	if raw[0] != 't' && raw[0] != 'f' {
		return mismatch("a boolean", raw)
	}
	v.SetBool(raw[0] == 't')
	return nil
}

func decodeString(raw []byte, v reflect.Value) error {
	if raw[0] != '"' {
		return mismatch("a string", raw)
	}
	v.SetString(textOf(raw))
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
	if raw[0] != '"' {
		return mismatch("a base64 string", raw)
	}
	b, err := base64.StdEncoding.DecodeString(textOf(raw))
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

// wholeNumber writes a JSON number without point and exponent, exactly: 3e2 as 300,
// -7.0 as -7. It returns "" for one that is not whole, or longer than any that fits in 64 bits.
func wholeNumber(raw []byte) string {
	if !bytes.ContainsAny(raw, ".eE") {
		return string(raw)
	}
	mantissa, exponent, scientific := strings.Cut(strings.ToLower(string(raw)), "e")
	digits, fraction, _ := strings.Cut(mantissa, ".")
	const longest = len("-18446744073709551615")
	shift := 0
	if scientific {
		n, err := strconv.Atoi(exponent)
		if most := longest + len(fraction); err != nil && !strings.HasPrefix(exponent, "-") || n > most {
			n = most // beyond that only zero fits
		} else if err != nil || n < -len(digits) {
			n = -len(digits)
		}
		shift = n
	}
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	// Move the point: take digits over from one side of it to the other.
	if shift >= 0 {
		fraction += strings.Repeat("0", max(0, shift-len(fraction)))
		digits, fraction = digits+fraction[:shift], fraction[shift:]
	} else {
		at := max(0, len(digits)+shift)
		digits, fraction = digits[:at], digits[at:]+fraction
	}
	digits = strings.TrimLeft(digits, "0")
	if strings.Trim(fraction, "0") != "" || len(digits) > longest {
		return ""
	}
	if digits == "" {
		return "0"
	}
	return sign + digits
}
