package mcpcli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/core/terminal"
)

// An Asker asks the user at a terminal.
type Asker struct {
	in       *bufio.Reader
	out      *terminal.PlainWriter
	progress *terminal.Progress // is hidden while a question is asked
}

// NewAsker returns an asker on standard input and standard error, or nil if one of them is not a
// terminal.
func NewAsker(env Env, progress *terminal.Progress) *Asker {
	if !terminal.IsTerminal(env.In) || !terminal.IsTerminal(env.Err) {
		return nil
	}
	return newAsker(env.In, env.Err, progress)
}

func newAsker(in io.Reader, out io.Writer, progress *terminal.Progress) *Asker {
	return &Asker{bufio.NewReader(in), terminal.NewPlainWriter(out, math.MaxInt), progress}
}

// maxMessage limits how much of a message of the server is shown, in bytes.
const maxMessage = 10 << 10

func suggested(text string) string {
	if text == "" {
		return ""
	}
	return " [" + text + "]"
}

// Line asks a question, and returns the line that the user types. fallback is shown as the default,
// and returned for an empty line.
func (a *Asker) Line(ctx context.Context, question, fallback string) (string, error) {
	text, err := a.line(ctx, question+suggested(fallback)+": ")
	return cmp.Or(text, fallback), err
}

func (a *Asker) line(ctx context.Context, question string) (string, error) {
	a.progress.End()
	fmt.Fprint(a.out, question)
	type answer struct {
		text string
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		text, err := a.in.ReadString('\n')
		if text != "" {
			err = nil
		}
		answers <- answer{strings.TrimSpace(text), err}
	}()
	select {
	case got := <-answers:
		return got.text, got.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// consent asks whether to go on. The end of input cancels.
func (a *Asker) consent(ctx context.Context, question string) (mcp.Action, error) {
	for {
		text, err := a.line(ctx, question+" [Y/n] ")
		switch strings.ToLower(text) {
		case "n", "no":
			return mcp.ActionDecline, nil
		case "y", "yes":
			return mcp.ActionAccept, nil
		case "":
			if errors.Is(err, io.EOF) {
				return mcp.ActionCancel, nil
			}
			if err != nil {
				return "", err
			}
			return mcp.ActionAccept, nil
		}
	}
}

func (a *Asker) visit(ctx context.Context, e *mcp.URLElicitation) error {
	a.progress.End()
	fmt.Fprintf(a.out, "The server asks you to open a page: %s\n  %s\n", strictjson.Clip(e.Message, maxMessage), strictjson.Clip(e.URL, maxMessage))
	var err error
	e.Action, err = a.consent(ctx, "Look at where it leads. Have you opened it?")
	return err
}

func (a *Asker) form(ctx context.Context, e *mcp.Elicitation) error {
	a.progress.End()
	fmt.Fprintf(a.out, "The server asks: %s\n", strictjson.Clip(e.Message, maxMessage))
	in := readInput(e.Schema)
	var err error
	if e.Action, err = a.consent(ctx, question(len(in.properties))); err != nil || e.Action != mcp.ActionAccept {
		return err
	}
	filled := map[string]json.RawMessage{}
	for _, p := range in.properties {
		value, err := a.field(ctx, &p, e.Schema)
		if errors.Is(err, io.EOF) {
			e.Action = mcp.ActionCancel
			return nil
		}
		if err != nil {
			return err
		}
		if value != nil {
			filled[p.name] = value
		}
	}
	e.Content, err = strictjson.Marshal(filled)
	return err
}

// field asks for one field until the answer is valid. It returns nil if the field is left out.
func (a *Asker) field(ctx context.Context, p *property, form json.RawMessage) (json.RawMessage, error) {
	a.choices(p)
	question := p.name
	if about := cmp.Or(terminal.Line(p.description), terminal.Line(p.title)); about != "" {
		question += ", " + about
	}
	question += " (" + p.what() + ")"
	if p.fallback != nil {
		question += suggested(shownValue(p.fallback))
	} else if !p.required {
		question += " [none]"
	}
	for {
		text, err := a.line(ctx, question+": ")
		if err != nil {
			return nil, err
		}
		if text == "" && (p.fallback != nil || !p.required) {
			return p.fallback, nil
		}
		value, err := p.answer(text)
		if err == nil {
			err = fits(form, p.name, value)
		}
		if err == nil {
			return value, nil
		}
		fmt.Fprintf(a.out, "  %v\n", err)
	}
}

func (a *Asker) choices(p *property) {
	if p.items != nil {
		p = p.items
	}
	for i, title := range p.titles {
		if i >= len(p.enum) {
			return
		}
		if value := shownValue(p.enum[i]); title != "" && title != value {
			fmt.Fprintf(a.out, "  %s: %s\n", value, terminal.Line(title))
		}
	}
}

// answer parses what the user typed. The elements of a list are separated by commas.
func (p *property) answer(text string) (json.RawMessage, error) {
	if !slices.Contains(p.kinds, "array") {
		return p.parse(text)
	}
	item := p.items
	if item == nil {
		item = &property{}
	}
	all := []json.RawMessage{}
	for _, part := range strings.Split(text, ",") {
		value, err := item.parse(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		all = append(all, value)
	}
	return strictjson.Marshal(all)
}

func fits(form json.RawMessage, name string, value json.RawMessage) error {
	var parts struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if strictjson.Unmarshal(form, &parts) != nil {
		return nil
	}
	compiled, err := schema.Compile(string(parts.Properties[name]))
	if err != nil {
		return nil // the server validates it
	}
	return compiled.Validate(value)
}

func question(n int) string {
	if n == 1 {
		return "Answer one question?"
	}
	return fmt.Sprintf("Answer %d questions?", n)
}

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
