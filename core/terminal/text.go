package terminal

import (
	"encoding/json"
	"io"
	"strings"
	"unicode"
)

// Plain returns text without control characters, except line breaks and tabs, so that it cannot change the state of a terminal.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r) {
			return r
		}
		return -1
	}, text)
}

// Line returns the first line of a text, without control characters.
func Line(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(Plain(text)), "\n")
	return strings.TrimSpace(first)
}

// Shorten cuts a text to 80 bytes, for messages that quote it.
func Shorten(text string) string {
	const limit = 80
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// PrintJSON prints a value as indented JSON.
func PrintJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
