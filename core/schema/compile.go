package schema

import (
	"errors"
	"strconv"

	"github.com/petrock/petrock/core/strictjson"
)

// A part is a value somewhere in a schema document.
type part struct {
	name     string // its key or, in an array, its index
	raw      []byte // without space around it
	path     strictjson.Path
	children []*part // the members of an object or the items of an array
	node     *node   // if it was compiled as a schema
}

func newPart(name string, raw []byte, path strictjson.Path) *part {
	p := &part{name: name, raw: raw, path: path}
	switch kindOf(raw) {
	case objectKind:
		_ = strictjson.Members(raw, func(key, value []byte) error {
			p.children = append(p.children, newPart(string(key), value, path.Key(string(key))))
			return nil
		})
	case arrayKind:
		_ = strictjson.Elements(raw, func(item []byte) error {
			i := len(p.children)
			p.children = append(p.children, newPart(strconv.Itoa(i), item, path.Index(i)))
			return nil
		})
	}
	return p
}

// child returns the child of that name, or nil.
func (p *part) child(name string) *part {
	for _, child := range p.children {
		if child.name == name {
			return child
		}
	}
	return nil
}

// A compiler turns one document into nodes. It goes on after a fault, so that one
// run names all of them.
type compiler struct {
	document *part
	nodes    []*node // parents before children
	anchors  map[string]*node
	errs     []error
}

// compile returns the node of a schema, the same one each time it is asked.
func (c *compiler) compile(p *part) *node {
	if p.node != nil {
		return p.node
	}
	n := &node{part: p}
	p.node = n
	c.nodes = append(c.nodes, n)
	if c.is(objectKind|booleanKind, p) {
		n.never = p.raw[0] == 'f'
		for _, keyword := range p.children {
			c.keyword(n, keyword)
		}
	}
	return n
}

func (c *compiler) fault(p *part, message string) {
	c.errs = append(c.errs, errors.New(Problem{p.path, message}.line()))
}

// is reports whether p is of one of the kinds, and notes the fault if it is not.
func (c *compiler) is(want kinds, p *part) bool {
	ok := want.allow(kindOf(p.raw), p.raw)
	if !ok {
		c.fault(p, wanted{kinds: want}.message(p.raw))
	}
	return ok
}

// members reads an object.
func (c *compiler) members(p *part) []*part {
	if !c.is(objectKind, p) {
		return nil
	}
	return p.children
}

// items reads an array of at least so many items.
func (c *compiler) items(p *part, least int) []*part {
	if !c.is(arrayKind, p) {
		return nil
	}
	if len(p.children) < least {
		c.fault(p, "must not be empty")
	}
	return p.children
}

func (c *compiler) text(p *part) (string, bool) {
	text, _ := strictjson.Unquote(p.raw)
	return text, c.is(stringKind, p)
}

func (c *compiler) texts(p *part) []string {
	var all []string
	for _, item := range c.items(p, 0) {
		if text, ok := c.text(item); ok {
			all = append(all, text)
		}
	}
	return all
}

func (c *compiler) schemas(p *part) []*node {
	var all []*node
	for _, item := range c.items(p, 1) {
		all = append(all, c.compile(item))
	}
	return all
}
