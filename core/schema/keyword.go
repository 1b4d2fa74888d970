package schema

// keyword reads one keyword into n. Those that assert something this package does not
// check are refused.
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

// kindKeyword reads a keyword about values of one kind. What is not known here either is
// an annotation.
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

// lazily returns what *p points to, and makes it first where there is nothing.
func lazily[T any](p **T) *T {
	if *p == nil {
		*p = new(T)
	}
	return *p
}
