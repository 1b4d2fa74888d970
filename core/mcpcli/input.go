package mcpcli

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/strictjson"
)

// An input is what a tool takes, as far as its schema says so by name.
type input struct {
	properties []property
	open       bool // others may be given
}

// A property is one thing that a tool takes.
type property struct {
	name        string
	kinds       []string          // of JSON; none means any
	enum        []json.RawMessage // if there are any, the value is one of them
	titles      []string          // of those, for people; may be fewer
	title       string
	items       *property // of a list; nil if nothing is known of them
	description string
	fallback    json.RawMessage // what it is if it is not given; nil if that is not said
	required    bool
}

const (
	mostReferences = 8     // that are followed, should they lead in a circle
	mostSchemas    = 2_000 // that are read of one document, should they branch into each other
)

// readInput reads the schema of a tool. What cannot be read is not known.
func readInput(schema json.RawMessage) input {
	r := &reader{schema, mostSchemas}
	root := follow(schema, schema)
	in := input{}
	var required []string
	_ = strictjson.Unmarshal(root["required"], &required)
	if strictjson.First(root["properties"]) == '{' {
		_ = strictjson.Object(root["properties"], func(key, value []byte) error {
			p := r.property(value, mostReferences)
			p.name, p.required = string(key), slices.Contains(required, string(key))
			in.properties = append(in.properties, p)
			return nil
		})
	}
	more := root["additionalProperties"]
	in.open = len(in.properties) == 0 && strictjson.First(more) != 'f' || strictjson.First(more) == 't' || strictjson.First(more) == '{'
	for _, key := range []string{"patternProperties", "anyOf", "oneOf", "allOf", "if"} {
		if root[key] != nil {
			in.open = true // there may be names elsewhere
		}
	}
	return in
}

// follow reads a schema's members, those of what it refers to included.
func follow(document, raw json.RawMessage) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for range mostReferences {
		var members map[string]json.RawMessage
		if strictjson.First(raw) != '{' || strictjson.Unmarshal(raw, &members) != nil {
			return all
		}
		for key, value := range members {
			if _, ok := all[key]; !ok {
				all[key] = value
			}
		}
		reference, ok := strictjson.Unquote(members["$ref"])
		if !ok {
			return all
		}
		if raw = lookUp(document, reference); raw == nil {
			return all
		}
	}
	return all
}

// lookUp finds what a reference within a document means.
func lookUp(document json.RawMessage, reference string) json.RawMessage {
	path, ok := strings.CutPrefix(reference, "#")
	if !ok {
		return nil
	}
	at := document
	for _, key := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
		if path == "" {
			break
		}
		key = strings.ReplaceAll(strings.ReplaceAll(key, "~1", "/"), "~0", "~")
		var members map[string]json.RawMessage
		if strictjson.First(at) != '{' || strictjson.Unmarshal(at, &members) != nil {
			return nil
		}
		at = members[key]
	}
	return at
}

// A reader reads the schemas of a document.
type reader struct {
	document json.RawMessage
	left     int // schemas that may still be read
}

func (r *reader) property(raw json.RawMessage, depth int) property {
	if r.left--; r.left < 0 {
		return property{}
	}
	schema := follow(r.document, raw)
	p := property{fallback: schema["default"]}
	p.description, _ = strictjson.Unquote(schema["description"])
	p.title, _ = strictjson.Unquote(schema["title"])
	p.kinds = kindsOf(schema["type"])
	if strictjson.First(schema["enum"]) == '[' {
		_ = strictjson.Unmarshal(schema["enum"], &p.enum)
		_ = strictjson.Unmarshal(schema["enumNames"], &p.titles) // as revision 2025-06-18 has it
	}
	if value := schema["const"]; value != nil {
		p.enum = []json.RawMessage{value}
	}
	if depth == 0 {
		return p
	}
	if schema["items"] != nil {
		items := r.property(schema["items"], depth-1)
		p.items = &items
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if strictjson.First(schema[key]) == '[' {
			r.choose(&p, schema[key], depth)
		}
	}
	return p
}

// choose adds what the branches of a choice allow.
func (r *reader) choose(p *property, branches json.RawMessage, depth int) {
	closed := true
	var kinds []string
	var enum []json.RawMessage
	var titles []string
	_ = strictjson.Array(branches, func(raw []byte) error {
		branch := r.property(raw, depth-1)
		kinds = append(kinds, branch.kinds...)
		if branch.items != nil {
			p.items = branch.items
		}
		if len(branch.enum) == 0 && !slices.Equal(branch.kinds, []string{"null"}) {
			closed = false
		}
		enum = append(enum, branch.enum...)
		if len(branch.enum) == 1 && len(titles) == len(enum)-1 {
			titles = append(titles, branch.title)
		}
		return nil
	})
	if p.kinds == nil {
		p.kinds = kinds
	}
	if closed && p.enum == nil {
		if slices.Contains(kinds, "null") {
			enum = append(enum, json.RawMessage("null"))
		}
		p.enum, p.titles = enum, titles
	}
}

// kindsOf reads the member type of a schema.
func kindsOf(raw json.RawMessage) []string {
	if kind, ok := strictjson.Unquote(raw); ok {
		return []string{kind}
	}
	var kinds []string
	if strictjson.First(raw) == '[' {
		_ = strictjson.Unmarshal(raw, &kinds)
	}
	return kinds
}

// usage is how the property is written on a command line, for people: in brackets if it may be left out.
func (p *property) usage() string {
	text := plain(p.name) + "=" + p.what()
	if !p.required {
		return "[" + text + "]"
	}
	return text
}

// what says what the property is.
func (p *property) what() string {
	var choices []string
	for _, value := range p.enum {
		choices = append(choices, shownValue(value))
	}
	switch {
	case len(choices) > 0 && len(choices) <= 6:
		return strings.Join(choices, "|")
	case len(choices) > 0:
		return strings.Join(choices[:5], "|") + "|…"
	case len(p.kinds) == 0:
		return "any"
	case slices.Equal(p.kinds, []string{"array"}) && p.items != nil:
		return p.items.what() + "…"
	}
	return strings.Join(slices.DeleteFunc(slices.Clone(p.kinds), func(kind string) bool { return kind == "null" && len(p.kinds) > 1 }), "|")
}

// shownValue is a JSON value as one would type it.
func shownValue(raw json.RawMessage) string {
	if text, ok := strictjson.Unquote(raw); ok {
		return plain(text)
	}
	return plain(string(raw))
}
