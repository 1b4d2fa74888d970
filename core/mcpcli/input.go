package mcpcli

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/core/terminal"
)

// An input describes the arguments of a tool, as far as its schema names them.
type input struct {
	properties []property
	open       bool // other arguments are allowed
}

// A property is one argument of a tool.
type property struct {
	name        string
	kinds       []string          // JSON types; none means any
	enum        []json.RawMessage // the allowed values; none means any
	titles      []string          // of the allowed values; may be fewer
	title       string
	items       *property // of a list; nil if the schema does not describe them
	description string
	fallback    json.RawMessage // the default; nil if there is none
	required    bool
}

const (
	mostReferences = 8     // limits the references that are followed, which may be circular
	mostSchemas    = 2_000 // limits the subschemas that are read of one document
)

// readInput reads the schema of a tool. It ignores what it cannot read.
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
			in.open = true // there may be further names
		}
	}
	return in
}

// follow returns the members of a schema, and of the schemas that it refers to.
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

// lookUp resolves a reference within a document.
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

// A reader reads the subschemas of a document.
type reader struct {
	document json.RawMessage
	left     int // subschemas that may still be read
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

// choose adds what the branches of anyOf or oneOf allow.
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

// kindsOf reads the member "type" of a schema.
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

// usage shows the property as on a command line, in brackets if it is optional.
func (p *property) usage() string {
	text := terminal.Plain(p.name) + "=" + p.what()
	if !p.required {
		return "[" + text + "]"
	}
	return text
}

// what describes the values of the property.
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

// shownValue returns a JSON value as a user types it.
func shownValue(raw json.RawMessage) string {
	if text, ok := strictjson.Unquote(raw); ok {
		return terminal.Plain(text)
	}
	return terminal.Plain(string(raw))
}
