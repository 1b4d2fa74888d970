package jsonschema

import (
	"bytes"
	"strconv"

	"github.com/petrock/petrock/core/internal/decimal"
)

// kinds is a set of JSON Schema types.
type kinds uint8

const (
	stringKind kinds = 1 << iota
	numberKind
	integerKind // only in schemas: a value has numberKind
	booleanKind
	arrayKind
	objectKind
	nullKind
)

func kindOf(raw []byte) kinds {
	switch raw[0] {
	case '{':
		return objectKind
	case '[':
		return arrayKind
	case '"':
		return stringKind
	case 't', 'f':
		return booleanKind
	case 'n':
		return nullKind
	}
	return numberKind
}

func (k kinds) includes(kind kinds, raw []byte) bool {
	return k&kind != 0 || kind == numberKind && k&integerKind != 0 && isInteger(raw)
}

// kindNames has the name of each kind in a schema, in the order of the constants.
var kindNames = []string{"string", "number", "integer", "boolean", "array", "object", "null"}

// kindPhrases has each kind as messages name it, in the order of the constants.
var kindPhrases = []string{"a string", "a number", "an integer", "a boolean", "an array", "an object", "null"}

// choose returns the kinds in names: [kindNames], or [kindPhrases] for a message.
func (k kinds) choose(names []string) (chosen []string) {
	for i, name := range names {
		if k&(1<<i) != 0 {
			chosen = append(chosen, name)
		}
	}
	return chosen
}

// A limit is a keyword that compares a number, such as minimum or multipleOf.
type limit struct {
	relation string // such as "at least"
	from, to int    // allowed results of comparing a value with number
	multiple bool   // a value must be a multiple of number instead

	text   string
	number decimal.Number
}

var numberLimits = map[string]limit{
	"minimum":          {relation: "at least", from: 0, to: 1},
	"maximum":          {relation: "at most", from: -1, to: 0},
	"exclusiveMinimum": {relation: "more than", from: 1, to: 1},
	"exclusiveMaximum": {relation: "less than", from: -1, to: -1},
	"multipleOf":       {relation: "a multiple of", multiple: true},
}

func (l *limit) allows(d decimal.Number) bool {
	if l.multiple {
		return isMultiple(d, l.number)
	}
	order := d.Compare(l.number)
	return l.from <= order && order <= l.to
}

// bounds limit a count or length; nil means no limit.
type bounds struct{ min, max *int }

func isInteger(raw []byte) bool {
	var buf [32]byte
	return !bytes.ContainsAny(raw, ".eE") || decimal.Parse(buf[:0], raw).IsWhole()
}

// maxDivisor limits the digits of a divisor, so that ten times a remainder fits in 64 bits.
const maxDivisor = 18

// isMultiple reports whether d is an integer multiple of divisor, which is positive and has at most
// maxDivisor digits. Both are an integer without a trailing 0 times a power of ten. Therefore the
// power of d must be at least that of divisor, and the remainder must be 0.
func isMultiple(d, divisor decimal.Number) bool {
	n, _ := strconv.ParseUint(string(divisor.Digits), 10, 64)
	var remainder uint64
	for _, digit := range d.Digits {
		remainder = (remainder*10 + uint64(digit-'0')) % n
	}
	power := (d.Exponent - len(d.Digits)) - (divisor.Exponent - len(divisor.Digits))
	// n has fewer than 64 of the factors 2 and 5, so more powers of ten do not change the result.
	for range min(power, 64) {
		remainder = remainder * 10 % n
	}
	return d.Sign == 0 || power >= 0 && remainder == 0
}
