package schema

import (
	"regexp"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/strictjson"
)

// objectRules hold for objects.
type objectRules struct {
	properties map[string]*node
	known      []string // the names of properties, as the document orders them
	required   []string
	patterns   []patternRule
	additional *node // for members that neither properties nor patterns cover
	names      *node
	size       bounds

	dependencies []dependency // of dependentRequired and dependentSchemas
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

func (v *validation) object(r *objectRules, raw []byte, at *place) {
	size, required := 0, 0
	here := place{up: at, index: -1} // one for all members: inside the function below each would go to the heap
	v.inside++
	_ = strictjson.Members(raw, func(key, value []byte) error {
		size++
		here.key = key
		if r.names != nil {
			here.name = true
			v.check(r.names, strictjson.AppendString(nil, string(key)), &here)
			here.name = false
		}
		for _, name := range r.required {
			if name == string(key) {
				required++
			}
		}
		property, covered := r.properties[string(key)]
		if covered {
			v.check(property, value, &here)
		}
		for _, rule := range r.patterns {
			if rule.pattern.Match(key) {
				covered = true
				v.check(rule.node, value, &here)
			}
		}
		switch {
		case covered || r.additional == nil:
		case r.additional.never:
			v.fail(&here, func() string { return r.unknown(string(key)) })
		default:
			v.check(r.additional, value, &here)
		}
		return v.next()
	})
	v.inside--
	if v.done() {
		return
	}
	v.within(r.size, size, at, "property", "properties", nil)
	// Keys differ, so that counting the required ones is enough to know they are all there.
	if required < len(r.required) || len(r.dependencies) > 0 {
		v.presence(r, raw, at)
	}
}

// presence reports the properties that are missing, and checks what others depend on.
func (v *validation) presence(r *objectRules, raw []byte, at *place) {
	keys := make(map[string]bool)
	_ = strictjson.Members(raw, func(key, _ []byte) error {
		keys[string(key)] = true
		return nil
	})
	missing := func(names []string, message string) {
		for _, name := range names {
			if !keys[name] {
				v.fail(&place{up: at, key: []byte(name), index: -1}, func() string { return message })
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

// unknown is the message for a member that must not be there.
func (r *objectRules) unknown(key string) string {
	names, hint := slices.Clone(r.known), ""
	for _, name := range r.known {
		if strings.EqualFold(name, key) {
			hint = `; did you mean "` + name + `"?`
		}
	}
	for _, p := range r.patterns {
		names = append(names, "names matching "+p.pattern.String())
	}
	if len(names) == 0 {
		return "is not a known property; none are"
	}
	return "is not a known property; known: " + list(names, ", ") + hint
}
