package mcpconfig

import (
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
