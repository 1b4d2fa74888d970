package schema

import (
	"fmt"
	"strings"

	"github.com/petrock/petrock/core/strictjson"
)

// A combination holds the schemas that apply to the same value as their owner.
type combination struct {
	ref                        *node
	allOf, anyOf, oneOf        []*node
	not                        *node
	condition, then, otherwise *node
}

func (c *compiler) combinationKeyword(n *node, key string, v *value, path strictjson.Path) bool {
	switch key {
	case "allOf":
		lazily(&n.combined).allOf = c.schemas(v, path)
	case "anyOf":
		lazily(&n.combined).anyOf = c.schemas(v, path)
	case "oneOf":
		lazily(&n.combined).oneOf = c.schemas(v, path)
	case "not":
		lazily(&n.combined).not = c.compile(v, path)
	case "if":
		lazily(&n.combined).condition = c.compile(v, path)
	case "then":
		lazily(&n.combined).then = c.compile(v, path)
	case "else":
		lazily(&n.combined).otherwise = c.compile(v, path)
	default:
		return false
	}
	return true
}

func (v *validation) combined(c *combination, raw []byte, at *place) {
	if c.ref != nil {
		v.check(c.ref, raw, at)
	}
	for _, n := range c.allOf {
		if v.done() {
			return
		}
		v.check(n, raw, at)
	}
	if c.anyOf != nil && !v.done() {
		v.anyOf(c.anyOf, raw, at)
	}
	if c.oneOf != nil && !v.done() {
		v.oneOf(c.oneOf, raw, at)
	}
	if c.not != nil && !v.done() && v.passes(c.not, raw, at) {
		v.fail(at, func() string { return "must not match " + excerpt(c.not.raw) })
	}
	if c.condition != nil && !v.done() {
		branch := c.otherwise
		if v.passes(c.condition, raw, at) {
			branch = c.then
		}
		if branch != nil {
			v.check(branch, raw, at)
		}
	}
}

func (v *validation) anyOf(branches []*node, raw []byte, at *place) {
	for _, n := range branches {
		if v.passes(n, raw, at) {
			return
		}
	}
	v.noneOf(branches, raw, at)
}

func (v *validation) oneOf(branches []*node, raw []byte, at *place) {
	first := -1
	for i, n := range branches {
		if !v.passes(n, raw, at) {
			continue
		}
		if first >= 0 {
			v.fail(at, func() string {
				return fmt.Sprintf("must match only one of %d alternatives, matches numbers %d and %d", len(branches), first+1, i+1)
			})
			return
		}
		first = i
	}
	if first < 0 {
		v.noneOf(branches, raw, at)
	}
}

// noneOf reports that no branch accepts the value. If what the value is tells against all
// of them, the problem says what it should be; otherwise it is the first problem of the
// branch that the value comes closest to.
func (v *validation) noneOf(branches []*node, raw []byte, at *place) {
	if v.quiet {
		v.failed = true
		return
	}
	var all wanted
	var closest validation
	other := false
	for _, n := range branches {
		b := validation{branch: true, base: at.depth(), work: v.work}
		b.check(n, raw, at)
		if v.work = b.work; len(b.problems) == 0 {
			v.failed = true // out of work
			return
		}
		all = all.or(b.wanted)
		other = other || b.wanted.names == nil || len(b.problems) > 1
		if !closest.failed || b.weight < closest.weight {
			closest = b
		}
	}
	if !other {
		v.mismatch(at, raw, func() wanted { return all })
		return
	}
	v.weight += closest.weight
	v.report(func() Problem {
		p := closest.problems[0]
		if len(branches) > 1 && !strings.HasSuffix(p.Message, " alternatives)") {
			p.Message += fmt.Sprintf(" (closest of %d alternatives)", len(branches))
		}
		return p
	})
}
