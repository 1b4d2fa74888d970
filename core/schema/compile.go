package schema

import (
	"errors"
	"slices"

	"github.com/petrock/petrock/core/strictjson"
)

// A compiler turns one document into nodes. It goes on after a fault, so that one
// run names all of them.
type compiler struct {
	document *value
	nodes    map[*value]*node
	order    []*node // parents before children
	anchors  map[string]*node
	refs     []reference // to be resolved once all anchors are known
	errs     []error
}

// compile returns the node of a schema, the same one each time it is asked.
func (c *compiler) compile(v *value, path strictjson.Path) *node {
	if n, ok := c.nodes[v]; ok {
		return n
	}
	n := &node{raw: v.raw, path: path}
	c.nodes[v] = n
	c.order = append(c.order, n)
	switch v.raw[0] {
	case 'f':
		n.never = true
	case '{':
		for _, m := range v.members {
			c.keyword(n, m.key, m.value, path.Key(m.key))
		}
	case 't':
	default:
		c.mustBe("a schema (an object or a boolean)", v, path)
	}
	return n
}

// keyword reads one keyword into n. What no group knows is an annotation.
func (c *compiler) keyword(n *node, key string, v *value, path strictjson.Path) {
	if wayOut := unsupported(key); wayOut != "" {
		c.fault(path, "is not supported; "+wayOut)
		return
	}
	switch key {
	case "type":
		n.types = c.types(v, path)
	case "enum":
		if v.raw[0] != '[' {
			c.mustBe("an array", v, path)
		} else if len(v.items) == 0 {
			c.fault(path, "must hold at least one value")
		} else {
			n.literals = append(n.literals, newLiterals(v.items))
		}
	case "const":
		n.literals = append(n.literals, newLiterals([]*value{v}))
	case "$id":
		if v != c.document.get("$id") {
			c.fault(path, "is supported at the root alone; remove it and refer to this schema by its place or its $anchor")
		}
	default:
		_ = c.objectKeyword(n, key, v, path) || c.arrayKeyword(n, key, v, path) ||
			c.numberKeyword(n, key, v, path) || c.textKeyword(n, key, v, path) ||
			c.combinationKeyword(n, key, v, path) || c.referenceKeyword(n, key, v, path)
	}
}

// unsupported is the way out for a keyword that asserts something this package does
// not check, or "".
func unsupported(key string) string {
	switch key {
	case "unevaluatedProperties":
		return "use additionalProperties, beside the properties it is about"
	case "unevaluatedItems":
		return "use items, beside prefixItems"
	case "$dynamicRef", "$recursiveRef":
		return "use $ref"
	case "$dynamicAnchor", "$recursiveAnchor":
		return "use $anchor"
	case "dependencies":
		return "use dependentRequired or dependentSchemas"
	}
	return ""
}

func (c *compiler) fault(path strictjson.Path, message string) {
	c.errs = append(c.errs, errors.New(Problem{path, message}.line()))
}

func (c *compiler) mustBe(want string, v *value, path strictjson.Path) {
	c.fault(path, "must be "+want+", got "+strictjson.Describe(v.raw))
}

func (c *compiler) boolean(v *value, path strictjson.Path) bool {
	if v.raw[0] != 't' && v.raw[0] != 'f' {
		c.mustBe("a boolean", v, path)
	}
	return v.raw[0] == 't'
}

func (c *compiler) text(v *value, path strictjson.Path) (string, bool) {
	text, ok := strictjson.Unquote(v.raw)
	if !ok {
		c.mustBe("a string", v, path)
	}
	return text, ok
}

// texts reads an array of strings, each of them once.
func (c *compiler) texts(v *value, path strictjson.Path) []string {
	if v.raw[0] != '[' {
		c.mustBe("an array of strings", v, path)
	}
	var all []string
	for i, item := range v.items {
		text, ok := c.text(item, path.Index(i))
		if ok && slices.Contains(all, text) {
			c.fault(path.Index(i), "stands in the list twice")
		} else if ok {
			all = append(all, text)
		}
	}
	return all
}

// schemas reads an array of schemas, which may not be empty.
func (c *compiler) schemas(v *value, path strictjson.Path) []*node {
	if v.raw[0] != '[' {
		c.mustBe("an array of schemas", v, path)
		return nil
	}
	if len(v.items) == 0 {
		c.fault(path, "must hold at least one schema")
	}
	var all []*node
	for i, item := range v.items {
		all = append(all, c.compile(item, path.Index(i)))
	}
	return all
}

// named reads an object whose members are schemas.
func (c *compiler) named(v *value, path strictjson.Path, each func(name string, n *node)) {
	if c.isObject(v, path) {
		for _, m := range v.members {
			each(m.key, c.compile(m.value, path.Key(m.key)))
		}
	}
}

func (c *compiler) isObject(v *value, path strictjson.Path) bool {
	if v.raw[0] != '{' {
		c.mustBe("an object", v, path)
	}
	return v.raw[0] == '{'
}

// lazily returns what *p points to, and makes it first where there is nothing.
func lazily[T any](p **T) *T {
	if *p == nil {
		*p = new(T)
	}
	return *p
}
