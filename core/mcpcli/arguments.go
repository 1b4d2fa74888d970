package mcpcli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/core/terminal"
)

// An input describes the arguments of a tool or prompt.
type input struct {
	properties []*Property
	open       bool // other arguments are allowed, or the schema refuses them
}

// A Property is a property of an object schema, or the elements of a list.
type Property struct {
	Name        string
	Required    bool
	Kinds       []string // JSON types; none means any
	Items       *Property
	Format      string
	Description string

	title        string
	enum         []json.RawMessage // the allowed values; none means any
	titles       []string          // of the allowed values; may be fewer
	defaultValue json.RawMessage   // nil if there is none
	raw          json.RawMessage   // the schema, with references into document
	document     map[string]json.RawMessage
}

// readInput reads the schema of a tool.
func readInput(schema json.RawMessage) input {
	in := input{properties: ReadProperties(schema)}
	in.open = len(in.properties) == 0 || strictjson.Member(schema, "additionalProperties") != nil
	return in
}

// ReadProperties returns the properties of an object schema, in order. It ignores keywords that it does
// not know, and invalid ones.
func ReadProperties(schema json.RawMessage) []*Property {
	document := map[string]json.RawMessage{}
	if err := strictjson.Unmarshal(schema, &document); err != nil || strictjson.First(document["properties"]) != '{' {
		return nil
	}
	var required []string
	_ = json.Unmarshal(document["required"], &required)
	var all []*Property
	total := maxSubschemas
	_ = strictjson.Object(document["properties"], func(key, value []byte) error {
		r := &reader{schema, min(total, maxOfProperty)}
		p := r.property(value)
		total -= min(total, maxOfProperty) - max(r.left, 0)
		p.Name, p.Required = string(key), slices.Contains(required, string(key))
		p.raw, p.document = value, document
		all = append(all, p)
		return nil
	})
	return all
}

// Limits on the number of subschemas that are read. A schema may be circular or hostile.
const (
	maxSubschemas = 2_000
	maxOfProperty = 100
)

type reader struct {
	document json.RawMessage
	left     int // number of subschemas that may still be read
}

func (r *reader) property(raw json.RawMessage) *Property {
	var s struct {
		Type, Enum, Const, Default, Items json.RawMessage
		Title, Description, Format        string
		EnumNames                         []string // of revision 2025-06-18
		AnyOf, OneOf                      []json.RawMessage
		Ref                               string `json:"$ref"`
	}
	if r.left--; r.left >= 0 {
		_ = json.Unmarshal(raw, &s)
	}
	p := &Property{Format: s.Format, Description: s.Description, title: s.Title, titles: s.EnumNames, defaultValue: s.Default}
	if kind, ok := strictjson.Unquote(s.Type); ok {
		p.Kinds = []string{kind}
	} else {
		_ = json.Unmarshal(s.Type, &p.Kinds)
	}
	if _ = json.Unmarshal(s.Enum, &p.enum); s.Const != nil {
		p.enum = []json.RawMessage{s.Const}
	}
	if s.Items != nil {
		p.Items = r.property(s.Items)
	}
	branches := append(s.AnyOf, s.OneOf...)
	if s.Ref != "" {
		branches = append(branches, lookUp(r.document, s.Ref))
	}
	r.addBranches(p, branches)
	return p
}

// addBranches adds the types and values of alternatives, or of a reference, to a property without its own.
func (r *reader) addBranches(p *Property, raw []json.RawMessage) {
	var all Property
	closed := true // all branches list their values
	for _, one := range raw {
		branch := r.property(one)
		all.Kinds = append(all.Kinds, branch.Kinds...)
		p.Items = cmp.Or(p.Items, branch.Items)
		p.Description, p.title = cmp.Or(p.Description, branch.Description), cmp.Or(p.title, branch.title)
		if slices.Equal(branch.Kinds, []string{"null"}) {
			branch.enum = []json.RawMessage{json.RawMessage("null")}
		}
		closed = closed && len(branch.enum) > 0
		for range branch.enum {
			all.titles = append(all.titles, branch.title)
		}
		all.enum = append(all.enum, branch.enum...)
	}
	if p.Kinds == nil {
		p.Kinds = all.Kinds
	}
	if closed && p.enum == nil {
		p.enum, p.titles = all.enum, all.titles
	}
}

// lookUp returns the part of a document that a reference such as #/$defs/a names, or nil.
func lookUp(document json.RawMessage, reference string) json.RawMessage {
	keys := strings.Split(reference, "/")
	if keys[0] != "#" {
		return nil
	}
	for _, key := range keys[1:] {
		document = strictjson.Member(document, strings.NewReplacer("~1", "/", "~0", "~").Replace(key))
	}
	return document
}

// IsList reports whether the property may be a list.
func (p *Property) IsList() bool { return slices.Contains(p.Kinds, "array") }

// Parse returns an argument as JSON. A text is JSON if the schema accepts that, and otherwise a string.
// Quotes are part of a string, unless the schema has no type. Several texts are a list. The error says why
// the schema does not accept the argument; the JSON is valid all the same.
func (p *Property) Parse(texts ...string) (json.RawMessage, error) {
	isList := len(texts) > 1 || p.IsList() && strictjson.First([]byte(texts[0])) != '['
	mayBeText := slices.Contains(p.Kinds, "string") || isList && p.Items != nil && slices.Contains(p.Items.Kinds, "string")
	read := func(asJSON bool) json.RawMessage {
		var values [][]byte
		for _, text := range texts {
			value := []byte(text)
			if !asJSON || strictjson.Check(value) != nil || mayBeText && strictjson.First(value) == '"' {
				value = strictjson.AppendString(nil, text)
			}
			values = append(values, value)
		}
		if !isList {
			return values[0]
		}
		return slices.Concat([]byte("["), bytes.Join(values, []byte(",")), []byte("]"))
	}
	value, text := read(true), read(false)
	compiled, err := p.compile()
	switch {
	case err != nil && mayBeText:
		return text, nil // the server validates it
	case err != nil:
		return value, nil
	}
	if err = compiled.Validate(value); err == nil {
		return value, nil
	}
	if textErr := compiled.Validate(text); textErr == nil || mayBeText {
		return text, textErr
	}
	return value, err
}

// compile compiles the schema of the property, with the definitions that it may reference.
func (p *Property) compile() (*schema.Schema, error) {
	own := map[string]any{"allOf": []json.RawMessage{p.raw}}
	for _, definitions := range []string{"$defs", "definitions"} {
		if p.document[definitions] != nil {
			own[definitions] = p.document[definitions]
		}
	}
	text, err := strictjson.Marshal(own)
	if err != nil {
		return nil, err
	}
	return schema.Compile(text)
}

// usage returns the property as on a command line, in brackets if it is optional.
func (p *Property) usage() string {
	text := terminal.Line(p.Name) + "=" + p.typeText()
	if !p.Required {
		return "[" + text + "]"
	}
	return text
}

// typeText returns the type of a property, or its values if it is an enum.
func (p *Property) typeText() string {
	if p.Items != nil && slices.Equal(p.Kinds, []string{"array"}) {
		return p.Items.elementText() + "…"
	}
	return p.elementText()
}

func (p *Property) elementText() string {
	var choices []string
	for _, value := range p.enum {
		choices = append(choices, shownValue(value))
	}
	switch {
	case len(choices) > 6:
		return strings.Join(choices[:5], "|") + "|…"
	case len(choices) > 0:
		return strings.Join(choices, "|")
	case len(p.Kinds) == 0:
		return "any"
	case len(p.Kinds) == 1:
		return p.Kinds[0]
	}
	isNull := func(kind string) bool { return kind == "null" }
	return strings.Join(slices.DeleteFunc(slices.Clone(p.Kinds), isNull), "|")
}

// shownValue returns a JSON value as a user types it.
func shownValue(raw json.RawMessage) string {
	if text, ok := strictjson.Unquote(raw); ok {
		return terminal.Plain(text)
	}
	return terminal.Plain(string(raw))
}

// arguments returns all arguments as on a command line.
func (in *input) arguments() string {
	var all []string
	for _, p := range in.properties {
		all = append(all, p.usage())
	}
	return strings.Join(all, " ")
}

// find returns the property with this name, or nil.
func (in *input) find(name string) *Property {
	if i := slices.IndexFunc(in.properties, func(p *Property) bool { return p.Name == name }); i >= 0 {
		return in.properties[i]
	}
	return nil
}

// texts returns the values of arguments such as name=value, by name.
func (in *input) texts(args []string) (map[string][]string, error) {
	all := map[string][]string{}
	for _, arg := range args {
		name, text, ok := strings.Cut(arg, "=")
		switch {
		case !ok || name == "" || !utf8.ValidString(arg):
			return nil, terminal.Usagef("%q is not an argument; write name=value", arg)
		case in.find(name) == nil && !in.open:
			return nil, terminal.Usagef("unknown argument %q; the arguments are %s", name, cmp.Or(in.arguments(), "none"))
		}
		all[name] = append(all[name], text)
	}
	return all, nil
}

const maxStdin = 64 << 20 // bytes of arguments on standard input

// parseArguments parses the arguments of a tool, and validates them against its schema. They are
// name=value, or - for a JSON object on standard input. name=value takes precedence.
func parseArguments(tool *mcp.Tool, args []string, stdin io.Reader) (json.RawMessage, error) {
	in, given := readInput(tool.InputSchema), map[string]json.RawMessage{}
	if slices.Contains(args, "-") {
		text, err := io.ReadAll(io.LimitReader(stdin, maxStdin+1))
		if err == nil && len(text) > maxStdin {
			err = fmt.Errorf("more than %d bytes", maxStdin)
		}
		if err == nil {
			err = strictjson.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &given)
		}
		if err != nil || given == nil {
			return nil, terminal.Usagef("standard input must be a JSON object, such as {\"a\": 1}: %w", cmp.Or(err, io.ErrUnexpectedEOF))
		}
		args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "-" })
	}
	texts, err := in.texts(args)
	if err != nil {
		return nil, err
	}
	for name, texts := range texts {
		given[name], _ = cmp.Or(in.find(name), &Property{}).Parse(texts...) // the whole object is validated below
	}
	raw, err := strictjson.Marshal(given)
	if err != nil {
		return nil, err
	}
	compiled, err := schema.Compile(tool.InputSchema)
	if err != nil {
		return raw, nil // the server validates it
	}
	if err := compiled.Validate(raw); err != nil {
		return nil, terminal.Usagef("%s: invalid arguments:\n%w\nusage: %s", tool.Name, err, describeTool(*tool).usage())
	}
	return raw, nil
}
