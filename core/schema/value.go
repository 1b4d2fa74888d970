package schema

import (
	"bytes"
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

// kindOf is the kind of a checked value.
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

// allow reports whether raw, which is of the given kind, is in the set.
func (k kinds) allow(kind kinds, raw []byte) bool {
	return k&kind != 0 || kind == numberKind && k&integerKind != 0 && isWhole(raw)
}

// names lists the set for a message, in the order of the constants.
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

// among reports whether raw is one of the literals.
func (v *validation) among(l *literals, raw []byte) bool {
	if kindOf(raw)&(arrayKind|objectKind) != 0 {
		return l.forms[string(v.canonical(nil, raw))]
	}
	var buf [64]byte // on the stack, which it can be only as long as nothing recursive gets it
	return l.forms[string(appendScalar(buf[:0], raw))]
}

// canonical appends to dst the one form that all ways to write a value share, so that
// values are equal if their forms are: 1.0 and 1e0, "a" and "\u0061", and an
// object whatever the order of its members.
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
		return parseDecimal(buf[:0], raw).append(dst)
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
