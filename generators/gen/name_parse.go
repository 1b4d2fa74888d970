package gen

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Maximum lengths of names, as typed.
const (
	longestName  = 100 // of a component; clients allow fewer, see [MaxNameLength]
	longestField = 64
)

// ParseName parses the name of a component. send_mail, send-mail, sendMail and SendMail are the same
// name. It starts with an ASCII letter; letters, digits, and single - and _ between words follow. Go
// keywords are allowed. The error suggests a valid name.
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

// ParseFieldName parses the name of a field, which is a JSON key. It starts with an ASCII letter;
// letters, digits and _ follow.
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

// NameOfValue makes a name of an enum value, such as in-progress or "5 GHz". Characters other than
// ASCII letters and digits separate words. A leading digit gets the prefix n: 2xx is n2xx. It fails if
// there is neither letter nor digit.
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

// made returns the name of words, or an error if it is not a Go identifier.
func made(words []string) (Name, error) {
	name := fromWords(words)
	if !name.valid() {
		return Name{}, fmt.Errorf("no identifier of Go can be made of %q; use letters of English", Shorten(name.wire))
	}
	return name, nil
}

// check validates a name of ASCII letters, digits and separators.
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

// foreign describes the invalid character that rest begins with.
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

// suggest suggests a valid name.
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
