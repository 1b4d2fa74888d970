package schema

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/core/strictjson"
)

// kinds is a set of the types that JSON Schema tells apart.
type kinds uint8

const (
	stringKind kinds = 1 << iota
	numberKind
	integerKind // only ever wanted: a value has numberKind
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

func (k kinds) allow(kind kinds, raw []byte) bool {
	return k&kind != 0 || kind == numberKind && k&integerKind != 0 && isWhole(raw)
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

// types reads the type keyword: a name or a list of names.
func (c *compiler) types(p *part) kinds {
	names := []string{"string", "number", "integer", "boolean", "array", "object", "null"} // as the constants
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
			c.fault(one, "must be "+strings.Join(names[:6], ", ")+" or null, got "+excerpt(one.raw))
		}
	}
	return set
}

// literals are the values that an enum or a const allows.
type literals struct {
	forms map[string]bool // by canonical form
	shown []string
}

func newLiterals(values []*part) *literals {
	l := &literals{forms: make(map[string]bool)}
	v := validation{work: math.MaxInt}
	for _, one := range values {
		l.forms[string(v.canonical(nil, one.raw))] = true
		l.shown = append(l.shown, excerpt(one.raw))
	}
	return l
}

func (v *validation) among(l *literals, raw []byte) bool {
	if kindOf(raw)&(arrayKind|objectKind) != 0 {
		return l.forms[string(v.canonical(nil, raw))]
	}
	var buf [64]byte // on the stack, which it can be only as long as nothing recursive gets it
	return l.forms[string(appendScalar(buf[:0], raw))]
}

// canonical appends the form that all ways to write a value share, such as 1.0 and 1e0, or objects
// whose members are in another order.
func (v *validation) canonical(dst, raw []byte) []byte {
	var forms [][]byte
	switch kindOf(raw) {
	case arrayKind:
		_ = strictjson.Elements(raw, func(item []byte) error {
			forms = append(forms, v.canonical(nil, item))
			return v.next()
		})
	case objectKind:
		_ = strictjson.Members(raw, func(key, value []byte) error {
			forms = append(forms, v.canonical(appendSized(nil, key), value))
			return v.next()
		})
		slices.SortFunc(forms, bytes.Compare)
	default:
		return appendScalar(dst, raw)
	}
	v.spend(len(raw))
	dst = append(dst, raw[0])
	for _, form := range forms {
		dst = append(append(dst, form...), ',')
	}
	return append(dst, raw[len(raw)-1])
}

func appendScalar(dst, raw []byte) []byte {
	switch kindOf(raw) {
	case numberKind:
		var buf [32]byte
		d := strictjson.ParseDecimal(buf[:0], raw)
		if d.Sign < 0 {
			dst = append(dst, '-')
		}
		return strconv.AppendInt(append(append(dst, d.Digits...), 'e'), int64(d.Exponent), 10)
	case stringKind:
		return appendSized(dst, unquoted(raw))
	}
	return append(dst, raw...)
}

// appendSized puts the length before the text, so that no text can look like the end of one.
func appendSized(dst, text []byte) []byte {
	dst = strconv.AppendInt(append(dst, '"'), int64(len(text)), 10)
	return append(append(dst, ':'), text...)
}

// A limit is a number that others are measured by.
type limit struct {
	words    string // such as "at least"
	from, to int    // what comparing a number with this one may give
	multiple bool   // instead of that, a number must be a multiple of this one

	shown  string
	number strictjson.Decimal
}

// limit adds l to n, with the number that stands in the document.
func (c *compiler) limit(n *node, p *part, l limit) {
	if !c.is(numberKind, p) {
		return
	}
	l.shown, l.number = excerpt(p.raw), strictjson.ParseDecimal(nil, p.raw)
	if l.multiple && l.number.Sign <= 0 {
		c.fault(p, "must be more than 0, got "+l.shown)
	}
	if digits := len(l.number.Digits); l.multiple && digits > maxDivisor {
		c.fault(p, fmt.Sprintf("must have at most %d digits, got %d", maxDivisor, digits))
	}
	n.number = append(n.number, l)
}

func (l *limit) allows(d strictjson.Decimal) bool {
	if l.multiple {
		return isMultiple(d, l.number)
	}
	order := d.Compare(l.number)
	return l.from <= order && order <= l.to
}

func (v *validation) number(limits []limit, raw []byte, at *place) {
	var buf [32]byte
	d := strictjson.ParseDecimal(buf[:0], raw)
	for i := range limits {
		if l := &limits[i]; !l.allows(d) {
			v.fail(at, func() string { return "must be " + l.words + " " + l.shown + ", got " + excerpt(raw) })
		}
	}
}

// bounds limit how many of something a value has; nil is no limit.
type bounds struct{ min, max *int }

// bound reads a keyword such as minItems or maxItems.
func (c *compiler) bound(b *bounds, p *part) {
	f, _ := strconv.ParseFloat(string(p.raw), 64)
	if c.is(integerKind, p) && f < 0 {
		c.fault(p, "must be at least 0, got "+excerpt(p.raw))
	}
	n := int(min(f, math.MaxInt32))
	if strings.HasPrefix(p.name, "min") {
		b.min = &n
	} else {
		b.max = &n
	}
}

// within reports a count outside its bounds. one and many name what is counted; which is the schema
// of those that count, if not all do.
func (v *validation) within(b bounds, n int, at *place, one, many string, which *node) {
	side, limit := "at least", b.min
	if b.max != nil && n > *b.max {
		side, limit = "at most", b.max
	} else if b.min == nil || n >= *b.min {
		return
	}
	v.fail(at, func() string {
		matching := ""
		if which != nil {
			matching = " matching " + excerpt(which.part.raw)
		}
		return fmt.Sprintf("must have %s %s%s, got %d", side, count(*limit, one, many), matching, n)
	})
}

func isWhole(raw []byte) bool {
	var buf [32]byte
	return !bytes.ContainsAny(raw, ".eE") || strictjson.ParseDecimal(buf[:0], raw).IsWhole()
}

// maxDivisor is how many digits a divisor may have: a remainder by it, times ten, fits in 64 bits.
const maxDivisor = 18

// isMultiple reports whether d is a whole multiple of divisor, which is more than zero and has at
// most maxDivisor digits. Both are integers without a trailing 0 times a power of ten, so that d's
// power must be no less than the divisor's, and the rest is a remainder.
func isMultiple(d, divisor strictjson.Decimal) bool {
	n, _ := strconv.ParseUint(string(divisor.Digits), 10, 64)
	var rest uint64
	for _, digit := range d.Digits {
		rest = (rest*10 + uint64(digit-'0')) % n
	}
	power := (d.Exponent - len(d.Digits)) - (divisor.Exponent - len(divisor.Digits))
	// Of the factors 2 and 5, which are all that a power of ten can share with it, n has less than 64.
	for range min(power, 64) {
		rest = rest * 10 % n
	}
	return d.Sign == 0 || power >= 0 && rest == 0
}
