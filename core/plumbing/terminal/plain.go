package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Plain returns text that is safe to show on a terminal. It escapes control, bidirectional and
// other invisible characters like JSON, such as \u001b, and replaces invalid UTF-8 with \ufffd. It
// keeps line breaks and tabs.
func Plain(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\r\n", "\n")
	return string(escape([]byte(text)))
}

// Line returns the first line of a text, escaped by [Plain].
func Line(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return Plain(strings.TrimSpace(first))
}

// isInvisible reports whether a character must be escaped. Prepended marks are visible, and the
// variation selectors FE0E and FE0F choose between text and emoji.
func isInvisible(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == 0xFE0E || r == 0xFE0F:
		return false
	case r < 0x7F:
		return r < ' '
	}
	return !unicode.Is(unicode.Prepended_Concatenation_Mark, r) &&
		unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// escape replaces invisible characters with JSON escapes. If there are none, it returns text
// itself.
func escape(text []byte) []byte {
	if !bytes.ContainsFunc(text, isInvisible) {
		return text
	}
	var out []byte
	for _, r := range string(text) {
		if !isInvisible(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return out
}

// maxIndented is the maximum size of JSON that is indented, because indenting deep JSON can make it
// much larger.
const maxIndented = 1 << 20

// PrintJSON prints a value as JSON, indented up to a size of 1 MiB. It escapes the same characters
// as [Plain], which does not change the value.
func PrintJSON(out io.Writer, value any) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	text := IndentJSON(b.Bytes())
	_, err := out.Write(escape(text))
	return err
}

// IndentJSON indents JSON. It returns text itself if that is invalid or larger than 1 MiB.
func IndentJSON(text []byte) []byte {
	var b bytes.Buffer
	if len(text) > maxIndented || json.Indent(&b, text, "", "  ") != nil {
		return text
	}
	return b.Bytes()
}

// A Style is how a terminal shows text: the parameter of an ANSI escape sequence.
type Style string

// The styles.
const (
	Bold   Style = "1"
	Dim    Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
)

// On returns text in the style, or unchanged if out does not show colors.
func (s Style) On(out any, text string) string {
	if !HasColor(out) {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// HasColor reports whether out is a terminal that shows colors. NO_COLOR, if it is not empty, and
// TERM=dumb turn them off.
func HasColor(out any) bool {
	return IsTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
