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

// Limits, in bytes.
const (
	maxShown = 80       // of a value in a message
	maxStdin = 64 << 20 // of arguments on standard input
)

// parseArguments parses the arguments of a tool, and validates them against its schema.
func parseArguments(tool *mcp.Tool, args []string, stdin io.Reader) (json.RawMessage, error) {
	in := readInput(tool.InputSchema)
	given, err := in.parse(args, stdin)
	if err != nil {
		return nil, terminal.Usagef("%w", err)
	}
	if err := checkRequired(tool.Name, in, given); err != nil {
		return nil, err
	}
	raw, err := strictjson.Marshal(given)
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

// parse parses arguments such as name=value, and - for a JSON object on standard input. name=value takes
// precedence. An argument is a [json.RawMessage], or a list of them if it may be repeated.
func (in *input) parse(args []string, stdin io.Reader) (map[string]any, error) {
	given := map[string]any{}
	hasObject := false
	for _, arg := range args {
		if arg == "-" {
			hasObject = true
			continue
		}
		if !utf8.ValidString(arg) {
			return nil, fmt.Errorf("argument %q is not valid UTF-8", arg)
		}
		name, text, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("%q is not an argument; write name=value, or - for a JSON object on standard input", arg)
		}
		if err := in.add(given, name, text); err != nil {
			return nil, err
		}
	}
	if hasObject {
		return given, readObject(given, stdin)
	}
	return given, nil
}

func (in *input) add(given map[string]any, name, text string) error {
	p := in.find(name)
	if p == nil && !in.open {
		return fmt.Errorf("unknown argument %q; the tool takes %s", name, cmp.Or(in.arguments(), "no arguments"))
	}
	if p == nil {
		p = &property{name: name}
	}
	earlier, repeated := given[name]
	elements, hasElements := earlier.([]json.RawMessage)
	switch {
	case repeated && len(p.kinds) > 0 && !hasElements:
		return fmt.Errorf("%s is given twice, but is not a list", name)
	case p.isList() && !repeated && strings.HasPrefix(strings.TrimSpace(text), "["), len(p.kinds) > 1 && !repeated && text == "null" && slices.Contains(p.kinds, "null"):
		value := json.RawMessage(text)
		if err := strictjson.Check(value); err != nil {
			return fmt.Errorf("%s: must be a JSON list such as [1,2], or repeated as %s=value: %w", name, name, err)
		}
		given[name] = value
		return nil
	}
	isList := p.isList()
	if isList {
		p = p.item()
	}
	value, err := p.parse(text)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	case isList || hasElements:
		given[name] = append(elements, value)
	case repeated:
		given[name] = []json.RawMessage{earlier.(json.RawMessage), value}
	default:
		given[name] = value
	}
	return nil
}

func readObject(given map[string]any, stdin io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(stdin, maxStdin+1))
	if err != nil {
		return fmt.Errorf("read arguments from standard input: %w", err)
	}
	if len(text) > maxStdin {
		return fmt.Errorf("read arguments from standard input: more than %d bytes", maxStdin)
	}
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))
	if strictjson.First(text) != '{' {
		return fmt.Errorf("standard input must be a JSON object, such as {\"a\": 1}")
	}
	err = strictjson.Object(text, func(key, value []byte) error {
		if name := string(key); given[name] == nil {
			given[name] = json.RawMessage(value)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read arguments from standard input: %w", err)
	}
	return nil
}

func (p *property) parse(text string) (json.RawMessage, error) {
	if len(p.enum) > 0 {
		var allowed []string
		for _, value := range p.enum {
			if shownValue(value) == text || string(value) == text {
				return value, nil
			}
			allowed = append(allowed, shownValue(value))
		}
		return nil, fmt.Errorf("must be one of %s, got %q", strings.Join(allowed, ", "), strictjson.Clip(text, maxShown))
	}
	if len(p.kinds) == 0 {
		if raw := json.RawMessage(text); strictjson.Check(raw) == nil {
			return raw, nil
		}
		return strictjson.AppendString(nil, text), nil
	}
	raw := json.RawMessage(strings.TrimSpace(text))
	kind := strictjson.TypeName(raw)
	allowed := slices.Contains(p.kinds, kind) || kind == "number" && slices.Contains(p.kinds, "integer")
	if allowed && kind != "string" && strictjson.Check(raw) == nil {
		return raw, nil
	}
	if slices.Contains(p.kinds, "string") {
		return strictjson.AppendString(nil, text), nil
	}
	return nil, fmt.Errorf("must be %s, got %q", describeKinds(p.kinds), strictjson.Clip(text, maxShown))
}

func describeKinds(kinds []string) string {
	names := map[string]string{
		"number": "a number", "string": "a string", "integer": "an integer", "boolean": "true or false",
		"object": "a JSON object", "array": "a JSON list", "null": "null",
	}
	var all []string
	for _, kind := range kinds {
		if name, ok := names[kind]; ok {
			all = append(all, name)
		}
	}
	return strings.Join(all, " or ")
}

// checkRequired returns an error that lists the required arguments of a tool or prompt that are missing.
func checkRequired[T any](name string, in input, given map[string]T) error {
	var lines []string
	for _, p := range in.properties {
		if _, ok := given[p.name]; p.required && !ok {
			lines = append(lines, strings.TrimRight("  "+p.usage()+"  "+terminal.Line(p.description), " "))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return terminal.Usagef("%s: missing arguments:\n%s", terminal.Plain(name), strings.Join(lines, "\n"))
}

// find returns the property with this name, or nil.
func (in *input) find(name string) *property {
	for i := range in.properties {
		if in.properties[i].name == name {
			return &in.properties[i]
		}
	}
	return nil
}

// arguments returns all arguments as on a command line.
func (in *input) arguments() string {
	var all []string
	for _, p := range in.properties {
		all = append(all, p.usage())
	}
	return strings.Join(all, " ")
}
