package jsonrpc

import (
	"bytes"

	"github.com/petrock/petrock/core/strictjson"
)

// An envelopeScanner finds the id and the kind of a message that is too large or not valid JSON. It
// takes the message in pieces of any size and uses constant memory.
type envelopeScanner struct {
	depth   int
	quoted  bool // inside a string
	escaped bool // after a backslash
	inValue bool // after the colon of a top-level member

	key, value   []byte // of that member, up to longestKey and longestID
	id           []byte
	ids          int
	hasMethod    bool
	methodIsText bool // the method is a string
	hasResult    bool // the message has a result or an error
}

const (
	longestKey = len(`"method"`) * len(`\u0000`) // every letter may be escaped
	longestID  = 256
)

// feed scans the next piece of the message.
func (s *envelopeScanner) feed(data []byte) {
	if s.key == nil {
		s.key, s.value = make([]byte, 0, longestKey+1), make([]byte, 0, longestID+1)
	}
	for _, c := range data {
		s.step(c)
	}
}

// step scans one byte. Outside of strings, only brackets, commas and colons matter: it collects the
// keys and the starts of the values at the top level.
func (s *envelopeScanner) step(c byte) {
	switch {
	case s.quoted:
		s.quoted = c != '"' || s.escaped
		s.escaped = c == '\\' && !s.escaped
	case c == '"':
		s.quoted = true
	case c == '{' || c == '[':
		if s.depth++; s.depth == 1 {
			return
		}
	case c == '}' || c == ']':
		if s.depth--; s.depth == 0 {
			s.endMember()
			return
		}
	case c == ',' && s.depth == 1:
		s.endMember()
		return
	case c == ':' && s.depth == 1:
		s.inValue = true
		return
	case c <= ' ':
		return
	}
	switch {
	case s.depth < 1:
	case s.inValue && len(s.value) <= longestID:
		s.value = append(s.value, c)
	case !s.inValue && len(s.key) <= longestKey:
		s.key = append(s.key, c)
	}
}

// endMember evaluates the member at the top level that has just ended.
func (s *envelopeScanner) endMember() {
	key := ""
	if s.inValue {
		key, _ = strictjson.Unquote(s.key)
	}
	switch key {
	case "id":
		s.ids++
		s.id = append(s.id[:0], s.value...)
	case "method":
		s.hasMethod = true
		s.methodIsText = s.methodIsText || bytes.HasPrefix(s.value, []byte{'"'})
	case "result", "error":
		s.hasResult = true
	}
	s.key, s.value, s.inValue = s.key[:0], s.value[:0], false
}

// fault returns the kind of the message, and its id if it has exactly one that is valid.
func (s *envelopeScanner) fault() MessageError {
	s.endMember() // if the message ends early
	f := MessageError{
		Response:     s.hasResult && !s.hasMethod,
		Notification: s.methodIsText && s.ids == 0,
	}
	if s.ids == 1 && len(s.id) <= longestID {
		f.ID, _ = ParseID(s.id)
	}
	return f
}
