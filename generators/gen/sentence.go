package gen

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Sentence checks that a description fits into a doc comment of one line, and trims it.
func Sentence(text string) (string, error) {
	text = strings.TrimSpace(text)
	const most = 1000
	switch {
	case !utf8.ValidString(text):
		return "", errors.New("the description is not valid UTF-8")
	case utf8.RuneCountInString(text) > most:
		return "", fmt.Errorf("the description has %d characters; write at most %d here, and more in the file", utf8.RuneCountInString(text), most)
	}
	for _, r := range text {
		if !IsText(r) {
			return "", fmt.Errorf("the description contains the character %U; write one line of plain text", r)
		}
	}
	return text, nil
}
