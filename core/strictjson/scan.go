package strictjson

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// MaxDepth is how many arrays and objects may stand inside each other.
const MaxDepth = 256

// Check reports whether data is exactly one JSON value, white space around it
// allowed, that keeps all rules of this package. The error is an [*Error].
func Check(data []byte) error {
	s := scanner{data: data}
	return s.whole(s.value(s.space(0)))
}

// Object reads data, which must be one JSON object, and calls member for each
// of its members in order, with the key unescaped and the value as it stands.
// Both slices are only good to read; the value is part of data.
//
// The members of a malformed object are handed out up to the fault. A duplicate
// key, here or further down, is reported only after the last member, so that a caller
// can still tell what the object was about. An error of member ends the walk and is returned.
func Object(data []byte, member func(key, value []byte) error) error {
	s := scanner{data: data}
	return s.whole(s.object(s.space(0), member))
}

// Array reads data, which must be one JSON array, and calls element for each
// of its elements in order. Errors are as in [Object].
func Array(data []byte, element func(value []byte) error) error {
	s := scanner{data: data}
	return s.whole(s.array(s.space(0), element))
}

// First returns the first byte of data that is not white space, or 0: it
// tells what kind of value data begins.
func First(data []byte) byte {
	for _, c := range data {
		if !isSpace(c) {
			return c
		}
	}
	return 0
}

// failed is the place that reading comes to when it cannot go on; err says why.
const failed = -1

// A scanner is one pass over data. Its methods read what begins at a place and return
// where it ends, or failed. It stops at the first syntax error; a duplicate key is kept in
// dup and does not stop it.
type scanner struct {
	data  []byte
	depth int
	err   error
	dup   *Error
	stack keyStack
}

// whole is the error of a pass that came to i: what it met, or what is left over.
func (s *scanner) whole(i int) error {
	switch {
	case i == failed:
	case s.space(i) < len(s.data):
		s.unexpected(s.space(i), "after the value")
	case s.dup != nil:
		return s.dup
	}
	return s.err
}

// at returns the byte at i, or 0 at the end.
func (s *scanner) at(i int) byte {
	if i < len(s.data) {
		return s.data[i]
	}
	return 0
}

func (s *scanner) value(i int) int {
	switch c := s.at(i); {
	case c == '"':
		end, _ := scanString(s.data, i)
		if end == failed {
			return s.explain(i)
		}
		return end
	case c == '{':
		return s.object(i, nil)
	case c == '[':
		return s.array(i, nil)
	case c == '-' || '0' <= c && c <= '9':
		return s.number(i)
	case c == 't':
		return s.literal(i, "true")
	case c == 'f':
		return s.literal(i, "false")
	case c == 'n':
		return s.literal(i, "null")
	}
	return s.unexpected(i, "where a value should stand")
}

func (s *scanner) object(i int, member func(key, value []byte) error) int {
	if s.at(i) != '{' {
		return s.unexpected(i, "where an object should stand")
	}
	if i = s.open(i); i == failed {
		return failed
	}
	if s.at(i) == '}' {
		s.depth--
		return i + 1
	}
	seen := keySet{base: s.stack.n}
	for {
		if s.at(i) != '"' {
			return s.unexpected(i, "where a key should stand")
		}
		end, escaped := scanString(s.data, i)
		if end == failed {
			return s.explain(i)
		}
		key := span{i + 1, end - 1}
		s.stack.escapes = s.stack.escapes || escaped
		if !s.addKey(&seen, key) && s.dup == nil {
			s.dup = &Error{Duplicate, i, "duplicate key " + quoteShort(s.text(key))}
		}
		if i = s.space(end); s.at(i) != ':' {
			return s.unexpected(i, "where a colon should stand")
		}
		start := s.space(i + 1)
		if i = s.value(start); i == failed {
			return failed
		}
		if member != nil {
			if s.err = member(s.text(key), s.data[start:i]); s.err != nil {
				return failed
			}
		}
		i = s.space(i)
		switch s.at(i) {
		case ',':
			i = s.space(i + 1)
		case '}':
			s.depth--
			s.stack.n = seen.base
			return i + 1
		default:
			return s.unexpected(i, "where a comma or a brace should stand")
		}
	}
}

func (s *scanner) array(i int, element func(value []byte) error) int {
	if s.at(i) != '[' {
		return s.unexpected(i, "where an array should stand")
	}
	if i = s.open(i); i == failed {
		return failed
	}
	if s.at(i) == ']' {
		s.depth--
		return i + 1
	}
	for {
		start := i
		if i = s.value(start); i == failed {
			return failed
		}
		if element != nil {
			if s.err = element(s.data[start:i]); s.err != nil {
				return failed
			}
		}
		i = s.space(i)
		switch s.at(i) {
		case ',':
			i = s.space(i + 1)
		case ']':
			s.depth--
			return i + 1
		default:
			return s.unexpected(i, "where a comma or a bracket should stand")
		}
	}
}

// open goes one level down, past the bracket at i and the space behind it.
func (s *scanner) open(i int) int {
	if s.depth >= MaxDepth {
		s.err = &Error{Depth, i, fmt.Sprintf("nested deeper than %d levels", MaxDepth)}
		return failed
	}
	s.depth++
	return s.space(i + 1)
}

func (s *scanner) number(i int) int {
	if s.at(i) == '-' {
		i++
	}
	end := i + 1
	if s.at(i) != '0' {
		end = s.digits(i)
	}
	if end != failed && s.at(end) == '.' {
		end = s.digits(end + 1)
	}
	if end != failed && s.at(end)|0x20 == 'e' {
		if end++; s.at(end) == '+' || s.at(end) == '-' {
			end++
		}
		end = s.digits(end)
	}
	return end
}

func (s *scanner) digits(i int) int {
	start := i
	for i < len(s.data) && '0' <= s.data[i] && s.data[i] <= '9' {
		i++
	}
	if i == start {
		return s.unexpected(i, "where a digit should stand")
	}
	return i
}

func (s *scanner) literal(i int, word string) int {
	for n := range len(word) {
		if s.at(i+n) != word[n] {
			return s.unexpected(i+n, "inside "+word)
		}
	}
	return i + len(word)
}

// space returns where the white space that may stand at i ends.
func (s *scanner) space(i int) int { return skipSpace(s.data, i) }

func isSpace(c byte) bool {
	return c <= ' ' && (c == ' ' || c == '\n' || c == '\r' || c == '\t')
}

// unexpected fails for the byte, or the end, at i.
func (s *scanner) unexpected(i int, where string) int {
	if i >= len(s.data) {
		return s.fault(i, "the input ends "+where)
	}
	return s.fault(i, "unexpected "+quoteShort(s.data[i:i+1])+" "+where)
}

func (s *scanner) fault(i int, msg string) int {
	s.err = &Error{Syntax, i, msg}
	return failed
}

// scanString returns where the string that begins at data[i] ends, or failed, and
// whether it holds an escape. It looks at eight bytes at a time.
func scanString(data []byte, i int) (end int, escaped bool) {
	const ones = 0x0101010101010101
	const high = 0x80 * ones
	for i++; ; {
		for ; len(data)-i >= 8; i += 8 {
			w := binary.LittleEndian.Uint64(data[i:])
			// Flipping the bit of 2 makes the quote a space and leaves control characters below it.
			quote, backslash := w^('"'-' ')*ones, w^'\\'*ones
			// The high bit of each byte that does not stand for itself; above the lowest of
			// them, there may be more.
			if other := (w | (quote - (' '+1)*ones) | (backslash - ones)) & high; other != 0 {
				i += bits.TrailingZeros64(other) / 8
				break
			}
		}
		if i >= len(data) {
			return failed, false
		}
		switch c := data[i]; {
		case c == '"':
			return i + 1, escaped
		case c == '\\':
			escaped = true
			n := escapeLen(data[i:])
			if n == 0 {
				return failed, false
			}
			i += n
		case c < ' ':
			return failed, false
		case c < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && n == 1 {
				return failed, false
			}
			i += n
		}
	}
}

// explain fails for what is wrong with the string that begins at i.
func (s *scanner) explain(i int) int {
	for i++; i < len(s.data); {
		r, n := utf8.DecodeRune(s.data[i:])
		switch {
		case r == '\\':
			if n = escapeLen(s.data[i:]); n == 0 {
				return s.fault(i, "invalid escape in a string")
			}
		case r < ' ':
			return s.fault(i, "control character in a string")
		case r == utf8.RuneError && n == 1:
			return s.fault(i, "invalid UTF-8 in a string")
		}
		i += n
	}
	return s.unexpected(i, "inside a string")
}

// escapeLen is the length of the escape that b begins with, 0 if it is none.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		if _, ok := hex4(b[2:6]); !ok {
			return 0
		}
		return 6
	}
	return 0
}

// mostKeys is how many keys of objects within each other are remembered by their place.
// The keys of larger objects are hashed.
const mostKeys = 32

// A span is a key's place in the input, quotes not included.
type span struct{ start, end int }

// A keyStack remembers the keys of the objects that are being read, the innermost on
// top. It lives on the stack and is cleared once for all of them.
type keyStack struct {
	keys    [mostKeys]span
	n       int
	escapes bool // some key is written with an escape
}

// A keySet is the keys of one object: those above base, or many.
type keySet struct {
	base int
	many map[string]struct{}
}

// addKey reports whether a key is new to the object, and remembers it.
func (s *scanner) addKey(k *keySet, key span) bool {
	const few = 8 // up to so many, comparing each with each beats hashing
	text := s.text(key)
	have := s.stack.keys[k.base:s.stack.n]
	if k.many == nil && s.stack.n < mostKeys && len(have) < few {
		for _, other := range have {
			alike := other.end-other.start == key.end-key.start || s.stack.escapes
			if alike && string(s.text(other)) == string(text) {
				return false
			}
		}
		s.stack.keys[s.stack.n] = key
		s.stack.n++
		return true
	}
	if k.many == nil {
		k.many = make(map[string]struct{}, 2*few)
		for _, other := range have {
			k.many[string(s.text(other))] = struct{}{}
		}
	}
	if _, ok := k.many[string(text)]; ok {
		return false
	}
	k.many[string(text)] = struct{}{}
	return true
}

func (s *scanner) text(key span) []byte {
	raw := s.data[key.start:key.end]
	if s.stack.escapes && bytes.IndexByte(raw, '\\') >= 0 {
		return appendUnescaped(nil, raw)
	}
	return raw
}

// Members calls member for each member of data in order, as [Object] does, but takes it for
// granted that data is one JSON value that [Check] accepts, such as a part that [Object] has
// handed out: it looks at no more than it needs to find its way, and on other input may panic.
// For a value that is no object it returns a [*TypeError].
func Members(data []byte, member func(key, value []byte) error) error {
	_, err := members(data, skipSpace(data, 0), func(key []byte, at int) (int, error) {
		end := skip(data, at)
		return end, member(key, data[at:end])
	})
	return err
}

// Member returns the value of a member of object, or nil if there is none or object is not an
// object. Like [Members], it requires valid JSON or nil.
func Member(object []byte, name string) (value json.RawMessage) {
	if First(object) != '{' {
		return nil
	}
	_ = Members(object, func(key, v []byte) error {
		if string(key) == name {
			value = v
		}
		return nil
	})
	return value
}

// Elements calls element for each element of the array data in order. What [Members] says
// of its input and its error holds here too.
func Elements(data []byte, element func(value []byte) error) error {
	_, err := elements(data, skipSpace(data, 0), func(at int) (int, error) {
		end := skip(data, at)
		return end, element(data[at:end])
	})
	return err
}

// members walks the checked object at data[i]. member is given the key and the place of the
// value, and returns where that ends.
func members(data []byte, i int, member func(key []byte, at int) (int, error)) (int, error) {
	if data[i] != '{' {
		return i, mismatch("an object", data[i:])
	}
	if i = skipSpace(data, i+1); data[i] == '}' {
		return i + 1, nil
	}
	for {
		end := skipString(data, i)
		key := data[i+1 : end-1]
		if bytes.IndexByte(key, '\\') >= 0 {
			key = appendUnescaped(nil, key)
		}
		i = skipSpace(data, end) // the colon
		var err error
		if i, err = member(key, skipSpace(data, i+1)); err != nil {
			return i, err
		}
		if i = skipSpace(data, i); data[i] == '}' {
			return i + 1, nil
		}
		i = skipSpace(data, i+1)
	}
}

func elements(data []byte, i int, element func(at int) (int, error)) (int, error) {
	if data[i] != '[' {
		return i, mismatch("an array", data[i:])
	}
	if i = skipSpace(data, i+1); data[i] == ']' {
		return i + 1, nil
	}
	for {
		var err error
		if i, err = element(i); err != nil {
			return i, err
		}
		if i = skipSpace(data, i); data[i] == ']' {
			return i + 1, nil
		}
		i = skipSpace(data, i+1)
	}
}

func skip(data []byte, i int) int {
	switch data[i] {
	case '"':
		return skipString(data, i)
	case '{', '[':
		for depth := 0; ; {
			switch data[i] {
			case '"':
				i = skipString(data, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
	}
	for i < len(data) && data[i] > ' ' && data[i] != ',' && data[i] != '}' && data[i] != ']' {
		i++
	}
	return i
}

func skipString(data []byte, i int) int {
	for start := i; ; {
		quote := bytes.IndexByte(data[i+1:], '"')
		if quote < 0 {
			return len(data) // it was not checked
		}
		i += 1 + quote
		escapes := 0
		for i-1-escapes > start && data[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && isSpace(data[i]) {
		i++
	}
	return i
}
