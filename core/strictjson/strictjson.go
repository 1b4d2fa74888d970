// Package strictjson decodes JSON strictly. Use it for input that a program or a model sends, where
// a misspelt or duplicate key is a mistake, and for stored data, which must not lose fields
// silently. Unlike encoding/json:
//
//   - keys match fields case-sensitively;
//   - a duplicate key in an object, at any depth, is an error;
//   - a string that is not valid UTF-8 is an error;
//   - a value nested deeper than [MaxDepth] is an error.
//
// [Unmarshal] decodes one value, and a [Decoder] decodes many; an exact one also refuses unknown
// and missing keys. [Check] validates a value. [Object] and [Array] split one level of it into
// slices of the input, without copying or decoding. [Members] and [Elements] split a value that is
// known to be valid. [Marshal] encodes as encoding/json does, but without HTML escapes.
package strictjson

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/petrock/petrock/core/internal/decimal"
	"github.com/petrock/petrock/core/internal/jsonscan"
)

// A Kind is a kind of invalid input.
type Kind = jsonscan.Kind

const (
	Syntax    = jsonscan.Syntax    // input that is not valid JSON or not valid UTF-8
	Depth     = jsonscan.Depth     // a value nested deeper than [MaxDepth]
	Duplicate = jsonscan.Duplicate // a duplicate key in an object
)

// An Error means that the input is invalid for any Go type. It has the Kind of the problem, its
// Offset in bytes and a text without the offset, Msg.
type Error = jsonscan.Error

// A TypeError means that valid JSON does not match the Go type.
type TypeError struct {
	Path string // such as items[2].price; empty for the whole value
	Msg  string // such as "must be a number, got a string"

	// Unknown and Missing are the unknown and missing keys of the object at Path, from an exact
	// decoder.
	Unknown, Missing []string
}

func (e *TypeError) Error() string {
	if e.Path == "" {
		return e.Msg
	}
	return e.Path + ": " + e.Msg
}

// A Path is the location of a part of a value, such as items[2].price. The empty path is the whole
// value.
type Path string

// Key returns the path of a member.
func (p Path) Key(key string) Path {
	if !isPlainKey(key) {
		return p + Path("["+strconv.Quote(key)+"]")
	}
	if p == "" {
		return Path(key)
	}
	return p + "." + Path(key)
}

// Index returns the path of an element.
func (p Path) Index(i int) Path { return p + Path("["+strconv.Itoa(i)+"]") }

// Join returns the path of rest, which is relative to p.
func (p Path) Join(rest string) string {
	if p == "" || rest == "" || rest[0] == '[' {
		return string(p) + rest
	}
	return string(p) + "." + rest
}

// isPlainKey reports whether a key needs no quotes in a path.
func isPlainKey(key string) bool {
	const first, later = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$", "0123456789-"
	return key != "" && strings.Trim(key, first+later) == "" && !strings.Contains(later, key[:1])
}

// Marshal is [json.Marshal] without HTML escapes.
func Marshal(v any) (json.RawMessage, error) {
	// json.Marshal is faster than an encoder, and most values need no escapes.
	if raw, err := json.Marshal(v); err != nil || !bytes.Contains(raw, []byte(`\u`)) {
		return raw, err
	}
	return Append(nil, v)
}

// Append appends the JSON encoding of v to dst, see [Marshal].
func Append(dst []byte, v any) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Unquote decodes raw, a JSON string with its quotes. It reports false if raw is not a string. An
// unpaired surrogate becomes U+FFFD.
func Unquote(raw []byte) (string, bool) { return jsonscan.Unquote(raw) }

// AppendString appends s to dst as a JSON string. It escapes only what JSON requires, and U+2028
// and U+2029, which break JavaScript. Invalid UTF-8 becomes U+FFFD.
func AppendString[T ~string | ~[]byte](dst []byte, s T) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		if c := s[i]; c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			var first [utf8.UTFMax]byte
			r, n = utf8.DecodeRune(first[:copy(first[:], s[i:])])
		}
		i += n
		isInvalid := r == utf8.RuneError && n == 1
		if r >= utf8.RuneSelf && r != '\u2028' && r != '\u2029' && !isInvalid {
			continue
		}
		dst = append(dst, s[start:i-n]...)
		start = i
		// The low byte of no character above ASCII that gets here is in the list.
		if short := strings.IndexByte("\"\\\n\r\t", byte(r)); short >= 0 {
			dst = append(dst, '\\', `"\nrt`[short])
		} else {
			dst = append(dst, '\\', 'u', hex[r>>12], hex[r>>8&0xf], hex[r>>4&0xf], hex[r&0xf])
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// AppendMember appends a member to dst, after a comma unless dst is empty or ends with '{' or ','.
func AppendMember(dst []byte, key string, value []byte) []byte {
	if n := len(dst); n > 0 && dst[n-1] != ',' && dst[n-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(AppendString(dst, key), ':')
	return append(dst, value...)
}

// Clip returns text, or its first limit bytes and "…" if it is longer.
func Clip(text string, limit int) string { return jsonscan.Clip(text, limit) }

// integerText returns a JSON number without point and exponent: 300 for 3e2, -7 for -7.0. It
// returns "" if the number is not an integer, or has too many digits for 64 bits.
func integerText(raw []byte) string {
	const maxDigits = len("18446744073709551615")
	if !bytes.ContainsAny(raw, ".eE") {
		return string(raw)
	}
	d := decimal.Parse(nil, raw)
	switch {
	case d.Sign == 0:
		return "0"
	case !d.IsWhole() || d.Exponent > maxDigits:
		return ""
	}
	text := append(d.Digits, bytes.Repeat([]byte{'0'}, d.Exponent-len(d.Digits))...)
	if d.Sign < 0 {
		return "-" + string(text)
	}
	return string(text)
}

func typeMismatch(want string, raw []byte) error {
	return &TypeError{Msg: "must be " + want + ", got " + Describe(raw)}
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

// MaxDepth is the maximum nesting depth of arrays and objects.
const MaxDepth = jsonscan.MaxDepth

// Check returns an [*Error] unless data is exactly one JSON value, with optional white space around
// it, that follows all rules of this package.
func Check(data []byte) error { return jsonscan.Check(data) }

// Object parses data, which must be one JSON object, and calls member for each of its members in
// order, with the unescaped key and the raw value. member must not modify the slices; value is part
// of data. If member returns an error, Object stops and returns it.
//
// If data is malformed, Object calls member for the members before the syntax error. It returns the
// error of a duplicate key, at any depth, only after the last member.
func Object(data []byte, member func(key, value []byte) error) error {
	return jsonscan.Object(data, func(key, value []byte, _ jsonscan.Ends) error { return member(key, value) })
}

// Array parses data, which must be one JSON array, and calls element for each of its elements in
// order. Errors are as in [Object].
func Array(data []byte, element func(value []byte) error) error {
	return jsonscan.Array(data, element)
}

// First returns the first byte of data that is not white space, or 0. It determines the kind of a
// value.
func First(data []byte) byte { return jsonscan.First(data) }

// Members is a faster [Object] for data that [Check] accepts, such as a value from [Object]. It may
// panic on other input. For a value that is not an object it returns a [*TypeError].
func Members(data []byte, member func(key, value []byte) error) error {
	if First(data) != '{' {
		return typeMismatch("an object", data)
	}
	return jsonscan.Members(data, &jsonscan.Ends{}, member)
}

// Elements is a faster [Array] for data that [Check] accepts. It may panic on other input. For a
// value that is not an array it returns a [*TypeError].
func Elements(data []byte, element func(value []byte) error) error {
	if First(data) != '[' {
		return typeMismatch("an array", data)
	}
	// An element is a member without a key.
	return jsonscan.Members(data, &jsonscan.Ends{}, func(_, value []byte) error { return element(value) })
}

// Member returns the value of a member of object, or nil if the member does not exist or object is
// not an object. Like [Members], it requires valid JSON or nil.
func Member(object []byte, name string) json.RawMessage {
	start, end := jsonscan.Member(object, name)
	if end == 0 {
		return nil
	}
	return object[start:end]
}
