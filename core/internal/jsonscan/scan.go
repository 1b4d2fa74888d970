// Package jsonscan scans JSON. It implements package strictjson, whose rules it follows, and adds
// what only the packages of core need: the positions of members, with which a second pass over a
// message does not look into its values.
package jsonscan

import (
	"fmt"
	"strconv"
)

// A Kind is a kind of invalid input.
type Kind int

const (
	// Syntax is input that is not valid JSON or not valid UTF-8.
	Syntax Kind = iota + 1
	// Depth is a value nested deeper than [MaxDepth].
	Depth
	// Duplicate is a duplicate key in an object.
	Duplicate
)

// An Error means that the input is invalid for any Go type.
type Error struct {
	Kind   Kind
	Offset int // in bytes
	Msg    string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s at byte %d", e.Msg, e.Offset)
}

// MaxDepth is the maximum nesting depth of arrays and objects.
const MaxDepth = 256

// Check returns an [*Error] unless data is exactly one JSON value, with optional white space around
// it.
func Check(data []byte) error {
	s := scanner{data: data}
	return s.finish(s.value(s.space(0)))
}

// Object checks data, which must be one object, and calls member for each of its members, with the
// ends of a value that is an object. It returns the error of a duplicate key after the last member.
func Object(data []byte, member func(key, value []byte, ends Ends) error) error {
	s := scanner{data: data, wantsEnds: true}
	return s.split('{', "an object", func(key, value []byte) error { return member(key, value, s.ends) })
}

// Array checks data, which must be one array, and calls element for each of its elements. Errors
// are as in [Object].
func Array(data []byte, element func(value []byte) error) error {
	s := scanner{data: data}
	return s.split('[', "an array", func(_, value []byte) error { return element(value) })
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

// split calls visit for each member or element of the object or array, which begins with first.
func (s *scanner) split(first byte, kind string, visit func(key, value []byte) error) error {
	i := s.space(0)
	if s.at(i) != first {
		return s.finish(s.expected(i, kind))
	}
	return s.finish(s.container(i, visit))
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
		s.dup = &Error{Duplicate, i, "duplicate key " + strconv.Quote(Clip(string(key), 40))}
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

func (s *scanner) space(i int) int { return SkipSpace(s.data, i) }

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
	return strconv.Quote(string(s.data[i : i+1]))
}

func (s *scanner) syntaxError(i int, msg string) int {
	s.err = &Error{Syntax, i, msg}
	return failed
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
