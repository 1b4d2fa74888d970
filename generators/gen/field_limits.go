package gen

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// How far limits of lengths may go.
const (
	largestMin = 1_000         // generated tests hold a value that is so long
	largestMax = math.MaxInt32 // an int on every machine
)

// parseLimits reads a..b, a.., ..b, or n for a length of exactly n. What it returns are
// literals, or "" where there is no limit.
func parseLimits(text string, t FieldType) (least, most string, err error) {
	if !t.limited() {
		return "", "", fmt.Errorf("limits (%q) are for strings, numbers, lists and maps, and not for %s; leave them out, or put a description into double quotes",
			Shorten(text), t.Kind)
	}
	least, most, ranged := strings.Cut(text, "..")
	switch {
	case text == "":
		return "", "", errors.New("there are no limits behind the colon; try 1..100")
	case text == "..":
		return "", "", errors.New("the limits .. have no number; try 1..100")
	case strings.HasSuffix(text, "?"):
		return "", "", errors.New("the ? stands behind the type, and the limits behind the ?")
	case !ranged && t.measured():
		most = least
	case !ranged && isNumber(text):
		return "", "", fmt.Errorf("limit %s of a number has no end; use %[1]s.., ..%[1]s, or %[1]s..%[1]s", Shorten(text))
	case !ranged:
		return "", "", fmt.Errorf("%q are no limits; try 1..100, and put a description into double quotes", Shorten(text))
	}
	if least, err = t.literal(least, largestMin); err != nil {
		return "", "", err
	}
	if most, err = t.literal(most, largestMax); err != nil {
		return "", "", err
	}
	if least != "" && most != "" && t.less(most, least) {
		return "", "", fmt.Errorf("the limits %s..%s let nothing in; the smaller number comes first", least, most)
	}
	return least, most, nil
}

// limited reports whether there can be limits.
func (t FieldType) limited() bool { return t.measured() || t.counted() || t.Kind == KindFloat }

// measured reports whether limits are of the length: characters, items, entries.
func (t FieldType) measured() bool {
	return t.Kind == KindString || t.Kind == KindList || t.Kind == KindMap
}

// counted reports whether limits are of the value, which is a whole number.
func (t FieldType) counted() bool { return t.Kind == KindInt || t.Kind == KindInt64 }

// literal is a limit as Go and JSON write it. Where there is none there is nothing to write.
func (t FieldType) literal(text string, largest int64) (string, error) {
	text = strings.Trim(text, " ")
	if text == "" {
		return "", nil
	}
	if !isNumber(text) {
		return "", fmt.Errorf("limit %q is no number; write it as 10, -1 or 0.5, and put a description into double quotes", Shorten(text))
	}
	if t.Kind == KindFloat {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return "", fmt.Errorf("limit %s is too large for a number of 64 bits; leave it out", Shorten(text))
		}
		literal, err := json.Marshal(n + 0) // without the sign of -0
		return string(literal), err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return "", fmt.Errorf("limit %s is too large for a whole number of 64 bits; leave it out", Shorten(text))
	case err != nil:
		return "", fmt.Errorf("limit %s has to be a whole number, without a point or an exponent", Shorten(text))
	case t.measured() && n < 0:
		return "", fmt.Errorf("limit %s is of a length, which is never less than 0", text)
	case t.measured() && n > largest:
		return "", fmt.Errorf("limit %s is too large there; %d is the most", text, largest)
	}
	return strconv.FormatInt(n, 10), nil
}

// less compares literals.
func (t FieldType) less(a, b string) bool {
	if t.Kind == KindFloat {
		return float(a) < float(b)
	}
	return whole(a) < whole(b)
}

// isNumber reports whether text is a number in JSON, which is one in Go too.
func isNumber(text string) bool {
	return regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`).MatchString(text)
}

// whole is the value of a literal that is known to be one.
func whole(literal string) int64 {
	n, _ := strconv.ParseInt(literal, 10, 64)
	return n
}

// float is the value of a literal that is known to be one.
func float(literal string) float64 {
	n, _ := strconv.ParseFloat(literal, 64)
	return n
}
