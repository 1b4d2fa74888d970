// Package schema holds JSON Schemas (2020-12) as values and checks raw JSON against them.
//
//	s, err := schema.Compile(`{
//		"type": "object",
//		"properties": {"limit": {"type": "integer", "maximum": 100}},
//		"required": ["limit"],
//		"additionalProperties": false
//	}`)
//	…
//	err = s.Validate([]byte(`{"limit": 250}`)) // limit: must be at most 100, got 250
//
// [Compile] refuses assertions that this package does not check ($dynamicRef,
// unevaluatedProperties, a $ref to another document). Annotations and unknown keywords are ignored,
// but [Schema.Text] keeps them. Of the formats, date and date-time are checked: they accept what of
// RFC 3339 Go's time.Time can be read from.
//
// Numbers are compared exactly, whatever their size. Messages tell a language model how to mend its
// input: where, what is wanted, what was got.
package schema

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/core/strictjson"
)

// A Schema is a compiled schema document. It is safe for concurrent use.
type Schema struct {
	text   string
	object bool
	root   *node
}

// Compile reads a schema document. Its error names every fault by its place in the
// document, one a line, such as "properties.age.minimum: must be a number, got a string".
func Compile(text string) (*Schema, error) {
	raw := []byte(text)
	if err := strictjson.Check(raw); err != nil {
		return nil, fmt.Errorf("reading schema: %w", err)
	}
	c := compiler{document: newPart("", bytes.TrimSpace(raw), ""), anchors: make(map[string]*node)}
	root := c.compile(c.document)
	c.resolveAll()
	for _, n := range c.nodes {
		c.measure(n)
	}
	if err := errors.Join(c.errs...); err != nil {
		return nil, err
	}
	object := root.types == objectKind && kindOf(c.document.child("type").raw) == stringKind
	return &Schema{text, object, root}, nil
}

// Text is the document as it was given to [Compile].
func (s *Schema) Text() string { return s.text }

// RootIsObject reports whether the document's root says "type": "object", and that alone.
func (s *Schema) RootIsObject() bool { return s.object }

// A Property is one that the root of a document lists.
type Property struct {
	Name        string
	Description string
	Required    bool
	IsText      bool     // its type is string, or string or null
	Choices     []string // the strings that its enum lists, in their order
}

// Properties returns the properties of the document's root, in their order.
func (s *Schema) Properties() []Property {
	rules := s.root.object
	if rules == nil {
		return nil
	}
	var all []Property
	for _, name := range rules.known {
		n := rules.properties[name]
		p := Property{Name: name, Required: slices.Contains(rules.required, name), IsText: n.types&^nullKind == stringKind}
		if description := n.part.child("description"); description != nil {
			p.Description, _ = strictjson.Unquote(description.raw)
		}
		if enum := n.part.child("enum"); enum != nil {
			for _, value := range enum.children {
				if choice, ok := strictjson.Unquote(value.raw); ok {
					p.Choices = append(p.Choices, choice)
				}
			}
		}
		all = append(all, p)
	}
	return all
}

// Validate checks one JSON value. Its error is a [*ValidationError], also for data that is not
// JSON.
func (s *Schema) Validate(data []byte) error {
	if err := strictjson.Check(data); err != nil {
		return &ValidationError{Problems: []Problem{{Message: "reading JSON: " + err.Error()}}}
	}
	v := validation{work: allowance(len(data))}
	v.check(s.root, bytes.TrimSpace(data), nil)
	switch {
	case v.work <= 0:
		const message = "takes too much work to check against this schema; send a smaller or flatter value"
		return &ValidationError{Problems: []Problem{{Message: message}}}
	case v.failed:
		return &ValidationError{v.problems, v.more}
	}
	return nil
}

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

func (p *part) child(name string) *part {
	for _, child := range p.children {
		if child.name == name {
			return child
		}
	}
	return nil
}

// A compiler turns one document into nodes. It collects all faults.
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

func (c *compiler) members(p *part) []*part {
	if !c.is(objectKind, p) {
		return nil
	}
	return p.children
}

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

// keyword reads one keyword into n.
func (c *compiler) keyword(n *node, p *part) {
	switch p.name {
	case "type":
		n.types = c.types(p)
	case "enum":
		n.literals = append(n.literals, newLiterals(c.items(p, 1)))
	case "const":
		n.literals = append(n.literals, newLiterals([]*part{p}))
	case "allOf":
		n.allOf = c.schemas(p)
	case "anyOf":
		n.anyOf = c.schemas(p)
	case "oneOf":
		n.oneOf = c.schemas(p)
	case "not":
		n.not = c.compile(p)
	case "if":
		n.condition = c.compile(p)
	case "then":
		n.then = c.compile(p)
	case "else":
		n.otherwise = c.compile(p)
	case "$ref":
		if c.is(stringKind, p) {
			n.ref = p
		}
	case "$anchor":
		if name, ok := c.text(p); ok && c.anchors[name] != nil {
			c.fault(p, "is the anchor of another schema too; anchors must differ")
		} else if ok {
			c.anchors[name] = n
		}
	case "$defs", "definitions":
		for _, schema := range c.members(p) {
			c.compile(schema)
		}
	case "$id":
		if p.path != "$id" {
			c.fault(p, "is supported at the root alone; remove it and refer to this schema by its place or its $anchor")
		}
	case "unevaluatedProperties":
		c.fault(p, "is not supported; use additionalProperties, beside the properties it is about")
	case "unevaluatedItems":
		c.fault(p, "is not supported; use items, beside prefixItems")
	case "$dynamicRef", "$recursiveRef":
		c.fault(p, "is not supported; use $ref")
	case "$dynamicAnchor", "$recursiveAnchor":
		c.fault(p, "is not supported; use $anchor")
	case "dependencies":
		c.fault(p, "is not supported; use dependentRequired or dependentSchemas")
	default:
		c.kindKeyword(n, p)
	}
}

// kindKeyword reads a keyword about values of one kind. Unknown ones are annotations.
func (c *compiler) kindKeyword(n *node, p *part) {
	switch p.name {
	case "properties":
		r := lazily(&n.object)
		r.properties = make(map[string]*node)
		for _, schema := range c.members(p) {
			r.known = append(r.known, schema.name)
			r.properties[schema.name] = c.compile(schema)
		}
	case "required":
		lazily(&n.object).required = c.texts(p)
	case "patternProperties":
		r := lazily(&n.object)
		for _, schema := range c.members(p) {
			r.patterns = append(r.patterns, patternRule{c.pattern(schema.name, schema), c.compile(schema)})
		}
	case "additionalProperties":
		lazily(&n.object).additional = c.compile(p)
	case "propertyNames":
		lazily(&n.object).names = c.compile(p)
	case "minProperties", "maxProperties":
		c.bound(&lazily(&n.object).size, p)
	case "dependentRequired":
		r := lazily(&n.object)
		for _, names := range c.members(p) {
			r.dependencies = append(r.dependencies, dependency{on: names.name, required: c.texts(names)})
		}
	case "dependentSchemas":
		r := lazily(&n.object)
		for _, schema := range c.members(p) {
			r.dependencies = append(r.dependencies, dependency{on: schema.name, schema: c.compile(schema)})
		}

	case "prefixItems":
		lazily(&n.array).prefix = c.schemas(p)
	case "items":
		if kindOf(p.raw) == arrayKind {
			c.fault(p, "must be a schema, got an array; use prefixItems for a schema each")
		} else {
			lazily(&n.array).items = c.compile(p)
		}
	case "contains":
		r := lazily(&n.array)
		if r.contains = c.compile(p); r.matches.min == nil {
			one := 1
			r.matches.min = &one
		}
	case "minContains", "maxContains":
		c.bound(&lazily(&n.array).matches, p)
	case "minItems", "maxItems":
		c.bound(&lazily(&n.array).length, p)
	case "uniqueItems":
		lazily(&n.array).unique = c.is(booleanKind, p) && p.raw[0] == 't'

	case "minLength", "maxLength":
		c.bound(&lazily(&n.text).length, p)
	case "pattern":
		if pattern, ok := c.text(p); ok {
			lazily(&n.text).pattern = c.pattern(pattern, p)
		}
	case "format":
		lazily(&n.text).format, _ = c.text(p)

	case "minimum":
		c.limit(n, p, limit{words: "at least", from: 0, to: 1})
	case "maximum":
		c.limit(n, p, limit{words: "at most", from: -1, to: 0})
	case "exclusiveMinimum":
		c.limit(n, p, limit{words: "more than", from: 1, to: 1})
	case "exclusiveMaximum":
		c.limit(n, p, limit{words: "less than", from: -1, to: -1})
	case "multipleOf":
		c.limit(n, p, limit{words: "a multiple of", multiple: true})
	}
}

// lazily returns what *p points to, and makes it if it is nil.
func lazily[T any](p **T) *T {
	if *p == nil {
		*p = new(T)
	}
	return *p
}

// maxChain is how many schemas may apply to one value through each other. With the
// greatest depth of a value it bounds the stack that a validation needs.
const maxChain = 256

// resolveAll gives each $ref its target, now that all anchors are known. That may add nodes.
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

// measure returns how many schemas, n included, apply to one value through each other. It refuses a
// chain that is too long, or that never ends.
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
