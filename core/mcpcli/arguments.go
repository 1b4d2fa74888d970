package mcpcli

import (
	"bytes"
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

// maxShown is how many bytes of a text a message shows.
const maxShown = 80

// mostInput limits the bytes read from standard input.
const mostInput = 64 << 20

// arguments parses the words after a tool's name as its arguments, and validates them against its
// schema.
func arguments(tool *mcp.Tool, words []string, in io.Reader) (json.RawMessage, error) {
	takes := readInput(tool.InputSchema)
	given, err := takes.read(words, in)
	if err != nil {
		return nil, terminal.Usagef("%w", err)
	}
	if err := takes.missing(given); err != nil {
		return nil, terminal.Usagef("%s: %w", terminal.Plain(tool.Name), err)
	}
	raw, err := given.encode()
	if err != nil {
		return nil, err
	}
	compiled, err := schema.Compile(string(tool.InputSchema))
	if err != nil {
		return raw, nil // the server validates it
	}
	if err := compiled.Validate(raw); err != nil {
		return nil, terminal.Usagef("%s: invalid arguments:\n%w", terminal.Plain(tool.Name), err)
	}
	return raw, nil
}

// values are the arguments of a tool, by name, in order.
type values struct {
	names []string
	of    map[string][]json.RawMessage // several if a name is repeated
	whole map[string]bool              // the value is not an element of a list
}

func (v *values) add(name string, value json.RawMessage) {
	if len(v.of[name]) == 0 {
		v.names = append(v.names, name)
	}
	v.of[name] = append(v.of[name], value)
}

func (v *values) encode() (json.RawMessage, error) {
	all := make(map[string]json.RawMessage, len(v.names))
	for _, name := range v.names {
		all[name] = v.of[name][0]
		if !v.whole[name] {
			list, err := strictjson.Marshal(v.of[name])
			if err != nil {
				return nil, err
			}
			all[name] = list
		}
	}
	return strictjson.Marshal(all)
}

// read parses words such as name=value, and - for a JSON object on standard input, over which
// name=value takes precedence.
func (in *input) read(words []string, stdin io.Reader) (*values, error) {
	given := &values{of: make(map[string][]json.RawMessage), whole: make(map[string]bool)}
	object := false
	for _, word := range words {
		if word == "-" {
			object = true
			continue
		}
		if !utf8.ValidString(word) { // JSON cannot hold it
			return nil, fmt.Errorf("argument %q is not valid UTF-8", word)
		}
		name, text, ok := strings.Cut(word, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("%q is not an argument; write name=value, or - for a JSON object on standard input", word)
		}
		if err := in.take(given, name, text); err != nil {
			return nil, err
		}
	}
	if object {
		return given, readObject(given, stdin)
	}
	return given, nil
}

func (in *input) take(given *values, name, text string) error {
	at := slices.IndexFunc(in.properties, func(p property) bool { return p.name == name })
	if at < 0 && !in.open {
		return fmt.Errorf("there is no argument %q; %s", name, in.there())
	}
	p := &property{name: name}
	if at >= 0 {
		p = &in.properties[at]
	}
	again := len(given.of[name]) > 0
	list := slices.Contains(p.kinds, "array")
	switch {
	case again && len(p.kinds) > 0 && (given.whole[name] || !list):
		return fmt.Errorf("%s is given twice, but is not a list", name)
	case list && !again && strings.HasPrefix(strings.TrimSpace(text), "["), len(p.kinds) > 1 && !again && text == "null" && slices.Contains(p.kinds, "null"):
		value := json.RawMessage(text)
		if err := strictjson.Check(value); err != nil {
			return fmt.Errorf("%s: a list in JSON, such as [1,2], or one %s=value after another: %w", name, name, err)
		}
		given.add(name, value)
		given.whole[name] = true
		return nil
	case list:
		item := p.items
		if item == nil {
			item = &property{}
		}
		value, err := item.parse(text)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		given.add(name, value)
		return nil
	}
	value, err := p.parse(text)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	given.add(name, value)
	given.whole[name] = !again
	return nil
}

func readObject(given *values, stdin io.Reader) error {
	if stdin == nil {
		stdin = strings.NewReader("")
	}
	text, err := io.ReadAll(io.LimitReader(stdin, mostInput+1))
	if err != nil {
		return fmt.Errorf("reading the arguments from standard input: %w", err)
	}
	if len(text) > mostInput {
		return fmt.Errorf("reading the arguments from standard input: more than %d bytes", mostInput)
	}
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))
	if strictjson.First(text) != '{' {
		return fmt.Errorf("standard input must be a JSON object, such as {\"a\": 1}")
	}
	err = strictjson.Object(text, func(key, value []byte) error {
		if name := string(key); len(given.of[name]) == 0 {
			given.add(name, bytes.Clone(value))
			given.whole[name] = true
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading the arguments from standard input: %w", err)
	}
	return nil
}

func (p *property) parse(text string) (json.RawMessage, error) {
	if len(p.enum) > 0 {
		var there []string
		for _, value := range p.enum {
			if shownValue(value) == text || string(value) == text {
				return value, nil
			}
			there = append(there, shownValue(value))
		}
		return nil, fmt.Errorf("must be one of %s, got %q", strings.Join(there, ", "), strictjson.Clip(text, maxShown))
	}
	if len(p.kinds) == 0 {
		if raw := json.RawMessage(text); strictjson.Check(raw) == nil {
			return raw, nil
		}
		return strictjson.AppendString(nil, text), nil
	}
	raw := json.RawMessage(strings.TrimSpace(text))
	if kind := kindOf(raw); kind != "string" && (slices.Contains(p.kinds, kind) || kind == "number" && slices.Contains(p.kinds, "integer")) {
		return raw, nil
	}
	if slices.Contains(p.kinds, "string") {
		return strictjson.AppendString(nil, text), nil
	}
	return nil, fmt.Errorf("must be %s, got %q", wanted(p.kinds), strictjson.Clip(text, maxShown))
}

// kindOf returns the JSON type of a text, or "" if it is not valid JSON.
func kindOf(raw json.RawMessage) string {
	if strictjson.Check(raw) != nil {
		return ""
	}
	switch strictjson.First(raw) {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

func wanted(kinds []string) string {
	var all []string
	for _, kind := range kinds {
		switch kind {
		case "number", "string":
			all = append(all, "a "+kind)
		case "integer":
			all = append(all, "a whole number")
		case "boolean":
			all = append(all, "true or false")
		case "object":
			all = append(all, "an object in JSON")
		case "array":
			all = append(all, "a list in JSON")
		case "null":
			all = append(all, "null")
		}
	}
	return strings.Join(all, " or ")
}

func (in *input) missing(given *values) error {
	var lines []string
	for _, p := range in.properties {
		if !p.required || len(given.of[p.name]) > 0 {
			continue
		}
		text := "  " + p.usage()
		if p.description != "" {
			text += "  " + terminal.Line(p.description)
		}
		lines = append(lines, text)
	}
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("missing arguments:\n%s", strings.Join(lines, "\n"))
}

func (in *input) there() string {
	if len(in.properties) == 0 {
		return "the tool has no arguments"
	}
	var all []string
	for _, p := range in.properties {
		all = append(all, p.usage())
	}
	return "the tool has " + strings.Join(all, " ")
}
