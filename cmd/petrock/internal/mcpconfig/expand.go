package mcpconfig

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// maxValue is the maximum length of expanded texts, in bytes. No program can be started with more.
const maxValue = 1 << 20

// An expander expands the variables of a text. References that the client does not know are errors,
// or stay unchanged with keepUnknown. That is for arguments of programs, which can be scripts with
// their own variables.
type expander func(text string, keepUnknown bool) (string, error)

var (
	errTooLong = fmt.Errorf("longer than %d bytes after expanding variables", maxValue)
	errNUL     = errors.New("contains a NUL byte, which cannot be passed to a program")
)

// expandBraces replaces each ${body} with the result of value. A ${ without a } is text.
func expandBraces(text string, value func(body string) (string, error)) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		body, after, closed := strings.Cut(rest, "}")
		if !found || !closed {
			b.WriteString(text)
			return b.String(), nil
		}
		filled, err := value(body)
		if err != nil {
			return "", err
		}
		b.WriteString(before)
		b.WriteString(filled)
		if b.Len() > maxValue {
			return "", errTooLong
		}
		text = after
	}
}

// unknown expands a reference that the client does not know: to itself with keepUnknown, and
// otherwise to an error with the remedy.
func unknown(body string, keepUnknown bool, remedy string) (string, error) {
	if keepUnknown {
		return "${" + body + "}", nil
	}
	return "", fmt.Errorf("unknown variable %s; %s", reference(body), remedy)
}

// reference returns ${body} for an error. It hides a body that is not a name, because it can be a
// secret.
func reference(body string) string {
	for _, c := range []byte(body) {
		if !isNameByte(c) && !strings.ContainsRune(":./-", rune(c)) {
			return "${…}"
		}
	}
	if len(body) > 64 {
		return "${…}"
	}
	return "${" + body + "}"
}

func notSet(reference, remedy string) error {
	return errors.New(reference + " is not set; set it in the environment, or " + remedy)
}

// isName reports whether text is a valid variable name.
func isName(text string) bool { return text != "" && nameLength(text) == len(text) }

// nameLength returns the length of the variable name at the beginning of text.
func nameLength(text string) int {
	n := 0
	for n < len(text) && isNameByte(text[n]) && (n > 0 || text[0] > '9') {
		n++
	}
	return n
}

func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}

// parseDotenv parses a file of environment variables as editors do, line by line:
//
//	# a comment
//	NAME=value            # another comment
//	export NAME = value
//	NAME: value
//	NAME="with # and \n"  # \n and \r are line breaks
//	NAME='literal'        # likewise between backquotes
//
// Variables in values are not expanded. If a name occurs twice, the last line takes precedence. The
// error has the number of the line, but not its text.
func parseDotenv(text []byte) (map[string]string, error) {
	vars := make(map[string]string)
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(text)), "\n")
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, err := parseVariable(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		vars[name] = value
	}
	return vars, nil
}

// parseVariable parses a line that is neither empty nor a comment.
func parseVariable(line string) (name, value string, err error) {
	if rest, ok := strings.CutPrefix(line, "export "); ok {
		line = rest
	}
	at := strings.IndexAny(line, "=:")
	if at < 0 {
		return "", "", errors.New("missing =; write NAME=value, or # before a comment")
	}
	name = strings.TrimSpace(line[:at])
	if name == "" || strings.ContainsAny(name, " \t\"'`#\x00") {
		return "", "", fmt.Errorf("not a valid variable name before %q", line[at:at+1])
	}
	if strings.ContainsRune(line, 0) {
		return "", "", errNUL
	}
	value, err = unquoteValue(strings.TrimSpace(line[at+1:]))
	return name, value, err
}

// unquoteValue removes the quotes and the comment of a value.
func unquoteValue(text string) (string, error) {
	if text == "" || !strings.ContainsRune("\"'`", rune(text[0])) {
		value, _, _ := strings.Cut(text, "#")
		return strings.TrimSpace(value), nil
	}
	quote := text[0]
	end := 1
	for end < len(text) && (text[end] != quote || text[end-1] == '\\') {
		end++
	}
	if end == len(text) && end > 1 && text[end-1] == quote {
		end-- // a backslash is the last character of the value
	}
	if end == len(text) {
		return "", fmt.Errorf("missing closing %c; for a line break write \\n between double quotes", quote)
	}
	if rest := strings.TrimSpace(text[end+1:]); rest != "" && rest[0] != '#' {
		return "", fmt.Errorf("text after the closing %c; put the whole value between other quotes", quote)
	}
	value := text[1:end]
	if quote == '"' {
		value = strings.NewReplacer(`\n`, "\n", `\r`, "\r").Replace(value)
	}
	return value, nil
}

// maxNested is the maximum depth of nested defaults.
const maxNested = 32

var errSubstitution = errors.New("petrock does not run commands in $(…) or backquotes; put the output of the command into an environment variable, or write \\$ for a dollar sign")

// expandShell expands variables as a shell does in a here-document: quotes are text, words are not
// split, and a backslash escapes $, ` and \ and joins lines. It expands $NAME and
//
//	${NAME}           its value, or nothing if it is not set
//	${NAME:-default}  the default if it is not set or empty
//	${NAME-default}   the default if it is not set
//	${NAME:+other}    nothing if it is not set or empty, otherwise the other
//	${NAME+other}     nothing if it is not set, otherwise the other
//	${NAME:?message}  an error if it is not set or empty
//	${NAME?message}   an error if it is not set
//
// Defaults may contain variables. Commands and all other expansions of the shell are errors.
func expandShell(text string, lookup func(string) (string, bool)) (string, error) {
	s := shellText{rest: text, lookup: lookup}
	return s.until("", true)
}

// A shellText is a recursive-descent parser for expandShell.
type shellText struct {
	rest   string
	lookup func(string) (string, bool)
	depth  int
	length int // of all values
}

// until reads up to and including end, or to the end of the text if end is "". It looks up
// variables only if evaluate is set.
func (s *shellText) until(end string, evaluate bool) (string, error) {
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
			value, err := s.dollar(evaluate)
			if err != nil {
				return "", err
			}
			if s.length += len(value); s.length > maxValue {
				return "", errTooLong
			}
			b.WriteString(value)
		case '"', '\'':
			if end != "" {
				return "", errors.New("quotes inside ${…} are not supported; remove them")
			}
			fallthrough
		default:
			b.WriteByte(c)
			s.rest = s.rest[1:]
		}
	}
	if end != "" {
		return "", errors.New("${ without }; write \\$ for a dollar sign")
	}
	return b.String(), nil
}

// escape reads a backslash and the character that it escapes.
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

// dollar reads a dollar sign and the reference after it.
func (s *shellText) dollar(evaluate bool) (string, error) {
	s.rest = s.rest[1:]
	if n := nameLength(s.rest); n > 0 {
		name := s.rest[:n]
		s.rest = s.rest[n:]
		if !evaluate {
			return "", nil
		}
		value, _ := s.lookup(name)
		return value, nil
	}
	switch {
	case strings.HasPrefix(s.rest, "{"):
		s.rest = s.rest[1:]
		return s.braces(evaluate)
	case strings.HasPrefix(s.rest, "("):
		return "", errSubstitution
	case s.rest != "" && strings.ContainsRune("0123456789@*#?!-$", rune(s.rest[0])):
		return "", fmt.Errorf("$%c is a special parameter of the shell; write \\$ for a dollar sign", s.rest[0])
	}
	return "$", nil
}

// braces reads the rest of a reference after ${.
func (s *shellText) braces(evaluate bool) (string, error) {
	if s.depth++; s.depth > maxNested {
		return "", fmt.Errorf("more than %d nested ${…}", maxNested)
	}
	defer func() { s.depth-- }()
	n := nameLength(s.rest)
	name := s.rest[:n]
	s.rest = s.rest[n:]
	rest, colon := strings.CutPrefix(s.rest, ":")
	if n == 0 || rest == "" || !strings.ContainsRune("}-+?", rune(rest[0])) || colon && rest[0] == '}' {
		return "", errors.New("unsupported form of ${…}; write ${NAME} or ${NAME:-default}, or \\$ for a dollar sign")
	}
	s.rest = rest[1:]
	var value string
	var set bool
	if evaluate {
		value, set = s.lookup(name)
	}
	usable := set && (value != "" || !colon)
	switch rest[0] {
	case '-':
		other, err := s.until("}", evaluate && !usable)
		if usable || err != nil {
			return value, err
		}
		return other, nil
	case '+':
		other, err := s.until("}", evaluate && usable)
		if !usable {
			other = ""
		}
		return other, err
	case '?':
		message, err := s.until("}", false) // without the values of variables
		if evaluate && !usable && err == nil {
			err = missing(name, set, message)
		}
		return value, err
	}
	return value, nil
}

// missing returns the error of ${name:?message}.
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
