package strictjson

import "fmt"

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

// value reads one value of any kind.
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
	seen := s.openKeys()
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
			s.closeKeys(seen)
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

// digits reads one digit or more.
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
