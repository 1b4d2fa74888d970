package mcpconfig

import (
	"errors"
	"fmt"
	"strings"
)

// maxNested is how many defaults may stand inside each other.
const maxNested = 32

// errSubstitution is the answer to a command inside of a value.
var errSubstitution = errors.New("it has a command to run in it, $(…) or backquotes, and that is not done here; put what the command prints into an environment variable, or write \\$ for a dollar sign")

// expandShell fills in the variables of a text as a shell does in a here-document: quotes are text, words are not split, and a
// backslash takes the meaning from $, ` and \ and joins lines. Known are $NAME and, in braces, what a shell has for a variable that is
// not set:
//
//	${NAME}           its value, or nothing if it is not set
//	${NAME:-default}  the default if it is not set or empty
//	${NAME-default}   the default if it is not set
//	${NAME:+other}    nothing if it is not set or empty, otherwise the other
//	${NAME+other}     nothing if it is not set, otherwise the other
//	${NAME:?message}  an error if it is not set or empty
//	${NAME?message}   an error if it is not set
//
// Defaults may hold variables in turn. All else that a shell would do something about is an error: commands above all.
func expandShell(text string, lookup func(string) (string, bool)) (string, error) {
	s := shellText{rest: text, lookup: lookup}
	return s.until("", true)
}

// A shellText is what is left to read of a text. Two of its methods call each other, for what is nested.
type shellText struct {
	rest   string
	lookup func(string) (string, bool)
	depth  int
	length int // of all that was filled in
}

// until reads up to end, which it takes, or to the end of the text if end is "". What is not wanted is read, and not looked up.
func (s *shellText) until(end string, wanted bool) (string, error) {
	var b strings.Builder
	for s.rest != "" {
		c := s.rest[0]
		if end != "" && c == end[0] {
			s.rest = s.rest[1:]
			return b.String(), nil
		}
		switch c {
		case '\\':
			s.escape(&b)
		case '`':
			return "", errSubstitution
		case '$':
			value, err := s.dollar(wanted)
			if err != nil {
				return "", err
			}
			if s.length += len(value); s.length > maxValue {
				return "", errTooLong
			}
			b.WriteString(value)
		case '"', '\'':
			if end != "" {
				return "", errors.New("it has a quote inside of ${…}; leave it out, the text ends at the brace")
			}
			fallthrough
		default:
			b.WriteByte(c)
			s.rest = s.rest[1:]
		}
	}
	if end != "" {
		return "", errors.New("it has a ${ without its }; write \\$ for a dollar sign")
	}
	return b.String(), nil
}

// escape reads a backslash and what it stands before.
func (s *shellText) escape(b *strings.Builder) {
	switch {
	case len(s.rest) > 1 && strings.ContainsRune("$`\\", rune(s.rest[1])), s.depth > 0 && strings.HasPrefix(s.rest, `\}`):
		b.WriteByte(s.rest[1])
		s.rest = s.rest[2:]
	case strings.HasPrefix(s.rest, "\\\n"):
		s.rest = s.rest[2:]
	default:
		b.WriteByte('\\')
		s.rest = s.rest[1:]
	}
}

// dollar reads a dollar sign and what belongs to it.
func (s *shellText) dollar(wanted bool) (string, error) {
	s.rest = s.rest[1:]
	if n := nameLength(s.rest); n > 0 {
		name := s.rest[:n]
		s.rest = s.rest[n:]
		if !wanted {
			return "", nil
		}
		value, _ := s.lookup(name)
		return value, nil
	}
	switch {
	case strings.HasPrefix(s.rest, "{"):
		s.rest = s.rest[1:]
		return s.braces(wanted)
	case strings.HasPrefix(s.rest, "("):
		return "", errSubstitution
	case s.rest != "" && strings.ContainsRune("0123456789@*#?!-$", rune(s.rest[0])):
		return "", fmt.Errorf("it has $%c in it, which a shell reads as a parameter of its own; write \\$ for a dollar sign", s.rest[0])
	}
	return "$", nil
}

// braces reads what follows ${.
func (s *shellText) braces(wanted bool) (string, error) {
	if s.depth++; s.depth > maxNested {
		return "", fmt.Errorf("it has more than %d ${…} inside each other", maxNested)
	}
	defer func() { s.depth-- }()
	n := nameLength(s.rest)
	name := s.rest[:n]
	s.rest = s.rest[n:]
	rest, colon := strings.CutPrefix(s.rest, ":")
	if n == 0 || rest == "" || !strings.ContainsRune("}-+?", rune(rest[0])) || colon && rest[0] == '}' {
		return "", errors.New("it has a ${…} of a form that is not known here; write ${NAME} or ${NAME:-default}, or \\$ for a dollar sign")
	}
	s.rest = rest[1:]
	var value string
	var set bool
	if wanted {
		value, set = s.lookup(name)
	}
	there := set && (value != "" || !colon)
	switch rest[0] {
	case '-':
		other, err := s.until("}", wanted && !there)
		if there || err != nil {
			return value, err
		}
		return other, nil
	case '+':
		other, err := s.until("}", wanted && there)
		if !there {
			other = ""
		}
		return other, err
	case '?':
		message, err := s.until("}", false) // without the values of variables
		if wanted && !there && err == nil {
			err = missing(name, set, message)
		}
		return value, err
	}
	return value, nil
}

// missing is the error that ${name:?message} asks for.
func missing(name string, set bool, message string) error {
	is := "not set"
	if set {
		is = "empty"
	}
	if message == "" {
		message = "set it in the environment"
	}
	return fmt.Errorf("${%s} is %s: %s", name, is, message)
}
