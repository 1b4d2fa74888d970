package schema

import (
	"net/url"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/strictjson"
)

// maxChain is how many schemas may apply to one value through each other. With the
// greatest depth of a value it bounds the stack that a validation needs.
const maxChain = 256

// resolveAll gives each $ref its target, now that all anchors are known. A target may stand
// where no keyword looked for a schema; compiling it can add nodes to the list.
func (c *compiler) resolveAll() {
	for i := 0; i < len(c.nodes); i++ {
		n := c.nodes[i]
		if n.ref == nil {
			continue
		}
		if target, fault := c.resolve(n.ref); fault != "" {
			c.fault(n.ref, fault)
		} else {
			n.allOf = slices.Insert(n.allOf, 0, target)
		}
	}
}

func (c *compiler) resolve(ref *part) (target *node, fault string) {
	text, _ := strictjson.Unquote(ref.raw)
	local, ok := strings.CutPrefix(text, "#")
	if !ok {
		return nil, "refers to another document, " + excerpt(ref.raw) + "; copy that schema into $defs and refer to #/$defs/NAME"
	}
	local, err := url.PathUnescape(local)
	if err != nil {
		return nil, "must be a valid URI reference: " + err.Error()
	}
	if n := c.anchors[local]; n != nil {
		return n, ""
	}
	tokens := strings.Split(local, "/")
	p := c.document
	for _, token := range tokens[1:] {
		if p != nil {
			p = p.child(strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~"))
		}
	}
	if tokens[0] != "" || p == nil {
		return nil, "refers to " + excerpt(ref.raw) + ", which is not in this document"
	}
	return c.compile(p), ""
}

// measure returns how many schemas, n included, apply to one value through each other. It
// refuses a chain that is too long, and a schema that applies itself to the same value
// again, which would never end.
func (c *compiler) measure(n *node) int {
	const open = -1
	switch {
	case n.height > 0:
		return n.height
	case n.height == open:
		c.fault(n.part, "refers back to itself without going into a property or an item, so checking it would never end")
		return 0
	}
	n.height = open
	most := 0
	for _, other := range n.alongside() {
		most = max(most, c.measure(other))
	}
	n.combined = most > 0
	if n.height = most + 1; most == maxChain {
		c.fault(n.part, "nested too deep: too many schemas apply to one value")
	}
	return n.height
}
