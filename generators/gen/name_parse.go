package gen

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// How long names may be, as typed.
const (
	longestName  = 100 // for a component; file systems and readers end somewhere, clients much earlier: see [Limit]
	longestField = 64
)

// ParseName takes a component's name apart. It may be written as send_mail, send-mail, sendMail or
// SendMail, which are one name. It begins with a letter of English; more of them, digits, and
// single - and _ between words follow. Keywords of Go are fine: what is generated from them is
// not. The error says what is wrong with the name, and what would do.
func ParseName(text string) (Name, error) {
	problem := func() error {
		if err := check(text, "-_", longestName); err != nil {
			return err
		}
		switch last := text[len(text)-1]; {
		case last == '-' || last == '_':
			return fmt.Errorf("it has to end with a letter or a digit%s", suggest(text))
		case strings.Contains(strings.ReplaceAll(text, "-", "_"), "__"):
			return fmt.Errorf("one - or _ between two words is enough%s", suggest(text))
		}
		if n := len(WireName(text)); n > longestName {
			return fmt.Errorf("it has %d characters as clients see it, with _ between the words, and %d is the most; choose a shorter one", n, longestName)
		}
		return nil
	}()
	if problem != nil {
		return Name{}, fmt.Errorf("%q cannot be a name: %w", Shorten(text), problem)
	}
	return made(split(text))
}

// ParseFieldName takes the name of a field apart, which is the key of a JSON object as it is typed. It
// begins with a letter of English; more of them, digits and _ follow, in any order.
func ParseFieldName(text string) (Name, error) {
	err := check(text, "_", longestField)
	if err != nil && strings.Contains(text, "-") {
		if better := strings.ReplaceAll(text, "-", "_"); check(better, "_", longestField) == nil {
			err = fmt.Errorf("- cannot stand in it; use _, as in %s", better)
		}
	}
	if err != nil {
		return Name{}, fmt.Errorf("%q cannot be the name of a field: %w", Shorten(text), err)
	}
	return made(split(text))
}

// NameOfValue makes a name of one of the values that an enum has, such as in-progress or "5 GHz". All
// but letters of English and digits part words. If a digit comes first, so does an n: 2xx is
// n2xx. The error is that there is neither letter nor digit.
func NameOfValue(text string) (Name, error) {
	words := split(strings.Map(func(r rune) rune {
		if !IsLetter(r) && !IsDigit(r) {
			return '_'
		}
		return r
	}, text))
	if len(words) == 0 {
		return Name{}, fmt.Errorf("no name can be made of %q: it has no letter of English and no digit", Shorten(text))
	}
	if IsDigit(rune(words[0][0])) {
		words[0] = "n" + words[0]
	}
	return made(words)
}

// made is the last gate: whatever got here is an identifier, or it does not get further.
func made(words []string) (Name, error) {
	name := fromWords(words)
	if !name.valid() {
		return Name{}, fmt.Errorf("no identifier of Go can be made of %q; use letters of English", Shorten(name.wire))
	}
	return name, nil
}

// check says what is wrong with a name that is made of letters of English, digits, and
// separators between them.
func check(text, separators string, most int) error {
	if text == "" {
		return errors.New("it is empty; try send_mail")
	}
	if n := utf8.RuneCountInString(text); n > most {
		return fmt.Errorf("it has %d characters, and %d is the most; choose a shorter one", n, most)
	}
	bad := strings.IndexFunc(text, func(r rune) bool {
		return !IsLetter(r) && !IsDigit(r) && !strings.ContainsRune(separators, r)
	})
	if bad >= 0 {
		return foreign(text, text[bad:], separators)
	}
	if !IsLetter(rune(text[0])) {
		return fmt.Errorf("it has to begin with a letter%s", suggest(text))
	}
	return nil
}

// foreign says what is wrong with a name of which the rest begins with a character that no name has.
func foreign(text, rest, separators string) error {
	switch r, width := utf8.DecodeRuneInString(rest); {
	case r == utf8.RuneError && width == 1:
		return fmt.Errorf("byte 0x%02x in it is not UTF-8; use the letters a to z", rest[0])
	case r > 0x7f:
		return fmt.Errorf("%q (%U) is no letter of English; use the letters a to z", r, r)
	case strings.ContainsAny(text, `/\`):
		return fmt.Errorf("it is a path, and a plain name is wanted%s", suggest(text))
	default:
		can := "digits and _"
		if strings.Contains(separators, "-") {
			can = "digits, - and _"
		}
		return fmt.Errorf("%q cannot stand in it; letters of English, %s can%s", r, can, suggest(text))
	}
}

// suggest is the way out of a bad name, or a good one if nothing can be made of it.
func suggest(text string) string {
	better := WireName(strings.TrimLeftFunc(text, func(r rune) bool { return !IsLetter(r) }))
	if check(better, "_", longestName) != nil {
		better = "send_mail"
	}
	return "; try " + better
}

// Shorten cuts a text that a message quotes, to keep the message readable.
func Shorten(text string) string {
	const most = 60
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "…"
}

// IsLetter reports whether r is an ASCII letter.
func IsLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

// IsDigit reports whether r is an ASCII digit.
func IsDigit(r rune) bool { return '0' <= r && r <= '9' }
