package schema

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/petrock/petrock/core/strictjson"
)

// A Schema is a compiled schema document. It never changes, so that several
// goroutines may use one at once. [Compile] makes it.
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
	IsText      bool // its type is string, or string or null
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
		all = append(all, p)
	}
	return all
}

// Choices returns the strings that the document lists by enum for a property of its root, in
// their order, or nil if it lists none.
func (s *Schema) Choices(property string) []string {
	if s.root.object == nil || s.root.object.properties[property] == nil {
		return nil
	}
	enum := s.root.object.properties[property].part.child("enum")
	if enum == nil {
		return nil
	}
	var choices []string
	for _, value := range enum.children {
		if choice, ok := strictjson.Unquote(value.raw); ok {
			choices = append(choices, choice)
		}
	}
	return choices
}

// Validate checks one JSON value. It returns nil or a [*ValidationError], also
// where data is not JSON at all or holds a key twice.
func (s *Schema) Validate(data []byte) error {
	if err := strictjson.Check(data); err != nil {
		return &ValidationError{Problems: []Problem{{Message: "reading JSON: " + err.Error()}}}
	}
	return s.ValidateChecked(data)
}

// ValidateChecked is [Schema.Validate] for data that [strictjson.Check] is known to accept.
func (s *Schema) ValidateChecked(data []byte) error {
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
