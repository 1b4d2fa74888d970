// Package decimal parses and compares JSON numbers of any size exactly.
package decimal

import (
	"bytes"
	"cmp"
	"strconv"
)

// maxExponent limits the exponent of a Number; larger ones are clamped.
const maxExponent = 1 << 27

// A Number is the exact value of a JSON number: sign × 0.DIGITS × 10^exponent. Its size does not
// depend on the exponent.
type Number struct {
	Sign     int    // -1, 0 or 1
	Digits   []byte // without leading and trailing zeros; empty for zero
	Exponent int
}

// Parse parses a valid JSON number. It appends the digits to buf, which may be nil.
func Parse(buf, raw []byte) Number {
	d := Number{Sign: 1}
	if raw[0] == '-' {
		d.Sign, raw = -1, raw[1:]
	}
	if e := bytes.IndexAny(raw, "eE"); e >= 0 {
		exponent, _ := strconv.Atoi(string(raw[e+1:])) // clamped if out of range
		d.Exponent = max(-maxExponent, min(exponent, maxExponent))
		raw = raw[:e]
	}
	whole, fraction, _ := bytes.Cut(raw, []byte("."))
	digits := append(append(buf, whole...), fraction...)
	d.Digits = bytes.TrimLeft(digits, "0")
	d.Exponent += len(whole) - (len(digits) - len(d.Digits))
	d.Digits = bytes.TrimRight(d.Digits, "0")
	if len(d.Digits) == 0 {
		return Number{}
	}
	return d
}

// IsWhole reports whether d has no fraction.
func (d Number) IsWhole() bool { return len(d.Digits) <= d.Exponent || d.Sign == 0 }

// Compare returns -1, 0 or 1 if d is less than, equal to or greater than other.
func (d Number) Compare(other Number) int {
	if d.Sign != other.Sign {
		return cmp.Compare(d.Sign, other.Sign)
	}
	return d.Sign * cmp.Or(cmp.Compare(d.Exponent, other.Exponent), bytes.Compare(d.Digits, other.Digits))
}
