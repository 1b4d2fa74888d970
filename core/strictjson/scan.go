package strictjson

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// MaxDepth is the maximum nesting depth of arrays and objects.
const MaxDepth = 256

// Check returns an [*Error] unless data is exactly one JSON value, with optional white space around it,
// that follows all rules of this package.
func Check(data []byte) error {
	s := scanner{data: data}
	return s.finish(s.value(s.space(0)))
}

// Object parses data, which must be one JSON object, and calls member for each of its members in
// order, with the unescaped key and the raw value. member must not modify the slices; value is part of
// data. If member returns an error, Object stops and returns it.
//
// If data is malformed, Object calls member for the members before the syntax error. It returns the
// error of a duplicate key, at any depth, only after the last member.
func Object(data []byte, member func(key, value []byte) error) error {
	s := scanner{data: data}
	return s.finish(s.object(s.space(0), member))
}

// Array parses data, which must be one JSON array, and calls element for each of its elements in
// order. Errors are as in [Object].
func Array(data []byte, element func(value []byte) error) error {
	s := scanner{data: data}
	return s.finish(s.array(s.space(0), element))
}

// First returns the first byte of data that is not white space, or 0. It determines the kind of a
// value.
func First(data []byte) byte {
	if i := skipSpace(data, 0); i < len(data) {
		return data[i]
	}
	return 0
}

// failed is the position that scanner methods return after an error.
const failed = -1

// A scanner parses data in one pass. Its methods take the position where something begins, and return
// the position where it ends, or failed. A syntax error stops the scanner. A duplicate key does not;
// it is kept in dup.
type scanner struct {
	data  []byte
	depth int
	err   error
	dup   *Error
	stack keyStack
}

// finish returns the error of a pass that ended at i. Data after the value is an error.
func (s *scanner) finish(i int) error {
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
			return s.explainString(i)
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
	return s.expected(i, "a value")
}

func (s *scanner) object(i int, member func(key, value []byte) error) int {
	if s.at(i) != '{' {
		return s.expected(i, "an object")
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
			return s.expected(i, "a key")
		}
		end, escaped := scanString(s.data, i)
		if end == failed {
			return s.explainString(i)
		}
		key := s.data[i+1 : end-1]
		if escaped {
			key = appendUnescaped(nil, key)
		}
		if !s.stack.add(&seen, key) && s.dup == nil {
			s.dup = &Error{Duplicate, i, "duplicate key " + clipQuoted(key)}
		}
		if i = s.space(end); s.at(i) != ':' {
			return s.expected(i, "a colon")
		}
		start := s.space(i + 1)
		if i = s.value(start); i == failed {
			return failed
		}
		if member != nil {
			if s.err = member(key, s.data[start:i]); s.err != nil {
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
			return s.expected(i, "a comma or }")
		}
	}
}

func (s *scanner) array(i int, element func(value []byte) error) int {
	if s.at(i) != '[' {
		return s.expected(i, "an array")
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
			return s.expected(i, "a comma or ]")
		}
	}
}

// open enters the object or array at i, and returns the position of its first member or element.
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
		return s.expected(i, "a digit")
	}
	return i
}

func (s *scanner) literal(i int, word string) int {
	for n := range len(word) {
		if s.at(i+n) != word[n] {
			return s.unexpected(i+n, "in literal "+word)
		}
	}
	return i + len(word)
}

func (s *scanner) space(i int) int { return skipSpace(s.data, i) }

func isSpace(c byte) bool {
	return c <= ' ' && (c == ' ' || c == '\n' || c == '\r' || c == '\t')
}

// expected fails because the input at i is something else.
func (s *scanner) expected(i int, what string) int {
	return s.syntaxError(i, "expected "+what+", got "+s.describe(i))
}

// unexpected fails because of the input at i.
func (s *scanner) unexpected(i int, where string) int {
	return s.syntaxError(i, "unexpected "+s.describe(i)+" "+where)
}

func (s *scanner) describe(i int) string {
	if i >= len(s.data) {
		return "end of input"
	}
	return clipQuoted(s.data[i : i+1])
}

func (s *scanner) syntaxError(i int, msg string) int {
	s.err = &Error{Syntax, i, msg}
	return failed
}

// scanString returns where the string that begins at data[i] ends, or failed, and whether it contains
// an escape. It processes eight bytes at a time.
func scanString(data []byte, i int) (end int, escaped bool) {
	const ones = 0x0101010101010101
	const high = 0x80 * ones
	for i++; ; {
		for ; len(data)-i >= 8; i += 8 {
			w := binary.LittleEndian.Uint64(data[i:])
			// Flipping bit 1 turns a quote into a space, and keeps control characters below a space.
			quote, backslash := w^('"'-' ')*ones, w^'\\'*ones
			// The lowest high bit that is set marks the first byte that is special. Higher ones may be
			// wrong.
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

// explainString sets the error of the invalid string that begins at i.
func (s *scanner) explainString(i int) int {
	for i++; i < len(s.data); {
		r, n := utf8.DecodeRune(s.data[i:])
		switch {
		case r == '\\':
			if n = escapeLen(s.data[i:]); n == 0 {
				return s.syntaxError(i, "invalid escape in a string")
			}
		case r < ' ':
			return s.syntaxError(i, "control character in a string")
		case r == utf8.RuneError && n == 1:
			return s.syntaxError(i, "invalid UTF-8 in a string")
		}
		i += n
	}
	return s.unexpected(i, "inside a string")
}

// escapeLen returns the length of the escape at the start of b, or 0 if it is invalid.
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
		if _, ok := parseHex4(b[2:6]); !ok {
			return 0
		}
		return 6
	}
	return 0
}

// maxStackKeys limits the keys of nested objects in a keyStack. Further keys are hashed.
const maxStackKeys = 32

// A keyStack holds the keys of the objects that are being parsed, those of the innermost object on top.
// It is allocated on the goroutine's stack.
type keyStack struct {
	keys [maxStackKeys][]byte
	n    int
}

// A keySet holds the keys of one object: those in the keyStack from base on, or in hashed.
type keySet struct {
	base   int
	hashed map[string]struct{}
}

// add adds a key to the set, and reports whether it is new.
func (s *keyStack) add(k *keySet, key []byte) bool {
	const few = 8 // up to this number, comparing all keys is faster than hashing
	have := s.keys[k.base:s.n]
	if k.hashed == nil && s.n < maxStackKeys && len(have) < few {
		for _, other := range have {
			if string(other) == string(key) {
				return false
			}
		}
		s.keys[s.n] = key
		s.n++
		return true
	}
	if k.hashed == nil {
		k.hashed = make(map[string]struct{}, 2*few)
		for _, other := range have {
			k.hashed[string(other)] = struct{}{}
		}
	}
	if _, ok := k.hashed[string(key)]; ok {
		return false
	}
	k.hashed[string(key)] = struct{}{}
	return true
}

// Members is a faster [Object] for data that [Check] accepts, such as a value from [Object]. It may
// panic on other input. For a value that is not an object it returns a [*TypeError].
func Members(data []byte, member func(key, value []byte) error) error {
	_, err := members(data, skipSpace(data, 0), func(key []byte, at int) (int, error) {
		end := skip(data, at)
		return end, member(key, data[at:end])
	})
	return err
}

// Member returns the value of a member of object, or nil if the member does not exist or object is not
// an object. Like [Members], it requires valid JSON or nil.
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

// Elements is a faster [Array] for data that [Check] accepts. It may panic on other input. For a value
// that is not an array it returns a [*TypeError].
func Elements(data []byte, element func(value []byte) error) error {
	_, err := elements(data, skipSpace(data, 0), func(at int) (int, error) {
		end := skip(data, at)
		return end, element(data[at:end])
	})
	return err
}

// members calls member for each member of the valid object at data[i], with the key and the position
// of the value. member returns where the value ends.
func members(data []byte, i int, member func(key []byte, at int) (int, error)) (int, error) {
	if data[i] != '{' {
		return i, typeMismatch("an object", data[i:])
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
		return i, typeMismatch("an array", data[i:])
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

// skip returns where the valid value at data[i] ends.
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
			return len(data) // invalid JSON
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
