package terminal

import "os"

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
