package schema

import "github.com/petrock/petrock/core/strictjson"

// A node is one schema, ready to be checked against. The rules for a kind of value
// are nil where the schema has none. An empty node accepts everything.
type node struct {
	never    bool // the schema false
	types    kinds
	literals []*literals // of enum and const
	object   *objectRules
	array    *arrayRules
	number   *numberRules
	text     *textRules
	combined *combination

	raw  []byte          // the schema as written
	path strictjson.Path // where it stands in the document
}

// check reports what is wrong with raw, which is a checked JSON value without space
// around it. A value of the wrong kind has that one problem: the rest would be noise.
func (v *validation) check(n *node, raw []byte, at *place) {
	if !v.spend(len(raw)) {
		return
	}
	if n.never {
		v.fail(at, func() string { return "is not allowed" })
		return
	}
	kind := kindOf(raw)
	if n.types != 0 && !n.types.allow(kind, raw) {
		v.mismatch(at, raw, func() wanted { return wanted{names: n.types.names()} })
		return
	}
	for _, l := range n.literals {
		if !v.among(l, kind, raw) {
			v.mismatch(at, raw, func() wanted { return wanted{l.shown, len(l.shown)} })
			return
		}
	}
	switch {
	case kind == objectKind && n.object != nil:
		v.object(n.object, raw, at)
	case kind == arrayKind && n.array != nil:
		v.array(n.array, raw, at)
	case kind == numberKind && n.number != nil:
		v.number(n.number, raw, at)
	case kind == stringKind && n.text != nil:
		v.text(n.text, raw, at)
	}
	if n.combined != nil && !v.done() {
		v.combined(n.combined, raw, at)
	}
}

// alongside calls visit for each schema that n applies to the very value it is
// itself applied to.
func (n *node) alongside(visit func(*node)) {
	if n.object != nil {
		for _, d := range n.object.dependencies {
			if d.schema != nil {
				visit(d.schema)
			}
		}
	}
	c := n.combined
	if c == nil {
		return
	}
	for _, one := range []*node{c.ref, c.not, c.condition, c.then, c.otherwise} {
		if one != nil {
			visit(one)
		}
	}
	for _, several := range [][]*node{c.allOf, c.anyOf, c.oneOf} {
		for _, one := range several {
			visit(one)
		}
	}
}
