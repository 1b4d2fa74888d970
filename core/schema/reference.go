package schema

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/petrock/petrock/core/strictjson"
)

// maxChain is how many schemas may apply to one value through each other. With the
// greatest depth of a value it bounds the stack that a validation needs.
const maxChain = 256

// A reference is a $ref that awaits its target.
type reference struct {
	from *node
	to   string
	path strictjson.Path
}

func (c *compiler) referenceKeyword(n *node, key string, v *value, path strictjson.Path) bool {
	switch key {
	case "$ref":
		if to, ok := c.text(v, path); ok {
			c.refs = append(c.refs, reference{n, to, path})
		}
	case "$anchor":
		if name, ok := c.text(v, path); ok && c.anchors[name] != nil {
			c.fault(path, "is the anchor of another schema too; anchors must differ")
		} else if ok {
			c.anchors[name] = n
		}
	case "$defs", "definitions":
		c.named(v, path, func(string, *node) {})
	default:
		return false
	}
	return true
}

// resolveAll gives each reference its target. A target may stand where no keyword
// looked for a schema; compiling it can add references to the list.
func (c *compiler) resolveAll() {
	for i := 0; i < len(c.refs); i++ {
		r := c.refs[i]
		target, fault := c.resolve(r.to)
		if fault != "" {
			c.fault(r.path, fault)
			continue
		}
		lazily(&r.from.combined).ref = target
	}
}

func (c *compiler) resolve(ref string) (target *node, fault string) {
	local, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, "refers to another document, " + strconv.Quote(cut(ref)) +
			"; copy that schema into $defs and refer to #/$defs/NAME"
	}
	local, err := url.PathUnescape(local)
	switch {
	case err != nil:
		return nil, "must be a valid URI reference: " + err.Error()
	case local == "":
		return c.compile(c.document, ""), ""
	case local[0] == '/':
		if v, path := c.document.lookup(local); v != nil {
			return c.compile(v, path), ""
		}
	case c.anchors[local] != nil:
		return c.anchors[local], ""
	}
	return nil, "refers to " + strconv.Quote(cut(ref)) + ", which is not in this document"
}

// refuseLoops reports a schema that applies itself to the same value again, which
// would never end, and a chain of schemas that is too long.
func (c *compiler) refuseLoops() {
	heights := make(map[*node]int)
	for _, n := range c.order {
		if c.height(n, heights) > maxChain {
			c.fault(n.path, "nested too deep: too many schemas apply to one value")
			return
		}
	}
}

// height is how many schemas, n included, apply to one value through each other.
func (c *compiler) height(n *node, heights map[*node]int) int {
	const open = -1
	switch h := heights[n]; {
	case h == open:
		c.fault(n.path, "refers back to itself without going into a property or an item, so checking it would never end")
		return 0
	case h > 0:
		return h
	}
	heights[n] = open
	most := 0
	n.alongside(func(other *node) { most = max(most, c.height(other, heights)) })
	heights[n] = most + 1
	return most + 1
}
