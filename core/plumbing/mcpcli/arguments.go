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

	"github.com/petrock/petrock/core/internal/jsonschema"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/core/strictjson"
)

// An input describes the arguments of a tool or prompt.
type input struct {
	properties []*Property
	open       bool // other arguments are allowed, or the schema refuses them
}

// A Property is a property of an object schema.
type Property = jsonschema.Property

// readInput reads the schema of a tool.
func readInput(schema json.RawMessage) input {
	in := input{properties: ReadProperties(schema)}
	in.open = len(in.properties) == 0 || strictjson.Member(schema, "additionalProperties") != nil
	return in
}

// ReadProperties returns the properties of an object schema, in order. The schema may be invalid.
func ReadProperties(schema json.RawMessage) []*Property { return jsonschema.ReadProperties(schema) }

// typeText returns the type of a property, or its values if it is an enum.
func typeText(p *Property) string {
	if p.Items != nil && slices.Equal(p.Kinds, []string{"array"}) {
		return elementText(p.Items) + "…"
	}
	return elementText(p)
}

func elementText(p *Property) string {
	var choices []string
	for _, value := range p.Enum {
		choices = append(choices, shownValue(value))
	}
	switch {
	case len(choices) > 6:
		return strings.Join(choices[:5], "|") + "|…"
	case len(choices) > 0:
		return strings.Join(choices, "|")
	}
	isNull := func(kind string) bool { return kind == "null" }
	return cmp.Or(strings.Join(slices.DeleteFunc(slices.Clone(p.Kinds), isNull), "|"), "any")
}

// shownValue returns a JSON value as a user types it.
func shownValue(raw json.RawMessage) string {
	if text, ok := strictjson.Unquote(raw); ok {
		return terminal.Plain(text)
	}
	return terminal.Plain(string(raw))
}

// arguments returns all arguments as on a command line. Optional ones are in brackets.
func (in input) arguments() string {
	var all []string
	for _, p := range in.properties {
		text := terminal.Line(p.Name) + "=" + typeText(p)
		if !p.Required {
			text = "[" + text + "]"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// find returns the property with this name, or nil.
func (in input) find(name string) *Property {
	if i := slices.IndexFunc(in.properties, func(p *Property) bool { return p.Name == name }); i >= 0 {
		return in.properties[i]
	}
	return nil
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
	texts := map[string][]string{}
	for _, arg := range args {
		name, text, ok := strings.Cut(arg, "=")
		switch {
		case !ok || name == "" || !utf8.ValidString(arg):
			return nil, terminal.Usagef("%q is not an argument; write name=value", arg)
		case in.find(name) == nil && !in.open:
			return nil, terminal.Usagef("unknown argument %q; the arguments are %s", name, in.arguments())
		}
		texts[name] = append(texts[name], text)
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
