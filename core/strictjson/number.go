package strictjson

import (
	"bytes"
	"cmp"
	"strconv"
)

// maxExponent limits the exponent of a Decimal; larger ones are clamped.
const maxExponent = 1 << 27

// A Decimal is the exact value of a JSON number: sign × 0.DIGITS × 10^exponent. Its size does not
// depend on the exponent.
type Decimal struct {
	Sign     int    // -1, 0 or 1
	Digits   []byte // without leading and trailing zeros; empty for zero
	Exponent int
}

// ParseDecimal parses a valid JSON number. It appends the digits to buf, which may be nil.
func ParseDecimal(buf, raw []byte) Decimal {
	d := Decimal{Sign: 1}
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
		return Decimal{}
	}
	return d
}

// IsWhole reports whether d has no fraction.
func (d Decimal) IsWhole() bool { return len(d.Digits) <= d.Exponent || d.Sign == 0 }

// Compare returns -1, 0 or 1 if d is less than, equal to or greater than other.
func (d Decimal) Compare(other Decimal) int {
	if d.Sign != other.Sign {
		return cmp.Compare(d.Sign, other.Sign)
	}
	return d.Sign * cmp.Or(cmp.Compare(d.Exponent, other.Exponent), bytes.Compare(d.Digits, other.Digits))
}

// integerText returns a JSON number without point and exponent: 300 for 3e2, -7 for -7.0. It returns
// "" if the number is not an integer, or has too many digits for 64 bits.
func integerText(raw []byte) string {
	const maxDigits = len("18446744073709551615")
	if !bytes.ContainsAny(raw, ".eE") {
		return string(raw)
	}
	d := ParseDecimal(nil, raw)
	switch {
	case d.Sign == 0:
		return "0"
	case !d.IsWhole() || d.Exponent > maxDigits:
		return ""
	}
	text := append(d.Digits, bytes.Repeat([]byte{'0'}, d.Exponent-len(d.Digits))...)
	if d.Sign < 0 {
		return "-" + string(text)
	}
	return string(text)
}
