package strictjson

import (
	"bytes"
	"strconv"
	"strings"
)

// wholeNumber writes a JSON number without point and exponent, exactly: 3e2 as 300,
// -7.0 as -7. It returns "" for one that is not whole, or longer than any that fits in 64 bits.
func wholeNumber(raw []byte) string {
	if !bytes.ContainsAny(raw, ".eE") {
		return string(raw)
	}
	mantissa, exponent, scientific := strings.Cut(strings.ToLower(string(raw)), "e")
	digits, fraction, _ := strings.Cut(mantissa, ".")
	const longest = len("-18446744073709551615")
	shift := 0
	if scientific {
		n, err := strconv.Atoi(exponent)
		if most := longest + len(fraction); err != nil && !strings.HasPrefix(exponent, "-") || n > most {
			n = most // beyond that only zero fits
		} else if err != nil || n < -len(digits) {
			n = -len(digits)
		}
		shift = n
	}
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	// Move the point: take digits over from one side of it to the other.
	if shift >= 0 {
		fraction += strings.Repeat("0", max(0, shift-len(fraction)))
		digits, fraction = digits+fraction[:shift], fraction[shift:]
	} else {
		at := max(0, len(digits)+shift)
		digits, fraction = digits[:at], digits[at:]+fraction
	}
	digits = strings.TrimLeft(digits, "0")
	if strings.Trim(fraction, "0") != "" || len(digits) > longest {
		return ""
	}
	if digits == "" {
		return "0"
	}
	return sign + digits
}
