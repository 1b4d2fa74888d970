package jsonschema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/petrock/petrock/core/strictjson"
)

// A Property describes a property of the root of a schema, or the elements of a list.
type Property struct {
	Name        string
	Required    bool
	Title       string
	Description string
	Format      string
	Kinds       []string          // JSON types; none means any
	Items       *Property         // the elements of a list; may be nil
	Enum        []json.RawMessage // the allowed values; none means any
	EnumTitles  []string          // of the allowed values; may be fewer
	Default     json.RawMessage   // nil if there is none
	Schema      *Schema           // nil if the document is invalid
}

// IsText reports whether the type is string, or string or null.
func (p *Property) IsText() bool {
	isNull := func(kind string) bool { return kind == "null" }
	return slices.Equal(slices.DeleteFunc(slices.Clone(p.Kinds), isNull), []string{"string"})
}

// IsList reports whether the property may be a list.
func (p *Property) IsList() bool { return slices.Contains(p.Kinds, "array") }

// Parse returns an argument as JSON. A text is JSON if the schema accepts that, and otherwise a
// string. Quotes are part of a string, unless the schema has no type. Several texts are a list. The
// error says why the schema does not accept the argument; the JSON is still valid.
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
	switch {
	case p.Schema == nil && mayBeText:
		return text, nil // the server validates it
	case p.Schema == nil:
		return value, nil
	}
	err := p.Schema.Validate(value)
	if err == nil {
		return value, nil
	}
	if textErr := p.Schema.Validate(text); textErr == nil || mayBeText {
		return text, textErr
	}
	return value, err
}

// Choices returns the strings of the enum.
func (p *Property) Choices() []string { return texts(p.Enum) }

// texts returns the strings of a list.
func texts(values []json.RawMessage) (all []string) {
	for _, value := range values {
		if text, ok := strictjson.Unquote(value); ok {
			all = append(all, text)
		}
	}
	return all
}

// ReadProperties returns the properties of the root, in the order of the document. The document may
// be that of another server: of an invalid one, ReadProperties returns what it can read.
func ReadProperties(document json.RawMessage) []*Property {
	root, err := compile(document)
	if root == nil {
		return nil
	}
	all := (&Schema{root}).Properties()
	if err != nil {
		for _, p := range all {
			p.Schema = nil
		}
	}
	return all
}

// Properties returns the properties of the root, in the order of the document.
func (s *Schema) Properties() []*Property {
	const maxSubschemas = 100 // per property, because a schema may refer to itself
	rules := s.root.object
	if rules == nil {
		return nil
	}
	var all []*Property
	for _, name := range rules.propertyOrder {
		budget := maxSubschemas
		p := rules.properties[name].describe(&budget)
		p.Name, p.Required = name, slices.Contains(rules.required, name)
		all = append(all, p)
	}
	return all
}

// describe reads at most budget subschemas of n.
func (n *node) describe(budget *int) *Property {
	p := &Property{Schema: &Schema{n}}
	if *budget--; *budget < 0 {
		return p
	}
	p.Kinds = n.types.choose(kindNames)
	for _, keyword := range n.part.children {
		switch keyword.name {
		case "title":
			p.Title, _ = strictjson.Unquote(keyword.raw)
		case "description":
			p.Description, _ = strictjson.Unquote(keyword.raw)
		case "format":
			p.Format, _ = strictjson.Unquote(keyword.raw)
		case "default":
			p.Default = keyword.raw
		case "const":
			p.Enum = []json.RawMessage{keyword.raw}
		case "enum":
			p.Enum = keyword.items()
		case "enumNames": // of revision 2025-06-18
			p.EnumTitles = texts(keyword.items())
		}
	}
	if n.array != nil && n.array.items != nil {
		p.Items = n.array.items.describe(budget)
	}
	p.addAlternatives(slices.Concat(n.anyOf, n.oneOf, n.allOf), budget)
	return p
}

// addAlternatives adds the types and values of subschemas to a property without its own.
func (p *Property) addAlternatives(nodes []*node, budget *int) {
	var all Property
	closed := true // all subschemas list their values
	for _, n := range nodes {
		one := n.describe(budget)
		all.Kinds = append(all.Kinds, one.Kinds...)
		p.Items = cmp.Or(p.Items, one.Items)
		p.Description, p.Title = cmp.Or(p.Description, one.Description), cmp.Or(p.Title, one.Title)
		if slices.Equal(one.Kinds, []string{"null"}) {
			one.Enum = []json.RawMessage{json.RawMessage("null")}
		}
		closed = closed && len(one.Enum) > 0
		for range one.Enum {
			all.EnumTitles = append(all.EnumTitles, one.Title)
		}
		all.Enum = append(all.Enum, one.Enum...)
	}
	if p.Kinds == nil {
		p.Kinds = all.Kinds
	}
	if closed && p.Enum == nil {
		p.Enum, p.EnumTitles = all.Enum, all.EnumTitles
	}
}
