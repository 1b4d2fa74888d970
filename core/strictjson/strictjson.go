// Package strictjson reads JSON the way a protocol needs it read: exactly.
//
// Where encoding/json is generous, this package is not:
//
//   - a key fills a field only if it is spelled the same, letter case included;
//   - a key that stands twice in one object is an error, at every depth;
//   - a string that is not valid UTF-8 is an error;
//   - a value nested deeper than [MaxDepth] is an error, found before any stack grows.
//
// [Check] tests a whole value. [Object] and [Array] walk one level of it and hand out the parts as
// slices of the input, so that a message can be taken apart without being copied or decoded. A
// [Decoder] fills a Go value; one from [NewExactDecoder] refuses what it would have to ignore or
// leave out. All of them read the input in one pass and keep nothing of it.
//
// [Members] and [Elements] walk a value that has been checked already.
package strictjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A Kind says which rule an input broke.
type Kind int

const (
	// Syntax is input that is not JSON, invalid UTF-8 included.
	Syntax Kind = iota + 1
	// Depth is a value nested deeper than [MaxDepth].
	Depth
	// Duplicate is a key that stands twice in one object.
	Duplicate
)

// An Error is a rule broken by the input itself, whatever it was to be decoded into.
type Error struct {
	Kind   Kind
	Offset int // where in the input, in bytes
	Msg    string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s at byte %d", e.Msg, e.Offset)
}

// A TypeError is JSON that does not fit the Go value it was to be decoded into.
type TypeError struct {
	Path string // such as items[2].price; empty for the whole value
	Msg  string // such as "must be a number, got a string"

	// Unknown and Missing are the keys of the object at Path that an exact decoder refuses and lacks.
	Unknown, Missing []string
}

func (e *TypeError) Error() string {
	if e.Path == "" {
		return e.Msg
	}
	return e.Path + ": " + e.Msg
}

// A Path leads to a part of a value, such as items[2].price. The empty path is the whole value.
type Path string

// Key is the path of the member called key.
func (p Path) Key(key string) Path {
	if !plain(key) {
		return p + Path("["+strconv.Quote(key)+"]")
	}
	if p == "" {
		return Path(key)
	}
	return p + "." + Path(key)
}

// Index is the path of the element at i.
func (p Path) Index(i int) Path {
	return p + Path("["+strconv.Itoa(i)+"]")
}

// Join is the path of rest, seen from the value that p leads to.
func (p Path) Join(rest string) string {
	if p == "" || rest == "" || rest[0] == '[' {
		return string(p) + rest
	}
	return string(p) + "." + rest
}

// plain reports whether a key can stand in a path without quotes.
func plain(key string) bool {
	for i, c := range key {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_', c == '$':
		case i > 0 && ('0' <= c && c <= '9' || c == '-'):
		default:
			return false
		}
	}
	return key != ""
}

// Marshal is json.Marshal without the escapes that only HTML needs.
func Marshal(v any) (json.RawMessage, error) {
	// Without an encoder it is quicker, and nearly always the same.
	if raw, err := json.Marshal(v); err != nil || !bytes.Contains(raw, []byte(`\u`)) {
		return raw, err
	}
	return Append(nil, v)
}

// Append appends what [Marshal] makes of v to dst.
func Append(dst []byte, v any) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// MarshalOutput is [Marshal] for a whole result: a nil slice is written as [], and a nil map as {}.
func MarshalOutput(v any) (json.RawMessage, error) {
	text, err := Marshal(v)
	if err != nil || string(text) != "null" {
		return text, err
	}
	t := reflect.TypeOf(v)
	switch {
	case t == nil || t.Implements(reflect.TypeFor[json.Marshaler]()):
	case t.Kind() == reflect.Map:
		return []byte("{}"), nil
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		return []byte("[]"), nil
	}
	return text, nil
}

// Unquote returns the text of raw, a JSON string with its quotes, or false if raw is not one. Half
// a surrogate pair becomes U+FFFD.
func Unquote(raw []byte) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	end, escaped := scanString(raw, 0)
	if end != len(raw) {
		return "", false
	}
	if !escaped {
		return string(raw[1 : len(raw)-1]), true
	}
	return string(appendUnescaped(nil, raw[1:len(raw)-1])), true
}

// appendUnescaped appends the text of a string's inside, whose escapes are known to be good.
func appendUnescaped(dst, in []byte) []byte {
	for {
		i := bytes.IndexByte(in, '\\')
		if i < 0 {
			return append(dst, in...)
		}
		dst = append(dst, in[:i]...)
		in = in[i:]
		if in[1] != 'u' {
			dst = append(dst, unescapeByte(in[1]))
			in = in[2:]
			continue
		}
		r, _ := hex4(in[2:6])
		in = in[6:]
		if utf16.IsSurrogate(r) {
			low := rune(-1)
			if len(in) >= 6 && in[0] == '\\' && in[1] == 'u' {
				low, _ = hex4(in[2:6])
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				in = in[6:]
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
}

func unescapeByte(c byte) byte {
	if i := strings.IndexByte("bfnrt", c); i >= 0 {
		return "\b\f\n\r\t"[i]
	}
	return c
}

func hex4(b []byte) (rune, bool) {
	r, err := strconv.ParseUint(string(b), 16, 16)
	return rune(r), err == nil
}

// AppendString appends s to dst as a JSON string. It escapes only what JSON demands, and the two
// line separators that break JavaScript. Invalid UTF-8 becomes U+FFFD.
func AppendString[T ~string | ~[]byte](dst []byte, s T) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := decodeRune(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[start:i]...), `\ufffd`...)
				start = i + 1
			} else if r == '\u2028' || r == '\u2029' {
				dst = append(append(dst, s[start:i]...), `\u202`...)
				dst = append(dst, hex[r&0xf])
				start = i + n
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		if short := strings.IndexByte("\"\\\n\r\t", c); short >= 0 {
			dst = append(dst, '\\', `"\nrt`[short])
		} else {
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		}
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// AppendMember appends a member to an object or a list of members, after a comma unless dst is
// empty or ends with '{' or ','.
func AppendMember(dst []byte, key string, value []byte) []byte {
	if n := len(dst); n > 0 && dst[n-1] != ',' && dst[n-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(AppendString(dst, key), ':')
	return append(dst, value...)
}

// Clip returns text, or its first limit bytes and "…" if it is longer.
func Clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// quoteShort is text for an error message: quoted, and cut where it is long.
func quoteShort(text []byte) string {
	const most = 40
	if len(text) > most {
		return strconv.Quote(string(text[:most])) + "…"
	}
	return strconv.Quote(string(text))
}

func decodeRune[T ~string | ~[]byte](s T) (rune, int) {
	var first [utf8.UTFMax]byte
	return utf8.DecodeRune(first[:copy(first[:], s)])
}
