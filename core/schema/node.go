package schema

import (
	"fmt"
	"slices"
	"strings"
)

// A node is one schema, ready to be checked against. The rules for a kind of value
// are nil where the schema has none. An empty node accepts everything.
type node struct {
	part     *part
	ref      *part // what $ref says, if there is one
	height   int   // how many schemas apply to one value through this one
	combined bool  // some do besides this one

	never    bool // the schema false
	types    kinds
	literals []*literals // of enum and const
	object   *objectRules
	array    *arrayRules
	number   []limit
	text     *textRules

	allOf, anyOf, oneOf        []*node // a $ref is one of allOf
	not                        *node
	condition, then, otherwise *node
}

// alongside lists the schemas that n applies to the very value it is itself applied to.
func (n *node) alongside() []*node {
	all := slices.Concat(n.allOf, n.anyOf, n.oneOf, []*node{n.not, n.condition, n.then, n.otherwise})
	if n.object != nil {
		for _, d := range n.object.dependencies {
			all = append(all, d.schema)
		}
	}
	return slices.DeleteFunc(all, func(other *node) bool { return other == nil })
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
		v.mismatch(wanted{kinds: n.types}, raw, at)
		return
	}
	for _, l := range n.literals {
		if !v.among(l, raw) {
			v.mismatch(wanted{values: l.shown}, raw, at)
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
	if n.combined {
		v.combined(n, raw, at)
	}
}

// combined checks the schemas that apply to the same value as n.
func (v *validation) combined(n *node, raw []byte, at *place) {
	passes := func(n *node) bool { return v.passes(n, raw, at) }
	for _, other := range n.allOf {
		v.check(other, raw, at)
	}
	if n.anyOf != nil && !slices.ContainsFunc(n.anyOf, passes) {
		v.noneOf(n.anyOf, raw, at)
	}
	if n.oneOf != nil {
		first := slices.IndexFunc(n.oneOf, passes)
		if first < 0 {
			v.noneOf(n.oneOf, raw, at)
		} else if next := slices.IndexFunc(n.oneOf[first+1:], passes); next >= 0 {
			v.fail(at, func() string {
				return fmt.Sprintf("must match only one of %d alternatives, matches numbers %d and %d", len(n.oneOf), first+1, first+next+2)
			})
		}
	}
	if n.not != nil && passes(n.not) {
		v.fail(at, func() string { return "must not match " + excerpt(n.not.part.raw) })
	}
	if n.condition != nil {
		branch := n.otherwise
		if passes(n.condition) {
			branch = n.then
		}
		if branch != nil {
			v.check(branch, raw, at)
		}
	}
}

// noneOf reports that no branch accepts the value. If it is of the wrong kind, or the wrong
// value, for all of them, the problem says what is wanted; otherwise it is the first problem
// of the branch with the fewest, among those of the right kind.
func (v *validation) noneOf(branches []*node, raw []byte, at *place) {
	if v.failed = true; v.quiet {
		return
	}
	var all wanted
	var closest validation
	for _, n := range branches {
		b := validation{work: v.work}
		b.check(n, raw, at)
		v.work = b.work
		if b.wanted.kinds != 0 || b.wanted.values != nil {
			all.kinds |= b.wanted.kinds
			all.values = append(all.values, b.wanted.values...)
		} else if !closest.failed || len(b.problems) < len(closest.problems) {
			closest = b
		}
	}
	switch {
	case v.done():
	case !closest.failed:
		v.mismatch(all, raw, at)
	default:
		p := closest.problems[0]
		if len(branches) > 1 && !strings.HasSuffix(p.Message, " alternatives)") {
			p.Message += fmt.Sprintf(" (closest of %d alternatives)", len(branches))
		}
		v.report(func() Problem { return p })
	}
}
