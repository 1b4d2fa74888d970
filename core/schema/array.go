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
	matches  bounds // how many items contains must accept; at least one, if it says nothing else
}

func (v *validation) array(r *arrayRules, raw []byte, at *place) {
	length, matches := 0, 0
	here := place{up: at}
	v.inside++
	_ = strictjson.Elements(raw, func(item []byte) error {
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
	v.inside--
	if v.done() {
		return
	}
	v.within(r.length, length, at, "item", "items", nil)
	if r.contains != nil {
		v.within(r.matches, matches, at, "item", "items", r.contains)
	}
	if r.unique && length > 1 {
		v.unique(raw, at)
	}
}

// unique reports the first two items that are equal.
func (v *validation) unique(raw []byte, at *place) {
	seen := make(map[string]int)
	var form []byte
	_ = strictjson.Elements(raw, func(item []byte) error {
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
