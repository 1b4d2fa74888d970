package mcpconfig

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// maxValue is how long a text may get by what is filled in to it, in bytes: no program can be started with more.
const maxValue = 1 << 20

// An expander fills in the variables of a text. A free text is an argument of a program, which may be a script
// with variables of its own: what is no reference by the rules of the client stays in it, and is an error elsewhere.
type expander func(text string, free bool) (string, error)

// errTooLong says that more has been filled in than can be used.
var errTooLong = fmt.Errorf("with its variables filled in it is longer than %d bytes", maxValue)

// expandBraces calls value for what stands between each ${ and the next }, and puts what it returns in its
// place. Without a } it is text.
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

// unknown is the outcome for a reference that a client does not know: what stands there if the text is free, and otherwise
// an error with the way out.
func unknown(body string, free bool, way string) (string, error) {
	if free {
		return "${" + body + "}", nil
	}
	return "", fmt.Errorf("%s is no variable that is known here; %s", reference(body), way)
}

// reference is how an error names ${body}. What is no name of anything may be something that was not meant to be read, and is left out.
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

// notSet is the error for a variable that the environment does not have.
func notSet(written, way string) error {
	return errors.New(written + " is not set; set it in the environment, or " + way)
}

// isName reports whether text can be the name of a variable in a shell.
func isName(text string) bool { return text != "" && nameLength(text) == len(text) }

// nameLength returns how many bytes of text, from its beginning, are the name of a variable.
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

// parseDotenv reads a file of environment variables, as editors do, line by line:
//
//	# a comment
//	NAME=value            # and one behind it
//	export NAME = value
//	NAME: value
//	NAME="with # and \n"  in which \n and \r are line breaks
//	NAME='as it stands'   and so between backquotes
//
// Nothing is filled in to a value, and a later line for the same name counts. The error names the line and not what is in it.
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

// parseVariable reads one line that is neither empty nor a comment.
func parseVariable(line string) (name, value string, err error) {
	if rest, ok := strings.CutPrefix(line, "export "); ok {
		line = rest
	}
	at := strings.IndexAny(line, "=:")
	if at < 0 {
		return "", "", errors.New("it has no =; write NAME=value, or # before a comment")
	}
	name = strings.TrimSpace(line[:at])
	if name == "" || strings.ContainsAny(name, " \t\"'`#\x00") {
		return "", "", fmt.Errorf("what stands before %q is no name of a variable", line[at:at+1])
	}
	if strings.ContainsRune(line, 0) {
		return "", "", errors.New("it has a zero byte in it, which no program can be handed")
	}
	value, err = unquoteValue(strings.TrimSpace(line[at+1:]))
	return name, value, err
}

// unquoteValue takes the quotes or the comment off a value.
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
		return "", fmt.Errorf("the quote %c has no end; for a line break write \\n between double quotes", quote)
	}
	if rest := strings.TrimSpace(text[end+1:]); rest != "" && rest[0] != '#' {
		return "", fmt.Errorf("there is more behind the closing %c; put the whole value between other quotes", quote)
	}
	value := text[1:end]
	if quote == '"' {
		value = strings.NewReplacer(`\n`, "\n", `\r`, "\r").Replace(value)
	}
	return value, nil
}

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
