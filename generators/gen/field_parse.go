package gen

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// What can be typed at once.
const (
	longest    = 10_000 // bytes; more than the longest field that is right
	mostFields = 100
)

// ParseField reads one field.
//
//   - The name begins with a letter of English; more of them, digits and _ follow. It is the key
//     in JSON, as typed. A name alone is a string.
//   - The types are string, int, int64, float, bool, time, duration, bytes, any, enum(a,b),
//     []TYPE and map[string]TYPE. A ? behind the type makes the field optional.
//   - Limits are a..b, a.. or ..b: of the value of a number, of the characters of a string, of
//     the items of a list or a map. For lengths, n is exactly n.
//   - The description stands in double quotes, behind a space or a colon. \" is a quote in it,
//     and \\ a backslash.
//
// The error names the field, the part of it that is wrong, and the way out.
func ParseField(text string) (Field, error) {
	f, err := parse(strings.Trim(text, " "))
	if err != nil {
		return Field{}, fmt.Errorf("field %q: %w", Shorten(text), err)
	}
	return f, nil
}

func parse(text string) (f Field, err error) {
	switch {
	case text == "":
		return Field{}, errors.New("it is empty; try title:string")
	case len(text) > longest:
		return Field{}, fmt.Errorf("it has %d bytes, and %d is the most", len(text), longest)
	case !utf8.ValidString(text):
		return Field{}, errors.New("it is not UTF-8; type it anew")
	}
	head, quoted, described := strings.Cut(text, `"`)
	if described {
		if f.Description, err = parseDescription(quoted); err != nil {
			return Field{}, err
		}
		if head, err = cutSeparator(head); err != nil {
			return Field{}, err
		}
	}
	name, rest, typed := cut(head)
	if err := f.setName(name); err != nil {
		return Field{}, err
	}
	f.Type.Kind = KindString
	if !typed {
		return f, nil
	}
	kind, limits, limited := cut(rest)
	kind, f.Optional = strings.CutSuffix(kind, "?")
	if bare, ok := strings.CutSuffix(limits, "?"); ok && !f.Optional { // there is room for it behind the limits too
		limits, f.Optional = strings.TrimRight(bare, " "), true
	}
	if f.Type, err = parseType(strings.TrimRight(kind, " "), 0); err != nil {
		return Field{}, err
	}
	if limited {
		f.Min, f.Max, err = parseLimits(limits, f.Type)
	}
	return f, err
}

// cutSeparator takes from what is before a description the space or the colon between them.
func cutSeparator(head string) (string, error) {
	bare := strings.TrimRight(head, " ")
	bare, colon := strings.CutSuffix(bare, ":")
	if !colon && bare == head && head != "" {
		return "", errors.New(`the description has to stand behind a space or a colon: title:string "Title of the post"`)
	}
	return bare, nil
}

// cut takes apart what is before the first colon that is not in parentheses, and what is behind
// it, both without spaces around them.
func cut(text string) (before, after string, found bool) {
	skip := 0
	if mark := strings.IndexAny(text, "(:"); mark >= 0 && text[mark] == '(' {
		skip = max(mark, strings.IndexByte(text, ')'))
	}
	before, after, found = strings.Cut(text[skip:], ":")
	return strings.Trim(text[:skip]+before, " "), strings.Trim(after, " "), found
}

// setName fills in the names.
func (f *Field) setName(text string) error {
	name, err := ParseFieldName(text)
	if bare, ok := strings.CutSuffix(text, "?"); ok {
		if _, err := ParseFieldName(bare); err == nil {
			return fmt.Errorf("the ? stands behind the type, as in %s:string?", bare)
		}
	}
	switch {
	case err == nil:
		f.Name, f.Go = text, name.Go()
		return nil
	case text == "":
		return errors.New("it has no name; try title:string")
	case strings.Contains(text, " "):
		return fmt.Errorf("%w; a description stands in double quotes, and in a shell the whole field in single ones", err)
	}
	return err
}

// ParseFields reads the fields of one component. The error holds all that is wrong with them. No two
// fields may have the same name in Go, nor in JSON if case is ignored, as many readers of JSON do.
func ParseFields(texts []string) ([]Field, error) {
	if len(texts) > mostFields {
		return nil, fmt.Errorf("there are %d fields, and %d is the most; put some into a map or a list", len(texts), mostFields)
	}
	var fields []Field
	var problems []error
	for _, text := range texts {
		f, err := ParseField(text)
		if err == nil {
			err = f.differs(fields)
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		fields = append(fields, f)
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return fields, nil
}

// differs says which of the others has the name of f.
func (f Field) differs(others []Field) error {
	for _, other := range others {
		switch {
		case f.Name == other.Name:
			return fmt.Errorf("field %q: there is a field %q already; give one of them another name", Shorten(f.String()), Shorten(other.String()))
		case strings.EqualFold(f.Name, other.Name):
			return fmt.Errorf("field %q: its name and that of %q differ in case alone, which JSON may ignore; give one of them another name", Shorten(f.String()), Shorten(other.String()))
		case f.Go == other.Go:
			return fmt.Errorf("field %q: it and %q would both be called %s in Go; give one of them another name", Shorten(f.String()), Shorten(other.String()), f.Go)
		}
	}
	return nil
}

// first names the character that text begins with, by its code point if it is not of ASCII.
func first(text string) string {
	r, _ := utf8.DecodeRuneInString(text)
	if r > 0x7f {
		return fmt.Sprintf("%q (%U)", r, r)
	}
	return fmt.Sprintf("%q", r)
}
