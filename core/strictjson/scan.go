package strictjson

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// MaxDepth is the maximum nesting depth of arrays and objects.
const MaxDepth = 256

// Check returns an [*Error] unless data is exactly one JSON value, with optional white space around
// it, that follows all rules of this package.
func Check(data []byte) error {
	s := scanner{data: data}
	return s.finish(s.value(s.space(0)))
}

// Object parses data, which must be one JSON object, and calls member for each of its members in
// order, with the unescaped key and the raw value. member must not modify the slices; value is part
// of data. If member returns an error, Object stops and returns it.
//
// If data is malformed, Object calls member for the members before the syntax error. It returns the
// error of a duplicate key, at any depth, only after the last member.
func Object(data []byte, member func(key, value []byte) error) error {
	return split(data, '{', "an object", member)
}

// Array parses data, which must be one JSON array, and calls element for each of its elements in
// order. Errors are as in [Object].
func Array(data []byte, element func(value []byte) error) error {
	return split(data, '[', "an array", func(_, value []byte) error { return element(value) })
}

// Ends are the positions where the first members of an object end, relative to its start. 0 means
// that the position is not known.
type Ends [4]int

// ObjectEnds is [Object]. It also passes the ends of each value that is an object to member. With
// them, [MembersAt] finds the members of the value without a second pass.
func ObjectEnds(data []byte, member func(key, value []byte, ends Ends) error) error {
	s := scanner{data: data, wantsEnds: true}
	return s.split('{', "an object", func(key, value []byte) error { return member(key, value, s.ends) })
}

func split(data []byte, first byte, kind string, visit func(key, value []byte) error) error {
	s := scanner{data: data}
	return s.split(first, kind, visit)
}

func (s *scanner) split(first byte, kind string, visit func(key, value []byte) error) error {
	i := s.space(0)
	if s.at(i) != first {
		return s.finish(s.expected(i, kind))
	}
	return s.finish(s.container(i, visit))
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

// A scanner parses data in one pass. Its methods take the position where something begins, and
// return the position where it ends, or failed. A syntax error stops the scanner. A duplicate key
// does not; it is kept in dup.
type scanner struct {
	data  []byte
	depth int
	err   error
	dup   *Error

	wantsEnds bool
	ends      Ends // of the last value in the outermost object
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
		end, _, problem := scanString(s.data, i)
		if problem != "" {
			return s.syntaxError(end, problem)
		}
		return end
	case c == '{' || c == '[':
		return s.container(i, nil)
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

// container parses the object or array at i. It calls visit, which may be nil, for each member or
// element. The key of an element is nil.
func (s *scanner) container(i int, visit func(key, value []byte) error) int {
	if s.depth >= MaxDepth {
		s.err = &Error{Depth, i, fmt.Sprintf("nested deeper than %d levels", MaxDepth)}
		return failed
	}
	s.depth++
	origin, isObject, closing := i, s.data[i] == '{', s.data[i]+2 // } or ], in ASCII
	if i = s.space(i + 1); s.at(i) == closing {
		s.depth--
		return i + 1
	}
	var seen keySet
	keepsEnds := s.wantsEnds && s.depth == 2
	if keepsEnds {
		s.ends = Ends{}
	}
	for n := 0; ; n++ {
		var key []byte
		if isObject {
			if key, i = s.key(i, &seen); i == failed {
				return failed
			}
		}
		start := i
		if i = s.value(start); i == failed {
			return failed
		}
		if keepsEnds && n < len(s.ends) {
			s.ends[n] = i - origin
		}
		if visit != nil {
			if s.err = visit(key, s.data[start:i]); s.err != nil {
				return failed
			}
		}
		i = s.space(i)
		switch s.at(i) {
		case ',':
			i = s.space(i + 1)
		case closing:
			s.depth--
			return i + 1
		default:
			return s.expected(i, "a comma or "+string(closing))
		}
	}
}

// key parses the key at i, and returns it with the position of its value, or failed.
func (s *scanner) key(i int, seen *keySet) ([]byte, int) {
	if s.at(i) != '"' {
		return nil, s.expected(i, "a key")
	}
	end, escaped, problem := scanString(s.data, i)
	if problem != "" {
		return nil, s.syntaxError(end, problem)
	}
	key := s.data[i+1 : end-1]
	if escaped {
		key = appendUnescaped(nil, key)
	}
	if !seen.add(key) && s.dup == nil {
		s.dup = &Error{Duplicate, i, "duplicate key " + clipQuoted(key)}
	}
	if i = s.space(end); s.at(i) != ':' {
		return nil, s.expected(i, "a colon")
	}
	return key, s.space(i + 1)
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

// scanString returns where the string that begins at data[i] ends, and whether it contains an
// escape. If the string is invalid, it returns the position of the problem. It processes eight
// bytes at a time.
func scanString(data []byte, i int) (end int, escaped bool, problem string) {
	const ones = 0x0101010101010101
	const high = 0x80 * ones
	for i++; ; {
		for ; len(data)-i >= 8; i += 8 {
			w := binary.LittleEndian.Uint64(data[i:])
			// Flipping bit 1 turns a quote into a space, and keeps control characters below a
			// space.
			quote, backslash := w^('"'-' ')*ones, w^'\\'*ones
			// The lowest high bit that is set marks the first byte that is special. Higher ones may
			// be wrong.
			if other := (w | (quote - (' '+1)*ones) | (backslash - ones)) & high; other != 0 {
				i += bits.TrailingZeros64(other) / 8
				break
			}
		}
		if i >= len(data) {
			return i, false, "unexpected end of input inside a string"
		}
		switch c := data[i]; {
		case c == '"':
			return i + 1, escaped, ""
		case c == '\\':
			escaped = true
			n := escapeLen(data[i:])
			if n == 0 {
				return i, false, "invalid escape in a string"
			}
			i += n
		case c < ' ':
			return i, false, "control character in a string"
		case c < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && n == 1 {
				return i, false, "invalid UTF-8 in a string"
			}
			i += n
		}
	}
}

// escapeLen returns the length of the escape at the start of b, or 0 if it is invalid.
func escapeLen(b []byte) int {
	if len(b) >= 2 && strings.IndexByte(`"\/bfnrt`, b[1]) >= 0 {
		return 2
	}
	if len(b) >= 6 && b[1] == 'u' {
		if _, ok := parseHex4(b[2:6]); ok {
			return 6
		}
	}
	return 0
}

// A keySet holds the keys of one object. Comparing with a few keys is faster than hashing, and
// keeps them on the stack.
type keySet struct {
	few    [8][]byte
	n      int // length of few
	hashed map[string]bool
}

// add adds a key, and reports whether it is new.
func (s *keySet) add(key []byte) bool {
	for _, other := range s.few[:s.n] {
		if string(other) == string(key) {
			return false
		}
	}
	if s.n < len(s.few) {
		s.few[s.n] = key
		s.n++
		return true
	}
	if s.hashed == nil {
		s.hashed = make(map[string]bool)
	}
	size := len(s.hashed)
	s.hashed[string(key)] = true
	return len(s.hashed) > size
}

// Members is a faster [Object] for data that [Check] accepts, such as a value from [Object]. It may
// panic on other input. For a value that is not an object it returns a [*TypeError].
func Members(data []byte, member func(key, value []byte) error) error {
	return MembersAt(data, &Ends{}, member)
}

// MembersAt is [Members] for an object whose ends [ObjectEnds] has found. It does not look into the
// values.
func MembersAt(data []byte, ends *Ends, member func(key, value []byte) error) error {
	i := skipSpace(data, 0)
	if data[i] != '{' {
		return typeMismatch("an object", data)
	}
	n := 0
	_, err := walk(data, i, func(key []byte, at int) (int, error) {
		end := 0
		if n < len(ends) {
			end = ends[n]
		}
		if n++; end == 0 {
			end = skip(data, at)
		}
		return end, member(key, data[at:end])
	})
	return err
}

// Member returns the value of a member of object, or nil if the member does not exist or object is
// not an object. Like [Members], it requires valid JSON or nil.
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

// Elements is a faster [Array] for data that [Check] accepts. It may panic on other input. For a
// value that is not an array it returns a [*TypeError].
func Elements(data []byte, element func(value []byte) error) error {
	i := skipSpace(data, 0)
	if data[i] != '[' {
		return typeMismatch("an array", data)
	}
	_, err := walk(data, i, func(_ []byte, at int) (int, error) {
		end := skip(data, at)
		return end, element(data[at:end])
	})
	return err
}

// walk calls visit for each member or element of the valid object or array at data[i], with the
// key, or nil, and the position of the value. visit returns where the value ends.
func walk(data []byte, i int, visit func(key []byte, at int) (int, error)) (int, error) {
	isObject := data[i] == '{'
	if i = skipSpace(data, i+1); data[i] == '}' || data[i] == ']' {
		return i + 1, nil
	}
	for {
		var key []byte
		if isObject {
			end := skipString(data, i)
			key = data[i+1 : end-1]
			if bytes.IndexByte(key, '\\') >= 0 {
				key = appendUnescaped(nil, key)
			}
			i = skipSpace(data, skipSpace(data, end)+1) // after the colon
		}
		var err error
		if i, err = visit(key, i); err != nil {
			return i, err
		}
		if i = skipSpace(data, i); data[i] != ',' {
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
