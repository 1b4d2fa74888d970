package schema

import (
	"fmt"

	"github.com/petrock/petrock/core/strictjson"
)

// arrayRules hold for arrays.
type arrayRules struct {
	length   bounds
	unique   bool
	prefix   []*node
	items    *node // for those behind the prefix
	contains *node
	matches  bounds // how many items contains must accept
	minSaid  bool   // in the schema; otherwise it is one
	matching string // what those items are, in a message
}

func (c *compiler) arrayKeyword(n *node, key string, v *value, path strictjson.Path) bool {
	switch key {
	case "minItems":
		lazily(&n.array).length.min, _ = c.count(v, path)
	case "maxItems":
		b := &lazily(&n.array).length
		b.max, b.limited = c.count(v, path)
	case "uniqueItems":
		lazily(&n.array).unique = c.boolean(v, path)
	case "prefixItems":
		lazily(&n.array).prefix = c.schemas(v, path)
	case "items":
		if v.raw[0] == '[' {
			c.fault(path, "must be a schema, got an array; use prefixItems for a schema each")
		} else {
			lazily(&n.array).items = c.compile(v, path)
		}
	case "contains":
		rules := lazily(&n.array)
		rules.contains, rules.matching = c.compile(v, path), " matching "+excerpt(v.raw)
		if !rules.minSaid {
			rules.matches.min = 1
		}
	case "minContains":
		rules := lazily(&n.array)
		rules.minSaid = true
		rules.matches.min, _ = c.count(v, path)
	case "maxContains":
		b := &lazily(&n.array).matches
		b.max, b.limited = c.count(v, path)
	default:
		return false
	}
	return true
}

func (v *validation) array(r *arrayRules, raw []byte, at *place) {
	length, matches := 0, 0
	here := place{up: at}
	_ = strictjson.Array(raw, func(item []byte) error {
		here.index = length
		if length < len(r.prefix) {
			v.check(r.prefix[length], item, &here)
		} else if r.items != nil {
			v.check(r.items, item, &here)
		}
		if r.contains != nil && v.passes(r.contains, item, &here) {
			matches++
		}
		length++
		return v.next()
	})
	if v.done() {
		return
	}
	v.within(r.length, length, at, "item", "items", "")
	if r.contains != nil {
		v.within(r.matches, matches, at, "item", "items", r.matching)
	}
	if r.unique && length > 1 {
		v.unique(raw, at)
	}
}

// unique reports the first two items that are equal.
func (v *validation) unique(raw []byte, at *place) {
	seen := make(map[string]int)
	var form []byte
	_ = strictjson.Array(raw, func(item []byte) error {
		form = v.canonical(form[:0], item)
		if first, ok := seen[string(form)]; ok {
			v.fail(at, func() string {
				return fmt.Sprintf("must not hold the same item twice (items %d and %d)", first, len(seen))
			})
			return stop{}
		}
		seen[string(form)] = len(seen)
		return v.next()
	})
}
