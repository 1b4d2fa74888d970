package strictjson

import (
	"bytes"
	"cmp"
	"strconv"
)

// maxExponent limits exponents: a larger one is taken as this.
const maxExponent = 1 << 27

// A Decimal is the exact value of a JSON number: sign × 0.DIGITS × 10^exponent. It takes no more
// space than the digits, whatever the exponent.
type Decimal struct {
	Sign     int    // -1, 0 or 1
	Digits   []byte // with no 0 at either end; none for zero
	Exponent int
}

// ParseDecimal reads a checked JSON number. It appends the digits to buf, which may be nil.
func ParseDecimal(buf, raw []byte) Decimal {
	d := Decimal{Sign: 1}
	if raw[0] == '-' {
		d.Sign, raw = -1, raw[1:]
	}
	if e := bytes.IndexAny(raw, "eE"); e >= 0 {
		exponent, _ := strconv.Atoi(string(raw[e+1:])) // the nearest int, if it is out of range
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

// Compare returns -1, 0 or 1, as d is less than, equal to or greater than other.
func (d Decimal) Compare(other Decimal) int {
	if d.Sign != other.Sign {
		return cmp.Compare(d.Sign, other.Sign)
	}
	return d.Sign * cmp.Or(cmp.Compare(d.Exponent, other.Exponent), bytes.Compare(d.Digits, other.Digits))
}

// wholeNumber writes a JSON number without point and exponent: 3e2 as 300, -7.0 as -7. It returns
// "" for one that is not whole, or longer than any that fits in 64 bits.
func wholeNumber(raw []byte) string {
	const longest = len("18446744073709551615")
	if !bytes.ContainsAny(raw, ".eE") {
		return string(raw)
	}
	d := ParseDecimal(nil, raw)
	switch {
	case d.Sign == 0:
		return "0"
	case !d.IsWhole() || d.Exponent > longest:
		return ""
	}
	text := append(d.Digits, bytes.Repeat([]byte{'0'}, d.Exponent-len(d.Digits))...)
	if d.Sign < 0 {
		return "-" + string(text)
	}
	return string(text)
}
