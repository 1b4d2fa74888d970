package schema

import (
	"bytes"
	"math"
	"math/bits"
	"strconv"
)

// maxExponent is where exponents end: what lies beyond is taken as this. A number so
// large or small that it shows has no other use than to break programs.
const maxExponent = 1 << 27

// A decimal is the exact value of a JSON number, 0.DIGITS × 10^exponent. It refers to the
// number's text and takes no space of its own, whatever the exponent.
type decimal struct {
	negative bool
	digits   []byte // from the first to the last that is not 0, with a point perhaps; empty for zero
	count    int    // how many digits, without the point
	exponent int
}

// parseDecimal reads a checked JSON number.
func parseDecimal(raw []byte) decimal {
	var d decimal
	if raw[0] == '-' {
		d.negative, raw = true, raw[1:]
	}
	if e := bytes.IndexAny(raw, "eE"); e >= 0 {
		d.exponent = parseExponent(raw[e+1:])
		raw = raw[:e]
	}
	point := bytes.IndexByte(raw, '.')
	if point < 0 {
		point = len(raw)
	}
	first := 0
	for first < len(raw) && (raw[first] == '0' || raw[first] == '.') {
		first++
	}
	last := len(raw)
	for last > first && (raw[last-1] == '0' || raw[last-1] == '.') {
		last--
	}
	if first == last {
		return decimal{}
	}
	d.digits, d.count = raw[first:last], last-first
	d.exponent += point - first
	if first > point {
		d.exponent++ // the point itself lies between
	} else if point < last {
		d.count--
	}
	return d
}

func parseExponent(text []byte) int {
	sign := 1
	switch text[0] {
	case '-':
		sign, text = -1, text[1:]
	case '+':
		text = text[1:]
	}
	e := 0
	for _, c := range text {
		e = min(e*10+int(c-'0'), maxExponent)
	}
	return sign * e
}

// whole reports whether d is an integer.
func (d decimal) whole() bool { return d.count == 0 || d.count <= d.exponent }

// compare is negative, zero or positive as d is less than, equal to or more than other.
func (d decimal) compare(other decimal) int {
	if a, b := d.sign(), other.sign(); a != b || a == 0 {
		return a - b
	}
	order := d.exponent - other.exponent
	for i, j := 0, 0; order == 0 && (i < len(d.digits) || j < len(other.digits)); i, j = i+1, j+1 {
		order = digit(d.digits, &i) - digit(other.digits, &j)
	}
	return order * d.sign()
}

func (d decimal) sign() int {
	switch {
	case d.count == 0:
		return 0
	case d.negative:
		return -1
	}
	return 1
}

// digit is the digit at *i, behind the point if one stands there; past the end it is 0.
func digit(digits []byte, i *int) int {
	if *i < len(digits) && digits[*i] == '.' {
		*i++
	}
	if *i >= len(digits) {
		return 0
	}
	return int(digits[*i] - '0')
}

// maxDivisor is how many digits a divisor may have: a remainder by it, times ten, fits in 64 bits.
const maxDivisor = 18

// multipleOf reports whether d is a whole multiple of divisor, which is more than zero and has at
// most maxDivisor digits. Both are integers without a trailing 0 times a power of ten, so that
// d's power must be no less than the divisor's, and the rest is a remainder.
func (d decimal) multipleOf(divisor decimal) bool {
	shift := (d.exponent - d.count) - (divisor.exponent - divisor.count)
	if d.count == 0 || shift < 0 {
		return d.count == 0
	}
	n := divisor.modulo(math.MaxUint64)
	rest := d.modulo(n)
	for power := 10 % n; shift > 0; shift >>= 1 {
		if shift&1 == 1 {
			rest = mulMod(rest, power, n)
		}
		power = mulMod(power, power, n)
	}
	return rest == 0
}

// modulo is what is left of d's digits, read as an integer, after division by n.
func (d decimal) modulo(n uint64) uint64 {
	var rest uint64
	for _, c := range d.digits {
		if c != '.' {
			rest = (rest*10 + uint64(c-'0')) % n
		}
	}
	return rest
}

func mulMod(a, b, n uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return bits.Rem64(high, low, n)
}

// append appends the form that all ways to write the number share.
func (d decimal) append(dst []byte) []byte {
	if d.count == 0 {
		return append(dst, '0')
	}
	if d.negative {
		dst = append(dst, '-')
	}
	for _, c := range d.digits {
		if c != '.' {
			dst = append(dst, c)
		}
	}
	return strconv.AppendInt(append(dst, 'e'), int64(d.exponent), 10)
}

// int is d, which is whole and not negative, or the greatest int from 10^9 on.
func (d decimal) int() int {
	if d.exponent > 9 {
		return math.MaxInt
	}
	n := 0
	for i, j := 0, 0; j < d.exponent; i, j = i+1, j+1 {
		n = n*10 + digit(d.digits, &i)
	}
	return n
}
