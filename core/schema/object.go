package schema

import (
	"regexp"
	"strings"

	"github.com/petrock/petrock/core/strictjson"
)

// objectRules hold for objects.
type objectRules struct {
	members    map[string]property // all that a keyword names
	declared   []string            // those under properties, as the document orders them
	required   []string
	patterns   []patternRule
	additional *node // for members that neither properties nor patterns cover
	names      *node
	size       bounds

	dependencies []dependency // of dependentRequired and dependentSchemas
}

// A property is what the rules say about one member.
type property struct {
	node     *node // nil if properties does not name it
	required bool
}

// A patternRule holds for members whose name matches.
type patternRule struct {
	pattern *regexp.Regexp
	node    *node
}

// A dependency holds where a member is present.
type dependency struct {
	on       string
	required []string
	schema   *node
}

func (c *compiler) objectKeyword(n *node, key string, v *value, path strictjson.Path) bool {
	switch key {
	case "properties":
		rules := lazily(&n.object)
		c.named(v, path, func(name string, schema *node) {
			rules.declared = append(rules.declared, name)
			rules.set(name, func(p *property) { p.node = schema })
		})
	case "required":
		rules := lazily(&n.object)
		rules.required = c.texts(v, path)
		for _, name := range rules.required {
			rules.set(name, func(p *property) { p.required = true })
		}
	case "patternProperties":
		rules := lazily(&n.object)
		c.named(v, path, func(pattern string, schema *node) {
			rules.patterns = append(rules.patterns, patternRule{c.pattern(pattern, path.Key(pattern)), schema})
		})
	case "additionalProperties":
		lazily(&n.object).additional = c.compile(v, path)
	case "propertyNames":
		lazily(&n.object).names = c.compile(v, path)
	case "minProperties":
		lazily(&n.object).size.min, _ = c.count(v, path)
	case "maxProperties":
		b := &lazily(&n.object).size
		b.max, b.limited = c.count(v, path)
	case "dependentRequired":
		if rules := lazily(&n.object); c.isObject(v, path) {
			for _, m := range v.members {
				rules.dependencies = append(rules.dependencies, dependency{on: m.key, required: c.texts(m.value, path.Key(m.key))})
			}
		}
	case "dependentSchemas":
		rules := lazily(&n.object)
		c.named(v, path, func(name string, schema *node) {
			rules.dependencies = append(rules.dependencies, dependency{on: name, schema: schema})
		})
	default:
		return false
	}
	return true
}

func (r *objectRules) set(name string, change func(*property)) {
	if r.members == nil {
		r.members = make(map[string]property)
	}
	p := r.members[name]
	change(&p)
	r.members[name] = p
}

func (v *validation) object(r *objectRules, raw []byte, at *place) {
	size, required := 0, 0
	here := place{up: at, index: -1} // one for all members: inside the function below each would go to the heap
	_ = strictjson.Object(raw, func(key, value []byte) error {
		size++
		here.key = key
		p := r.members[string(key)]
		if p.required {
			required++
		}
		if r.names != nil {
			v.name(r.names, key, &here)
		}
		covered := p.node != nil
		if covered {
			v.check(p.node, value, &here)
		}
		for _, rule := range r.patterns {
			if rule.pattern.Match(key) {
				covered = true
				v.check(rule.node, value, &here)
			}
		}
		if !covered && r.additional != nil {
			if r.additional.never {
				v.fail(&here, func() string { return r.unknown(string(key)) })
			} else {
				v.check(r.additional, value, &here)
			}
		}
		return v.next()
	})
	if v.done() {
		return
	}
	v.within(r.size, size, at, "property", "properties", "")
	// Keys differ, so that counting the required ones is enough to know they are all there.
	if required < len(r.required) || len(r.dependencies) > 0 {
		v.presence(r, raw, at)
	}
}

// presence reports the properties that are missing, and checks what others depend on.
func (v *validation) presence(r *objectRules, raw []byte, at *place) {
	keys := make(map[string]bool)
	_ = strictjson.Object(raw, func(key, _ []byte) error {
		keys[string(key)] = true
		return nil
	})
	missing := func(names []string, message string) {
		for _, name := range names {
			if !keys[name] {
				v.fail(&place{at, []byte(name), -1}, func() string { return message })
			}
		}
	}
	missing(r.required, "required but missing")
	for _, d := range r.dependencies {
		if keys[d.on] {
			missing(d.required, "required but missing, since "+d.on+" is present")
			if d.schema != nil {
				v.check(d.schema, raw, at)
			}
		}
	}
}

// name checks a member's name, which to its schema is a string like any other.
func (v *validation) name(n *node, key []byte, at *place) {
	inner := validation{quiet: v.quiet, work: v.work}
	inner.check(n, strictjson.AppendString(nil, string(key)), nil)
	v.work = inner.work
	v.failed = v.failed || inner.failed
	for _, p := range inner.problems {
		v.fail(at, func() string { return "property name " + p.Message })
	}
}

// unknown is the message for a member that must not be there.
func (r *objectRules) unknown(key string) string {
	known := r.declared
	for _, p := range r.patterns {
		known = append(known[:len(known):len(known)], "names matching "+p.pattern.String())
	}
	if len(known) == 0 {
		return "is not a known property; none are"
	}
	message := "is not a known property; known: " + list(known, ", ")
	for _, name := range r.declared {
		if strings.EqualFold(plain(name), plain(key)) {
			return message + `; did you mean "` + name + `"?`
		}
	}
	return message
}

// plain is a name without what sets its words apart.
func plain(name string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(name)
}
