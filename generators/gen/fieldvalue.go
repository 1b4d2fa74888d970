package gen

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// An EnumValue is a value of an enum.
type EnumValue struct {
	Text string // the value itself, in JSON
	Go   string // suffix of its Go constant: in-progress is InProgress
}

// EnumValues returns values without names of constants, or nil.
func EnumValues(texts []string) (values []EnumValue) {
	for _, text := range texts {
		values = append(values, EnumValue{Text: text})
	}
	return values
}

// HasValues reports whether the type has these values, in any order.
func (t FieldType) HasValues(texts []string) bool {
	return len(t.Values) == len(texts) && !slices.ContainsFunc(t.Values, func(v EnumValue) bool { return !slices.Contains(texts, v.Text) })
}

// Limits of an enum.
const (
	maxValues      = 64
	maxValueLength = 64
)

// parseValues parses the values after "enum(". It trims spaces.
func parseValues(text string) ([]EnumValue, error) {
	list, closed := strings.CutSuffix(text, ")")
	switch {
	case !closed:
		return nil, errors.New("enum( is not closed; end it with )")
	case strings.TrimSpace(list) == "":
		return nil, errors.New("enum() has no values; try enum(open,done)")
	case strings.Count(list, ",") >= maxValues:
		return nil, fmt.Errorf("enum has %d values, at most %d are allowed; use a string instead", strings.Count(list, ",")+1, maxValues)
	}
	var values []EnumValue
	seen := map[string]string{} // texts by Go name
	for value := range strings.SplitSeq(list, ",") {
		value = strings.Trim(value, " ")
		if err := checkValue(value); err != nil {
			return nil, err
		}
		name, err := NameOfValue(value)
		if err != nil {
			return nil, err
		}
		other, taken := seen[name.Go()]
		switch {
		case taken && other == value:
			return nil, fmt.Errorf("enum has the value %q twice", value)
		case taken:
			return nil, fmt.Errorf("enum values %q and %q have the same Go name %s; change one of them", other, value, name.Go())
		}
		seen[name.Go()] = value
		values = append(values, EnumValue{Text: value, Go: name.Go()})
	}
	return values, nil
}

func checkValue(value string) error {
	bad := strings.IndexFunc(value, func(r rune) bool { return !IsLetter(r) && !IsDigit(r) && !strings.ContainsRune(" _./:+@-", r) })
	switch {
	case value == "":
		return errors.New("enum has an empty value; remove the extra comma")
	case len(value) > maxValueLength:
		return fmt.Errorf("enum value %q has %d bytes, at most %d are allowed", Shorten(value), len(value), maxValueLength)
	case bad >= 0:
		return fmt.Errorf("enum value %q contains %s; use ASCII letters, digits, spaces and _./:+@-", value, first(value[bad:]))
	case !IsLetter(rune(value[0])) && !IsDigit(rune(value[0])):
		return fmt.Errorf("enum value %q must start with a letter or digit", value)
	}
	return nil
}

// Largest length limits that are accepted.
const (
	maxMinLength = 1_000         // generated tests contain a value of this length
	maxMaxLength = math.MaxInt32 // an int on every platform
)

// parseLimits parses a..b, a.., ..b, or n for a length of exactly n. It returns literals, or "" for no
// limit.
func parseLimits(text string, t FieldType) (least, most string, err error) {
	if !t.hasLength() && !t.isInteger() && t.Kind != KindFloat {
		return "", "", fmt.Errorf("limits %q are not allowed for %s, only for strings, numbers, lists and maps; remove them, or write a description in double quotes",
			Shorten(text), t.Kind)
	}
	least, most, ranged := strings.Cut(text, "..")
	switch {
	case text == "":
		return "", "", errors.New("the limits are missing after the colon; try 1..100")
	case text == "..":
		return "", "", errors.New("the limits .. have no number; try 1..100")
	case strings.HasSuffix(text, "?"):
		return "", "", errors.New("write the ? after the type, before the limits")
	case !ranged && t.hasLength():
		most = least
	case !ranged && isNumber(text):
		return "", "", fmt.Errorf("limit %s is not a range; use %[1]s.., ..%[1]s or %[1]s..%[1]s", Shorten(text))
	case !ranged:
		return "", "", fmt.Errorf("invalid limits %q; try 1..100, or write a description in double quotes", Shorten(text))
	}
	if least, err = t.literal(least, maxMinLength); err != nil {
		return "", "", err
	}
	if most, err = t.literal(most, maxMaxLength); err != nil {
		return "", "", err
	}
	if least != "" && most != "" && t.less(most, least) {
		return "", "", fmt.Errorf("limits %s..%s allow no value; write the smaller number first", least, most)
	}
	return least, most, nil
}

// hasLength reports whether limits apply to the length: characters, items, entries.
func (t FieldType) hasLength() bool {
	return t.Kind == KindString || t.Kind == KindList || t.Kind == KindMap
}

func (t FieldType) isInteger() bool { return t.Kind == KindInt || t.Kind == KindInt64 }

// literal returns a limit as a Go and JSON literal, or "" for none.
func (t FieldType) literal(text string, largest int64) (string, error) {
	text = strings.Trim(text, " ")
	if text == "" {
		return "", nil
	}
	if !isNumber(text) {
		return "", fmt.Errorf("limit %q is not a number; write 10, -1 or 0.5, or a description in double quotes", Shorten(text))
	}
	if t.Kind == KindFloat {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return "", fmt.Errorf("limit %s is out of range for a 64-bit float; remove it", Shorten(text))
		}
		literal, err := json.Marshal(n + 0) // without the sign of -0
		return string(literal), err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return "", fmt.Errorf("limit %s is out of range for a 64-bit integer; remove it", Shorten(text))
	case err != nil:
		return "", fmt.Errorf("limit %s must be an integer", Shorten(text))
	case t.hasLength() && n < 0:
		return "", fmt.Errorf("limit %s must not be negative", text)
	case t.hasLength() && n > largest:
		return "", fmt.Errorf("limit %s is too large; the maximum is %d", text, largest)
	}
	return strconv.FormatInt(n, 10), nil
}

func (t FieldType) less(a, b string) bool {
	if t.Kind == KindFloat {
		return parseFloat(a) < parseFloat(b)
	}
	return parseInt(a) < parseInt(b)
}

// isNumber reports whether text is a JSON number, and therefore a Go literal.
func isNumber(text string) bool {
	return regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`).MatchString(text)
}

func parseInt(literal string) int64 {
	n, _ := strconv.ParseInt(literal, 10, 64)
	return n
}

func parseFloat(literal string) float64 {
	n, _ := strconv.ParseFloat(literal, 64)
	return n
}

// Sample returns a valid value of the field, for generated tests. It is a string, int64, float64, bool,
// []any or map[string]any, to encode as JSON. A time is in RFC 3339, a duration in nanoseconds, bytes
// are in base64.
func (f Field) Sample() any {
	switch f.Type.Kind {
	case KindString:
		return text(f.size(int64(len(word))))
	case KindInt, KindInt64:
		return clamp(f, 1, parseInt)
	case KindFloat:
		return clamp(f, 1.5, parseFloat)
	case KindList, KindMap:
		return f.Type.many(f.size(1))
	}
	return f.Type.sample()
}

// InvalidSample returns an invalid value of the field, for generated tests: outside the limits if
// possible, else of the wrong kind. It returns false if every value is valid.
func (f Field) InvalidSample() (any, bool) {
	switch f.Type.Kind {
	case KindAny:
		return nil, false
	case KindGo:
		return "(wrong)", f.Type.Values != nil
	case KindString:
		if n, ok := f.wrongSize(); ok {
			return text(n), true
		}
		return int64(1), true
	case KindList, KindMap:
		if n, ok := f.wrongSize(); ok {
			return f.Type.many(n), true
		}
	case KindInt, KindInt64:
		if f.Max != "" && parseInt(f.Max) < math.MaxInt64 {
			return parseInt(f.Max) + 1, true
		}
		if f.Min != "" && parseInt(f.Min) > math.MinInt64 {
			return parseInt(f.Min) - 1, true
		}
	case KindFloat:
		if f.Max != "" && parseFloat(f.Max)+1 > parseFloat(f.Max) {
			return parseFloat(f.Max) + 1, true
		}
		if f.Min != "" && parseFloat(f.Min)-1 < parseFloat(f.Min) {
			return parseFloat(f.Min) - 1, true
		}
	case KindEnum:
		return "(wrong)", true // no value has parentheses
	case KindTime, KindBytes:
		return int64(1), true
	}
	return "wrong", true
}

// word is the text of samples, repeated to the required length.
const word = "example"

func text(n int) string { return strings.Repeat(word, n/len(word)+1)[:n] }

func (f Field) size(wanted int64) int { return int(clamp(f, wanted, parseInt)) }

// clamp returns the value within the limits of a field that is closest to n.
func clamp[N int64 | float64](f Field, n N, parse func(string) N) N {
	if f.Min != "" {
		n = max(n, parse(f.Min))
	}
	if f.Max != "" {
		n = min(n, parse(f.Max))
	}
	return n
}

// maxShown is the maximum length of an invalid value in a generated test.
const maxShown = 20

// wrongSize returns a length outside the limits, if there is one up to maxShown.
func (f Field) wrongSize() (int, bool) {
	switch {
	case f.Min != "" && parseInt(f.Min) > 0 && parseInt(f.Min) <= maxShown:
		return int(parseInt(f.Min)) - 1, true
	case f.Max != "" && parseInt(f.Max) < maxShown:
		return int(parseInt(f.Max)) + 1, true
	}
	return 0, false
}

func (t FieldType) many(n int) any {
	if t.Kind == KindMap {
		entries := make(map[string]any, n)
		for i := range n {
			entries["key"+strconv.Itoa(i+1)] = t.Elem.sample()
		}
		return entries
	}
	items := make([]any, n)
	for i := range items {
		items[i] = t.Elem.sample()
	}
	return items
}

func (t FieldType) sample() any {
	switch t.Kind {
	case KindEnum, KindGo:
		if t.Values != nil {
			return t.Values[0].Text
		}
		return map[string]any{}
	case KindList, KindMap:
		return t.many(1)
	}
	if value, ok := map[FieldKind]any{
		KindInt: int64(1), KindInt64: int64(1), KindFloat: 1.5, KindBool: true,
		KindTime: "2026-01-02T15:04:05Z", KindDuration: int64(1_000_000_000), KindBytes: "ZXhhbXBsZQ==", // example
	}[t.Kind]; ok {
		return value
	}
	return word
}
