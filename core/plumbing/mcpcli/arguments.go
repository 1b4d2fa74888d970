package mcpcli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/client"
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

// ParseArguments parses the arguments of a tool, and validates them against its schema. They are
// name=value, or - for a JSON object on standard input. name=value takes precedence.
func ParseArguments(tool *mcp.Tool, args []string, stdin io.Reader) (json.RawMessage, error) {
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

// complete completes the arguments of a command. It connects to the server, which must be in this
// process.
func (c *command) complete(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	server, _, err := c.target.Find(cmd.Context(), args, -1)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
	defer cancel()
	return Complete(cmd.Name(), args, prefix, func(method, field string) []json.RawMessage {
		connected, end, err := server.Connect(ctx, client.Options{Info: c.Info})
		if err != nil {
			return nil
		}
		defer end()
		entries, _ := connected.Entries(ctx, method, field)
		return entries
	})
}

// Complete completes prefix, an argument of a command such as call: the names in its list, or the
// arguments of a component. args are the arguments before it, from the name on. entries returns the
// entries of a list. Complete leaves out completions with characters that are not safe on a
// terminal.
func Complete(command string, args []string, prefix string, entries func(method, field string) []json.RawMessage) ([]string, cobra.ShellCompDirective) {
	directive := cobra.ShellCompDirectiveNoFileComp
	l, ok := map[string]list{"call": toolList, "read": resourceList, "prompt": promptList}[command]
	if !ok {
		return nil, directive
	}
	var all []string
	for _, one := range l.components(entries(l.method, l.field)) {
		if len(args) == 0 {
			all = append(all, one.id+"\t"+one.Description)
		} else if one.id == args[0] {
			all = readInput(one.InputSchema).suggest(args[1:], prefix)
			break
		}
	}
	var kept []string
	for _, suggested := range all {
		word, about, _ := strings.Cut(suggested, "\t")
		if !strings.HasPrefix(word, prefix) || terminal.Line(word) != word {
			continue
		}
		if strings.HasSuffix(word, "=") {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		if about = terminal.Line(about); about != "" {
			word = cobra.CompletionWithDesc(word, about)
		}
		kept = append(kept, word)
	}
	return kept, directive
}

// suggest returns names of arguments that are not given yet, or values of the argument being typed.
func (in input) suggest(given []string, prefix string) []string {
	name, _, hasValue := strings.Cut(prefix, "=")
	var all []string
	for _, p := range in.properties {
		if hasValue && p.Name == name {
			return suggestValues(p)
		}
		isGiven := func(arg string) bool { return strings.HasPrefix(arg, p.Name+"=") }
		if !hasValue && (p.IsList() || !slices.ContainsFunc(given, isGiven)) {
			all = append(all, p.Name+"=")
		}
	}
	return all
}

func suggestValues(p *Property) (all []string) {
	values := p.Enum
	if p.IsList() && p.Items != nil {
		values = p.Items.Enum
	}
	if values == nil && slices.Contains(p.Kinds, "boolean") {
		values = []json.RawMessage{json.RawMessage("true"), json.RawMessage("false")}
	}
	for _, value := range values {
		all = append(all, p.Name+"="+shownValue(value))
	}
	return all
}
