package schema

import (
	"bytes"
	"math"
	"slices"
	"strconv"

	"github.com/petrock/petrock/core/strictjson"
)

// literals are the values that an enum or a const allows.
type literals struct {
	kinds kinds
	forms map[string]bool // by canonical form
	shown []string
}

func newLiterals(values []*value) *literals {
	l := &literals{forms: make(map[string]bool)}
	v := validation{work: math.MaxInt}
	for _, one := range values {
		l.kinds |= kindOf(one.raw)
		l.forms[string(v.canonical(nil, one.raw))] = true
		l.shown = append(l.shown, excerpt(one.raw))
	}
	return l
}

// among reports whether raw is one of the literals.
func (v *validation) among(l *literals, kind kinds, raw []byte) bool {
	if l.kinds&kind == 0 {
		return false
	}
	if kind&(arrayKind|objectKind) != 0 {
		return l.forms[string(v.canonical(nil, raw))]
	}
	var buf [64]byte
	return l.forms[string(canonicalScalar(buf[:0], raw))]
}

// canonical appends to dst the one form that all ways to write a value share, so that
// values are equal if their forms are: 1.0 and 1e0, "a" and "\u0061", and an
// object whatever the order of its members.
func (v *validation) canonical(dst, raw []byte) []byte {
	if !v.spend(len(raw)) {
		return dst
	}
	switch kindOf(raw) {
	case arrayKind:
		dst = append(dst, '[')
		_ = strictjson.Array(raw, func(inner []byte) error {
			dst = append(v.canonical(dst, inner), ',')
			return v.next()
		})
		return append(dst, ']')
	case objectKind:
		return v.canonicalObject(dst, raw)
	}
	return canonicalScalar(dst, raw)
}

func canonicalScalar(dst, raw []byte) []byte {
	switch kindOf(raw) {
	case numberKind:
		return parseDecimal(raw).append(dst)
	case stringKind:
		return appendSized(dst, unquoted(raw))
	}
	return append(dst, raw...)
}

func (v *validation) canonicalObject(dst, raw []byte) []byte {
	type pair struct{ key, form []byte }
	var pairs []pair
	_ = strictjson.Object(raw, func(key, inner []byte) error {
		pairs = append(pairs, pair{key, v.canonical(nil, inner)})
		return v.next()
	})
	slices.SortFunc(pairs, func(a, b pair) int { return bytes.Compare(a.key, b.key) })
	dst = append(dst, '{')
	for _, p := range pairs {
		dst = append(append(appendSized(dst, p.key), p.form...), ',')
	}
	return append(dst, '}')
}

// appendSized puts the length before the text, so that no text can look like the end of one.
func appendSized(dst, text []byte) []byte {
	dst = strconv.AppendInt(append(dst, '"'), int64(len(text)), 10)
	return append(append(dst, ':'), text...)
}
