package gen

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

var (
	enumValue   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 _./:+@-]{0,63}$`)
	otherLimits = regexp.MustCompile(`^([0-9]+) ?(?:-|–|—|,|\.\.\.| to ) ?([0-9]+)$`) // of other notations
	jsonNumber  = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
)

// An EnumValue is a value of an enum.
type EnumValue struct {
	Text string // the value itself, in JSON
	Go   string // suffix of its Go constant: in-progress is InProgress
}

// HasValues reports whether the type has these values, in any order.
func (t FieldType) HasValues(texts []string) bool {
	return len(t.Values) == len(texts) && !slices.ContainsFunc(t.Values, func(v EnumValue) bool { return !slices.Contains(texts, v.Text) })
}

// ParseValues parses the values of an enum. A text may have several, separated by commas. It trims
// spaces.
func ParseValues(texts []string, initialisms ...string) ([]EnumValue, error) {
	const maxValues = 64
	list := strings.Join(texts, ",")
	switch {
	case len(texts) == 0:
		return nil, nil
	case strings.Count(list, ",") >= maxValues:
		return nil, fmt.Errorf("enum has %d values, at most %d are allowed; use a string instead", strings.Count(list, ",")+1, maxValues)
	}
	var values []EnumValue
	seen := map[string]string{} // texts by Go name
	for value := range strings.SplitSeq(list, ",") {
		value = strings.Trim(value, " ")
		if !enumValue.MatchString(value) {
			return nil, fmt.Errorf("invalid enum value %q; use a letter or digit, then up to 63 ASCII letters, digits, spaces and _./:+@-", Shorten(value))
		}
		name, err := NameOfValue(value, initialisms...)
		if err != nil {
			return nil, err
		}
		if other, taken := seen[name.Go()]; taken {
			return nil, fmt.Errorf("enum values %q and %q have the same Go name %s; change one of them", other, value, name.Go())
		}
		seen[name.Go()] = value
		values = append(values, EnumValue{Text: value, Go: name.Go()})
	}
	return values, nil
}

// Largest length limits that are accepted.
const (
	maxMinLength = 1_000         // generated tests contain a value of this length
	maxMaxLength = math.MaxInt32 // an int on every platform
)

// parseLimits parses a..b, a.., ..b, or n for a length of exactly n. It returns literals, or "" for
// no limit.
func parseLimits(text string, t FieldType) (least, most string, err error) {
	if !t.hasLength() && t.Kind != KindInt && t.Kind != KindInt64 && t.Kind != KindFloat {
		return "", "", fmt.Errorf("limits %q are not allowed for %s, only for strings, numbers, lists and maps; remove them, or write a description in double quotes",
			Shorten(text), t.Kind)
	}
	if words := otherLimits.FindStringSubmatch(text); words != nil {
		return "", "", fmt.Errorf("invalid limits %q; write %s..%s", Shorten(text), words[1], words[2])
	}
	least, most, ranged := strings.Cut(text, "..")
	if !ranged {
		most = least
	}
	if text == "" || text == ".." || !ranged && !t.hasLength() {
		return "", "", fmt.Errorf("invalid limits %q; write 1..100, 1.. or ..100, or a description in double quotes", Shorten(text))
	}
	if least, err = t.literal(least, maxMinLength); err != nil {
		return "", "", err
	}
	if most, err = t.literal(most, maxMaxLength); err != nil {
		return "", "", err
	}
	isReversed := parseInt(most) < parseInt(least)
	if t.Kind == KindFloat {
		isReversed = parseFloat(most) < parseFloat(least)
	}
	if least != "" && most != "" && isReversed {
		return "", "", fmt.Errorf("limits %s..%s allow no value; write the smaller number first", least, most)
	}
	return least, most, nil
}

// hasLength reports whether limits apply to the length: characters, items, entries.
func (t FieldType) hasLength() bool {
	return t.Kind == KindString || t.Kind == KindList || t.Kind == KindMap
}

// literal returns a limit as a Go and JSON literal, or "" for none.
func (t FieldType) literal(text string, maxLength int64) (string, error) {
	text = strings.Trim(text, " ")
	if text == "" {
		return "", nil
	}
	isNumber := jsonNumber.MatchString(text)
	if t.Kind == KindFloat {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || !isNumber {
			return "", fmt.Errorf("limit %q is not a 64-bit number; write 10, -1 or 0.5, or a description in double quotes", Shorten(text))
		}
		literal, err := json.Marshal(n + 0) // without the sign of -0
		return string(literal), err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil || !isNumber:
		return "", fmt.Errorf("limit %q is not a 64-bit integer; write 10 or -1, or a description in double quotes", Shorten(text))
	case t.hasLength() && (n < 0 || n > maxLength):
		return "", fmt.Errorf("limit %s is not a length from 0 to %d", text, maxLength)
	}
	return strconv.FormatInt(n, 10), nil
}

func parseInt(literal string) int64 {
	n, _ := strconv.ParseInt(literal, 10, 64)
	return n
}

func parseFloat(literal string) float64 {
	n, _ := strconv.ParseFloat(literal, 64)
	return n
}

// Sample returns a valid value of the field, for generated tests. It is a string, int64, float64,
// bool, []any or map[string]any, to encode as JSON. A time is in RFC 3339, bytes are in base64.
func (f Field) Sample() any {
	if f.Pattern != "" && f.Type.Elem == nil {
		if f.Default != nil {
			return *f.Default
		}
		parsed, _ := syntax.Parse(f.Pattern, syntax.Perl) // it is valid
		if text := matching(parsed.Simplify(), 0); f.Allows(text) {
			return text
		}
		return matching(parsed.Simplify(), f.size(0))
	}
	if samples := textSamples[f.Type.Kind]; samples[0] != "" {
		return samples[0]
	}
	switch t := f.Type; t.Kind {
	case KindInt, KindInt64:
		return clamp(f, 1, parseInt)
	case KindFloat:
		return clamp(f, 1.5, parseFloat)
	case KindBool:
		return true
	case KindList, KindMap:
		return t.many(f.size(1), Field{Type: *t.Elem, Pattern: f.Pattern}.Sample())
	case KindEnum, KindGo:
		if t.Values != nil {
			return t.Values[0].Text
		}
		if !t.HasSample() {
			return map[string]any{}
		}
		f.Type = FieldType{Kind: KindInt} // or another number
		if slices.Contains(kinds, t.Go.Basic) {
			f.Type.Kind = FieldKind(t.Go.Basic)
		}
		return f.Sample()
	}
	const word = "example"
	n := f.size(int64(len(word)))
	return strings.Repeat(word, n/len(word)+1)[:n]
}

// HasSample reports whether [Field.Sample] is a valid value. It is not for structs of the project.
func (t FieldType) HasSample() bool {
	t, _ = t.Enum()
	return t.Kind != KindGo || t.Values != nil || t.Go != nil && t.Go.Basic != ""
}

// OtherSample returns a valid value of the field that differs from [Field.Sample], for generated
// tests. It returns false if it knows none.
func (f Field) OtherSample() (any, bool) {
	if samples := textSamples[f.Type.Kind]; samples[1] != "" {
		return samples[1], true
	}
	switch f.Type.Kind {
	case KindList, KindMap:
		n := f.size(1)
		elem, ok := Field{Type: *f.Type.Elem, Pattern: f.Pattern}.OtherSample()
		return f.Type.many(n, elem), ok && n > 0
	case KindEnum, KindGo:
		if len(f.Type.Values) < 2 {
			return nil, false
		}
		return f.Type.Values[1].Text, true
	}
	switch value := f.Sample().(type) {
	case int64:
		other := value + 1
		return other, other == clamp(f, other, parseInt)
	case float64:
		other := clamp(f, value+1, parseFloat)
		return other, other != value
	case bool:
		return !value, true
	case string:
		other := strings.ToUpper(value)
		return other, other != value && (f.Pattern == "" || f.Allows(other))
	}
	return nil, false
}

// textSamples are two values of the kinds that are strings of a certain form.
var textSamples = map[FieldKind][2]string{
	KindTime:     {"2026-01-02T15:04:05Z", "2026-02-03T16:05:06Z"},
	KindDate:     {"2026-01-02", "2026-02-03"},
	KindDuration: {"1h30m", "2h"},
	KindURI:      {"https://example.com/a", "https://example.com/b"},
	KindEmail:    {"ada@example.com", "bob@example.com"},
	KindUUID:     {"123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174001"},
	KindBytes:    {"ZXhhbXBsZQ==", "RVhBTVBMRQ=="}, // example and EXAMPLE
}

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

// many returns a list or map with n times the same element.
func (t FieldType) many(n int, elem any) any {
	if t.Kind == KindList {
		return slices.Repeat([]any{elem}, n)
	}
	entries := make(map[string]any, n)
	for i := range n {
		entries["key"+strconv.Itoa(i+1)] = elem
	}
	return entries
}
