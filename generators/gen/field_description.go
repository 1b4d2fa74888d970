package gen

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestDescription is how many characters a description may have.
const longestDescription = 1000

// parseDescription reads what follows the quote that begins a description. It is to end with
// the quote that closes it. Spaces around the text are not of it.
func parseDescription(text string) (string, error) {
	var b strings.Builder
	escaped, closed := false, false
	for _, r := range text {
		switch {
		case closed:
			return "", errors.New(`something stands behind the description; write a quote inside of it as \"`)
		case escaped && r != '"' && r != '\\':
			return "", fmt.Errorf(`\%c stands in the description; \" and \\ are all that a backslash can begin`, printable(r))
		case escaped:
			escaped = false
			b.WriteRune(r)
		case r == '\\':
			escaped = true
		case r == '"':
			closed = true
		case !IsText(r):
			return "", fmt.Errorf("%s stands in the description, which is one line of plain text; leave it out", first(string(r)))
		default:
			b.WriteRune(r)
		}
	}
	if !closed {
		return "", errors.New(`the description is not closed; end it with "`)
	}
	description := strings.TrimSpace(b.String())
	if strings.HasPrefix(description, "+build") { // gofmt would move the comment to the top of the file
		return "", errors.New("the description begins with +build, which means something else to Go at the beginning of a comment; begin with another word")
	}
	if n := utf8.RuneCountInString(description); n > longestDescription {
		return "", fmt.Errorf("the description has %d characters, and %d is the most; shorten it", n, longestDescription)
	}
	return description, nil
}

// IsText reports whether a character may stand in a description. Line breaks would end the
// comment that it becomes; other controls, and characters that nobody sees or that turn the
// order of the text around, would hide what it says. Joiners are part of some scripts and emoji.
func IsText(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	if r == nonJoiner || r == joiner {
		return true
	}
	return !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// printable is a character that can be shown, or a stand-in.
func printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return utf8.RuneError
}
