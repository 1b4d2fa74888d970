package strictjson

import (
	"fmt"
	"unicode/utf8"
)

// MaxDepth is how many arrays and objects may stand inside each other.
const MaxDepth = 256

// Check reports whether data is exactly one JSON value, white space around it
// allowed, that keeps all rules of this package. The error is an [*Error].
func Check(data []byte) error {
	s := scanner{data: data}
	return s.whole(s.value)
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
	return s.whole(func() error { return s.object(member) })
}

// Array reads data, which must be one JSON array, and calls element for each
// of its elements in order. Errors are as in [Object].
func Array(data []byte, element func(value []byte) error) error {
	s := scanner{data: data}
	return s.whole(func() error { return s.array(element) })
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

// A scanner is one pass over data. It stops at the first syntax error; a
// duplicate key is kept in dup and does not stop it.
type scanner struct {
	data  []byte
	pos   int
	depth int
	dup   *Error
}

// whole runs read over all of data and reports what is left over, if anything.
func (s *scanner) whole(read func() error) error {
	s.space()
	if err := read(); err != nil {
		return err
	}
	s.space()
	if s.pos < len(s.data) {
		return s.unexpected("after the value")
	}
	if s.dup != nil {
		return s.dup
	}
	return nil
}

// value reads one value of any kind; the scanner stands at its first byte.
func (s *scanner) value() error {
	if s.pos >= len(s.data) {
		return s.unexpected("where a value should stand")
	}
	switch c := s.data[s.pos]; {
	case c == '"':
		_, err := s.str()
		return err
	case c == '{':
		return s.object(nil)
	case c == '[':
		return s.array(nil)
	case c == '-' || '0' <= c && c <= '9':
		return s.number()
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == 'n':
		return s.literal("null")
	}
	return s.unexpected("where a value should stand")
}

func (s *scanner) object(member func(key, value []byte) error) error {
	if err := s.open('{', "an object"); err != nil {
		return err
	}
	var seen keySet
	if s.accept('}') {
		return nil
	}
	for {
		at := s.pos
		if s.pos >= len(s.data) || s.data[s.pos] != '"' {
			return s.unexpected("where a key should stand")
		}
		key, err := s.key()
		if err != nil {
			return err
		}
		if !seen.add(key) && s.dup == nil {
			s.dup = &Error{Duplicate, at, "duplicate key " + quoteShort(key)}
		}
		s.space()
		if !s.accept(':') {
			return s.unexpected("where a colon should stand")
		}
		start := s.pos
		if err := s.value(); err != nil {
			return err
		}
		if member != nil {
			if err := member(key, s.data[start:s.pos]); err != nil {
				return err
			}
		}
		s.space()
		if s.accept(',') {
			continue
		}
		if s.accept('}') {
			return nil
		}
		return s.unexpected("where a comma or a brace should stand")
	}
}

func (s *scanner) array(element func(value []byte) error) error {
	if err := s.open('[', "an array"); err != nil {
		return err
	}
	if s.accept(']') {
		return nil
	}
	for {
		start := s.pos
		if err := s.value(); err != nil {
			return err
		}
		if element != nil {
			if err := element(s.data[start:s.pos]); err != nil {
				return err
			}
		}
		s.space()
		if s.accept(',') {
			continue
		}
		if s.accept(']') {
			return nil
		}
		return s.unexpected("where a comma or a bracket should stand")
	}
}

// open goes one level down, past the opening byte and the space behind it.
func (s *scanner) open(bracket byte, what string) error {
	if s.pos >= len(s.data) || s.data[s.pos] != bracket {
		return s.unexpected("where " + what + " should stand")
	}
	if s.depth >= MaxDepth {
		return &Error{Depth, s.pos, fmt.Sprintf("nested deeper than %d levels", MaxDepth)}
	}
	s.depth++
	s.pos++
	s.space()
	return nil
}

// accept takes c if it is next. After a comma or a colon the space behind it goes
// too; a closing bracket ends its level.
func (s *scanner) accept(c byte) bool {
	if s.pos >= len(s.data) || s.data[s.pos] != c {
		return false
	}
	s.pos++
	if c == '}' || c == ']' {
		s.depth--
		return true
	}
	s.space()
	return true
}

// key reads a string and returns it unescaped.
func (s *scanner) key() ([]byte, error) {
	start := s.pos
	escaped, err := s.str()
	if err != nil {
		return nil, err
	}
	raw := s.data[start:s.pos]
	if escaped {
		return appendUnescaped(nil, raw[1:len(raw)-1]), nil
	}
	return raw[1 : len(raw)-1], nil
}

// str reads a string and tells whether it holds an escape.
func (s *scanner) str() (escaped bool, err error) {
	data, i := s.data, s.pos+1
	for i < len(data) {
		switch c := data[i]; {
		case c == '"':
			s.pos = i + 1
			return escaped, nil
		case c == '\\':
			escaped = true
			n := escapeLen(data[i:])
			if n == 0 {
				s.pos = i
				return false, s.fault("invalid escape in a string")
			}
			i += n
		case c < ' ':
			s.pos = i
			return false, s.fault("control character in a string")
		case c < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && n == 1 {
				s.pos = i
				return false, s.fault("invalid UTF-8 in a string")
			}
			i += n
		}
	}
	s.pos = len(data)
	return false, s.unexpected("inside a string")
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

func (s *scanner) number() error {
	s.take('-')
	if !s.take('0') && !s.digits() {
		return s.unexpected("where a digit should stand")
	}
	if s.take('.') && !s.digits() {
		return s.unexpected("where a digit should stand")
	}
	if s.take('e') || s.take('E') {
		if !s.take('+') {
			s.take('-')
		}
		if !s.digits() {
			return s.unexpected("where a digit should stand")
		}
	}
	return nil
}

func (s *scanner) take(c byte) bool {
	if s.pos < len(s.data) && s.data[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.data) && '0' <= s.data[s.pos] && s.data[s.pos] <= '9' {
		s.pos++
	}
	return s.pos > start
}

func (s *scanner) literal(word string) error {
	for i := range len(word) {
		if s.pos >= len(s.data) || s.data[s.pos] != word[i] {
			return s.unexpected("inside " + word)
		}
		s.pos++
	}
	return nil
}

func (s *scanner) space() {
	for s.pos < len(s.data) && isSpace(s.data[s.pos]) {
		s.pos++
	}
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t'
}

// unexpected is the error for the byte, or the end, that the scanner stands at.
func (s *scanner) unexpected(where string) error {
	if s.pos >= len(s.data) {
		return s.fault("the input ends " + where)
	}
	return s.fault("unexpected " + quoteShort(s.data[s.pos:s.pos+1]) + " " + where)
}

func (s *scanner) fault(msg string) error {
	return &Error{Syntax, s.pos, msg}
}
