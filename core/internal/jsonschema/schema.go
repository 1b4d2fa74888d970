// Package jsonschema implements package schema and its inference. Only packages of core use it.
package jsonschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/core/internal/decimal"
	"github.com/petrock/petrock/core/strictjson"
)

// A Schema is a compiled schema document. It is safe for concurrent use.
type Schema struct{ root *node }

// Compile compiles a schema document. Its error has a line for each invalid part of the document,
// such as "properties.age.minimum: must be a number, got a string".
func Compile(document json.RawMessage) (*Schema, error) {
	root, err := compile(document)
	if err != nil {
		return nil, err
	}
	return &Schema{root}, nil
}

// compile is [Compile]. If only parts of the document are invalid, it returns the root as well.
func compile(document json.RawMessage) (root *node, err error) {
	if err := strictjson.Check(document); err != nil {
		return nil, fmt.Errorf("parse schema: %w", err)
	}
	raw := bytes.Clone(bytes.TrimSpace(document)) // the caller may modify document later
	c := compiler{document: newPart("", raw, ""), anchors: make(map[string]*node)}
	root = c.compile(c.document)
	for i := 0; i < len(c.nodes); i++ { // after all anchors are known; resolve may add nodes
		c.resolve(c.nodes[i])
	}
	for _, n := range c.nodes {
		c.checkDepth(n)
	}
	return root, errors.Join(c.errs...)
}

// RootIsObject reports whether "type" of the root is "object".
func (s *Schema) RootIsObject() bool {
	return s.root.types == objectKind && kindOf(s.root.part.child("type").raw) == stringKind
}

// Validate validates one JSON value. Its error has a line for each problem, such as "limit: must be
// at most 100, got 250", in the order of the value.
func (s *Schema) Validate(data json.RawMessage) error {
	if err := strictjson.Check(data); err != nil {
		return fmt.Errorf("parse JSON: %w", err)
	}
	return s.ValidateChecked(data)
}

// ValidateChecked is a faster [Schema.Validate] for data that [strictjson.Check] accepts. It may
// panic on other input.
func (s *Schema) ValidateChecked(data json.RawMessage) error {
	v := validation{work: 1<<25 + 64*len(data)}
	v.check(s.root, bytes.TrimSpace(data), nil)
	switch {
	case v.work <= 0:
		return errors.New("is too expensive to validate against this schema; send a smaller or flatter value")
	case v.more > 0:
		v.problems = append(v.problems, "and "+count(v.more, "more problem", "more problems"))
	case !v.failed:
		return nil
	}
	return errors.New(strings.Join(v.problems, "\n"))
}

// A compiler compiles one document into nodes. It collects all errors.
type compiler struct {
	document *part
	nodes    []*node // parents before children
	anchors  map[string]*node
	errs     []error
}

// compile returns the node of a schema. It compiles each part once.
func (c *compiler) compile(p *part) *node {
	if p.node != nil {
		return p.node
	}
	n := &node{part: p}
	p.node = n
	c.nodes = append(c.nodes, n)
	if c.requireKind(objectKind|booleanKind, p) {
		n.rejectsAll = p.raw[0] == 'f'
		for _, keyword := range p.children {
			c.keyword(n, keyword)
		}
	}
	return n
}

func (c *compiler) addError(p *part, message string) {
	c.errs = append(c.errs, errors.New(problemLine(p.path, message)))
}

// requireKind reports whether p is of one of the kinds. If not, it adds an error.
func (c *compiler) requireKind(want kinds, p *part) bool {
	ok := want.includes(kindOf(p.raw), p.raw)
	if !ok {
		c.addError(p, expectation{kinds: want}.message(p.raw))
	}
	return ok
}

func (c *compiler) members(p *part) []*part {
	if !c.requireKind(objectKind, p) {
		return nil
	}
	return p.children
}

func (c *compiler) items(p *part, minimum int) []*part {
	if !c.requireKind(arrayKind, p) {
		return nil
	}
	if len(p.children) < minimum {
		c.addError(p, "must not be empty")
	}
	return p.children
}

func (c *compiler) text(p *part) (string, bool) {
	text, _ := strictjson.Unquote(p.raw)
	return text, c.requireKind(stringKind, p)
}

func (c *compiler) stringList(p *part) (all []string) {
	for _, item := range c.items(p, 0) {
		if text, ok := c.text(item); ok {
			all = append(all, text)
		}
	}
	return all
}

func (c *compiler) schemas(p *part) (all []*node) {
	for _, item := range c.items(p, 1) {
		all = append(all, c.compile(item))
	}
	return all
}

// keyword compiles a keyword. Unknown keywords are annotations.
func (c *compiler) keyword(n *node, p *part) {
	if remedy, ok := unsupported[p.name]; ok {
		c.addError(p, "is not supported; use "+remedy)
	}
	if l, ok := numberLimits[p.name]; ok {
		c.addLimit(n, p, l)
	}
	c.generalKeyword(n, p)
	c.objectKeyword(n, p)
	c.arrayKeyword(n, p)
	c.stringKeyword(n, p)
}

// unsupported maps each keyword that this package cannot check to its replacement.
var unsupported = map[string]string{
	"unevaluatedProperties": "additionalProperties next to properties",
	"unevaluatedItems":      "items next to prefixItems",
	"$dynamicRef":           "$ref",
	"$recursiveRef":         "$ref",
	"$dynamicAnchor":        "$anchor",
	"$recursiveAnchor":      "$anchor",
	"dependencies":          "dependentRequired or dependentSchemas",
}

func (c *compiler) generalKeyword(n *node, p *part) {
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
		n.thenNode = c.compile(p)
	case "else":
		n.elseNode = c.compile(p)
	case "$ref":
		if c.requireKind(stringKind, p) {
			n.ref = p
		}
	case "$anchor":
		if name, ok := c.text(p); ok && c.anchors[name] != nil {
			c.addError(p, "is already the anchor of another schema")
		} else if ok {
			c.anchors[name] = n
		}
	case "$defs", "definitions":
		for _, schema := range c.members(p) {
			c.compile(schema)
		}
	case "$id":
		if p.path != "$id" {
			c.addError(p, "is supported only at the root; remove it, and refer to this schema by its path or its $anchor")
		}
	}
}

func (c *compiler) objectKeyword(n *node, p *part) {
	switch p.name {
	case "properties":
		r := ensure(&n.object)
		r.properties = make(map[string]*node)
		for _, schema := range c.members(p) {
			r.propertyOrder = append(r.propertyOrder, schema.name)
			r.properties[schema.name] = c.compile(schema)
		}
	case "required":
		ensure(&n.object).required = c.stringList(p)
	case "patternProperties":
		r := ensure(&n.object)
		for _, schema := range c.members(p) {
			r.patterns = append(r.patterns, patternRule{c.pattern(schema.name, schema), c.compile(schema)})
		}
	case "additionalProperties":
		ensure(&n.object).additional = c.compile(p)
	case "propertyNames":
		ensure(&n.object).nameSchema = c.compile(p)
	case "minProperties", "maxProperties":
		c.setBound(&ensure(&n.object).size, p)
	case "dependentRequired":
		r := ensure(&n.object)
		for _, names := range c.members(p) {
			r.dependencies = append(r.dependencies, dependency{on: names.name, required: c.stringList(names)})
		}
	case "dependentSchemas":
		r := ensure(&n.object)
		for _, schema := range c.members(p) {
			r.dependencies = append(r.dependencies, dependency{on: schema.name, schema: c.compile(schema)})
		}
	}
}

func (c *compiler) arrayKeyword(n *node, p *part) {
	switch p.name {
	case "prefixItems":
		ensure(&n.array).prefix = c.schemas(p)
	case "items":
		if kindOf(p.raw) == arrayKind {
			c.addError(p, "must be a schema, got an array; use prefixItems for a list of schemas")
		} else {
			ensure(&n.array).items = c.compile(p)
		}
	case "contains":
		r := ensure(&n.array)
		r.contains = c.compile(p)
		if r.matches.min == nil {
			r.matches.min = new(1)
		}
	case "minContains", "maxContains":
		c.setBound(&ensure(&n.array).matches, p)
	case "minItems", "maxItems":
		c.setBound(&ensure(&n.array).length, p)
	case "uniqueItems":
		ensure(&n.array).unique = c.requireKind(booleanKind, p) && p.raw[0] == 't'
	}
}

func (c *compiler) stringKeyword(n *node, p *part) {
	switch p.name {
	case "minLength", "maxLength":
		c.setBound(&ensure(&n.text).length, p)
	case "pattern":
		if pattern, ok := c.text(p); ok {
			ensure(&n.text).pattern = c.pattern(pattern, p)
		}
	case "format":
		name, _ := c.text(p)
		ensure(&n.text).format = formats[name]
	}
}

// types compiles the type keyword, a name or a list of names.
func (c *compiler) types(p *part) kinds {
	types := []*part{p}
	if kindOf(p.raw) == arrayKind {
		types = c.items(p, 1)
	}
	var set kinds
	for _, one := range types {
		name, _ := strictjson.Unquote(one.raw)
		if i := slices.Index(kindNames, name); i >= 0 {
			set |= 1 << i
		} else {
			c.addError(one, "must be "+strings.Join(kindNames[:6], ", ")+" or null, got "+excerpt(one.raw))
		}
	}
	return set
}

func (c *compiler) pattern(pattern string, p *part) *regexp.Regexp {
	re, err := regexp.Compile(pattern)
	if err != nil {
		c.addError(p, "invalid pattern: "+err.Error()+
			"; Go's regular expressions do not support lookaround, backreferences or \\u escapes")
	}
	return re
}

// addLimit adds l to n, with the number of the keyword p.
func (c *compiler) addLimit(n *node, p *part, l limit) {
	if !c.requireKind(numberKind, p) {
		return
	}
	l.text, l.number = excerpt(p.raw), decimal.Parse(nil, p.raw)
	if l.multiple && l.number.Sign <= 0 {
		c.addError(p, "must be more than 0, got "+l.text)
	}
	if digits := len(l.number.Digits); l.multiple && digits > maxDivisor {
		c.addError(p, fmt.Sprintf("must have at most %d digits, got %d", maxDivisor, digits))
	}
	n.number = append(n.number, l)
}

// setBound compiles a keyword such as minItems or maxItems.
func (c *compiler) setBound(b *bounds, p *part) {
	f, _ := strconv.ParseFloat(string(p.raw), 64)
	if c.requireKind(integerKind, p) && f < 0 {
		c.addError(p, "must be at least 0, got "+excerpt(p.raw))
	}
	n := int(min(f, math.MaxInt32))
	if strings.HasPrefix(p.name, "min") {
		b.min = &n
	} else {
		b.max = &n
	}
}

// ensure returns *p, and allocates it if it is nil.
func ensure[T any](p **T) *T {
	if *p == nil {
		*p = new(T)
	}
	return *p
}

// maxChain limits how many nested schemas apply to one value. Together with the maximum depth of a
// value it bounds the stack that a validation needs.
const maxChain = 256

// resolve adds the target of the $ref of n, if it has one, to allOf.
func (c *compiler) resolve(n *node) {
	if n.ref == nil {
		return
	}
	text, _ := strictjson.Unquote(n.ref.raw)
	local, isLocal := strings.CutPrefix(text, "#")
	local, err := url.PathUnescape(local)
	tokens := strings.Split(local, "/")
	p := c.document
	for _, token := range tokens[1:] {
		if p != nil {
			p = p.child(strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~"))
		}
	}
	target := c.anchors[local]
	switch {
	case !isLocal:
		c.addError(n.ref, "refers to another document, "+excerpt(n.ref.raw)+"; copy that schema into $defs and refer to #/$defs/NAME")
		return
	case err != nil:
		c.addError(n.ref, "must be a valid URI reference: "+err.Error())
		return
	case target != nil:
	case tokens[0] != "" || p == nil:
		c.addError(n.ref, "refers to "+excerpt(n.ref.raw)+", which is not in this document")
		return
	default:
		target = c.compile(p)
	}
	n.allOf = slices.Insert(n.allOf, 0, target)
}

// checkDepth returns how many nested schemas, including n, apply to one value. It adds an error if
// they are too many, or if n refers to itself.
func (c *compiler) checkDepth(n *node) int {
	const visiting = -1
	switch {
	case n.height > 0:
		return n.height
	case n.height == visiting:
		c.addError(n.part, "refers to itself without entering a property or an item, so validation would never end")
		return 0
	}
	n.height = visiting
	deepest := 0
	for _, other := range n.sameValueNodes() {
		deepest = max(deepest, c.checkDepth(other))
	}
	n.combined = deepest > 0
	n.height = deepest + 1
	if deepest == maxChain {
		c.addError(n.part, "nested too deep: too many schemas apply to one value")
	}
	return n.height
}

// A part is a value in a schema document.
type part struct {
	name     string // key, or index in an array
	raw      []byte // without surrounding space
	path     strictjson.Path
	children []*part // members of an object, or items of an array
	node     *node   // set if the part is compiled as a schema
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

// items returns the items of an array, or nil.
func (p *part) items() (all []json.RawMessage) {
	for _, item := range p.children {
		all = append(all, item.raw)
	}
	return all
}
