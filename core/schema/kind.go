package schema

import (
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
	return k&kind != 0 || kind == numberKind && k&integerKind != 0 && parseDecimal(raw).whole()
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
func (c *compiler) types(v *value, path strictjson.Path) kinds {
	names := []string{"string", "number", "integer", "boolean", "array", "object", "null"} // as the constants
	var set kinds
	add := func(name string, path strictjson.Path) {
		i := slices.Index(names, name)
		if i < 0 {
			c.fault(path, "must be "+strings.Join(names[:6], ", ")+" or null, got "+strconv.Quote(cut(name)))
			return
		}
		set |= 1 << i
	}
	if v.raw[0] != '[' {
		if name, ok := strictjson.Unquote(v.raw); ok {
			add(name, path)
		} else {
			c.mustBe("a string or an array of strings", v, path)
		}
		return set
	}
	if len(v.items) == 0 {
		c.fault(path, "must name at least one type")
	}
	for i, name := range c.texts(v, path) {
		add(name, path.Index(i))
	}
	return set
}
