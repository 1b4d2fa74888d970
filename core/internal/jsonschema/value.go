package jsonschema

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/core/internal/decimal"
	"github.com/petrock/petrock/core/strictjson"
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

func (k kinds) names() []string {
	var names []string
	for i, name := range []string{"a string", "a number", "an integer", "a boolean", "an array", "an object", "null"} {
		if k&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// types compiles the type keyword, a name or a list of names.
func (c *compiler) types(p *part) kinds {
	names := []string{"string", "number", "integer", "boolean", "array", "object", "null"} // in the order of the constants
	types := []*part{p}
	if kindOf(p.raw) == arrayKind {
		types = c.items(p, 1)
	}
	var set kinds
	for _, one := range types {
		name, _ := strictjson.Unquote(one.raw)
		if i := slices.Index(names, name); i >= 0 {
			set |= 1 << i
		} else {
			c.addError(one, "must be "+strings.Join(names[:6], ", ")+" or null, got "+excerpt(one.raw))
		}
	}
	return set
}

type literals struct {
	forms map[string]bool // by canonical form
	texts []string
}

func newLiterals(values []*part) *literals {
	l := &literals{forms: make(map[string]bool)}
	v := validation{work: math.MaxInt}
	for _, one := range values {
		l.forms[string(v.canonical(nil, one.raw))] = true
		l.texts = append(l.texts, excerpt(one.raw))
	}
	return l
}

// canonical appends the canonical form of a value. Equal values have the same form, such as 1.0 and
// 1e0, or objects with their members in another order.
func (v *validation) canonical(dst, raw []byte) []byte {
	var forms [][]byte
	switch kindOf(raw) {
	case numberKind:
		var buf [32]byte
		d := decimal.Parse(buf[:0], raw)
		if d.Sign < 0 {
			dst = append(dst, '-')
		}
		return strconv.AppendInt(append(append(dst, d.Digits...), 'e'), int64(d.Exponent), 10)
	case stringKind:
		text, _ := strictjson.Unquote(raw)
		return appendWithLength(dst, text)
	case arrayKind:
		_ = strictjson.Elements(raw, func(item []byte) error {
			forms = append(forms, v.canonical(nil, item))
			return v.stopIfDone()
		})
	case objectKind:
		_ = strictjson.Members(raw, func(key, value []byte) error {
			forms = append(forms, v.canonical(appendWithLength(nil, string(key)), value))
			return v.stopIfDone()
		})
		slices.SortFunc(forms, bytes.Compare)
	default:
		return append(dst, raw...)
	}
	v.spend(len(raw))
	dst = append(dst, raw[0])
	for _, form := range forms {
		dst = append(append(dst, form...), ',')
	}
	return append(dst, raw[len(raw)-1])
}

// appendWithLength appends the text after its length, so that the result is unambiguous.
func appendWithLength(dst []byte, text string) []byte {
	dst = strconv.AppendInt(append(dst, '"'), int64(len(text)), 10)
	return append(append(dst, ':'), text...)
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

// addLimit adds l to n, with the number of the keyword p.
func (c *compiler) addLimit(n *node, p *part, l limit) {
	if !c.requireKind(numberKind, p) {
		return
	}
	l.text, l.number = excerpt(p.raw), decimal.Parse(nil, p.raw)
	if l.multiple && l.number.Sign <= 0 {
		c.addError(p, "must be more than 0, got "+l.text)
	}
	if digits := len(l.number.Digits); l.multiple && digits > maxDivisor {
		c.addError(p, fmt.Sprintf("must have at most %d digits, got %d", maxDivisor, digits))
	}
	n.number = append(n.number, l)
}

func (l *limit) allows(d decimal.Number) bool {
	if l.multiple {
		return isMultiple(d, l.number)
	}
	order := d.Compare(l.number)
	return l.from <= order && order <= l.to
}

func (v *validation) checkNumber(limits []limit, raw []byte, at *location) {
	var buf [32]byte
	d := decimal.Parse(buf[:0], raw)
	for i := range limits {
		if l := &limits[i]; !l.allows(d) {
			v.fail(at, func() string { return "must be " + l.relation + " " + l.text + ", got " + excerpt(raw) })
		}
	}
}

// bounds limit a count or length; nil means no limit.
type bounds struct{ min, max *int }

// setBound compiles a keyword such as minItems or maxItems.
func (c *compiler) setBound(b *bounds, p *part) {
	f, _ := strconv.ParseFloat(string(p.raw), 64)
	if c.requireKind(integerKind, p) && f < 0 {
		c.addError(p, "must be at least 0, got "+excerpt(p.raw))
	}
	n := int(min(f, math.MaxInt32))
	if strings.HasPrefix(p.name, "min") {
		b.min = &n
	} else {
		b.max = &n
	}
}

// checkBounds reports a count outside its bounds. one and many are the singular and plural of the
// counted things. If contains is not nil, only items that match it are counted.
func (v *validation) checkBounds(b bounds, n int, at *location, one, many string, contains *node) {
	side, limit := "at least", b.min
	if b.max != nil && n > *b.max {
		side, limit = "at most", b.max
	} else if b.min == nil || n >= *b.min {
		return
	}
	v.fail(at, func() string {
		matching := ""
		if contains != nil {
			matching = " matching " + excerpt(contains.part.raw)
		}
		return fmt.Sprintf("must have %s %s%s, got %d", side, count(*limit, one, many), matching, n)
	})
}

func isInteger(raw []byte) bool {
	var buf [32]byte
	return !bytes.ContainsAny(raw, ".eE") || decimal.Parse(buf[:0], raw).IsWhole()
}

// maxDivisor limits the digits of a divisor, so that ten times a remainder fits in 64 bits.
const maxDivisor = 18

// isMultiple reports whether d is an integer multiple of divisor, which is positive and has at most
// maxDivisor digits. Both are an integer without a trailing 0 times a power of ten. Therefore the power
// of d must be at least that of divisor, and the remainder must be 0.
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
