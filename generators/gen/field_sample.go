package gen

import (
	"math"
	"strconv"
	"strings"
)

// Sample is a value that is right for the field, for generated tests: a string, an int64, a
// float64, a bool, a []any or a map[string]any, which [encoding/json] writes as the field takes
// it. A time is text as of RFC 3339, a duration is a number of nanoseconds, bytes are in base64.
func (f Field) Sample() any {
	switch f.Type.Kind {
	case KindString:
		return text(f.size(len(word)))
	case KindInt, KindInt64:
		n := int64(1)
		if f.Min != "" {
			n = max(n, whole(f.Min))
		}
		if f.Max != "" {
			n = min(n, whole(f.Max))
		}
		return n
	case KindFloat:
		n := 1.5
		if f.Min != "" {
			n = max(n, float(f.Min))
		}
		if f.Max != "" {
			n = min(n, float(f.Max))
		}
		return n
	case KindList, KindMap:
		return f.Type.many(f.size(1))
	}
	return f.Type.sample()
}

// Wrong is a value that the field must not accept, for generated tests: one that is outside of
// the limits if there are any that can be passed, or of the wrong kind. It is made as that of
// [Field.Sample]. There is none, and false, if everything is right.
func (f Field) Wrong() (any, bool) {
	switch f.Type.Kind {
	case KindAny:
		return nil, false
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
		if f.Max != "" && whole(f.Max) < math.MaxInt64 {
			return whole(f.Max) + 1, true
		}
		if f.Min != "" && whole(f.Min) > math.MinInt64 {
			return whole(f.Min) - 1, true
		}
	case KindFloat:
		if f.Max != "" && float(f.Max)+1 > float(f.Max) {
			return float(f.Max) + 1, true
		}
		if f.Min != "" && float(f.Min)-1 < float(f.Min) {
			return float(f.Min) - 1, true
		}
	case KindEnum:
		return "(wrong)", true // no value has parentheses
	case KindTime, KindBytes:
		return int64(1), true
	}
	return "wrong", true
}

// word is what samples of text are made of.
const word = "example"

// text is n characters.
func text(n int) string { return strings.Repeat(word, n/len(word)+1)[:n] }

// size is a length within the limits, the one that is wanted if it is.
func (f Field) size(wanted int) int {
	if f.Min != "" {
		wanted = max(wanted, int(whole(f.Min)))
	}
	if f.Max != "" {
		wanted = min(wanted, int(whole(f.Max)))
	}
	return wanted
}

// largestShown is the longest text or list that a reader of a test is shown for its length.
const largestShown = 20

// wrongSize is a length outside of the limits, if there is one that is not too long to be shown.
func (f Field) wrongSize() (int, bool) {
	switch {
	case f.Min != "" && whole(f.Min) > 0 && whole(f.Min) <= largestShown:
		return int(whole(f.Min)) - 1, true
	case f.Max != "" && whole(f.Max) < largestShown:
		return int(whole(f.Max)) + 1, true
	}
	return 0, false
}

// many is a list or a map of n.
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

// sample is a value of a type without limits.
func (t FieldType) sample() any {
	switch t.Kind {
	case KindInt, KindInt64:
		return int64(1)
	case KindFloat:
		return 1.5
	case KindBool:
		return true
	case KindTime:
		return "2026-01-02T15:04:05Z"
	case KindDuration:
		return int64(1_000_000_000)
	case KindBytes:
		return "ZXhhbXBsZQ==" // example
	case KindEnum:
		return t.Values[0].Text
	case KindList, KindMap:
		return t.many(1)
	}
	return word
}
