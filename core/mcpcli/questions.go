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

// An Asker asks the user questions on a terminal.
type Asker struct {
	in       *bufio.Reader
	out      *terminal.PlainWriter
	progress *terminal.Progress // hidden while a question is asked
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

const maxMessage = 10 << 10 // bytes of a server's message that are shown

// Line asks a question, and returns the line that the user types, or defaultAnswer for an empty line.
func (a *Asker) Line(ctx context.Context, question, defaultAnswer string) (string, error) {
	if defaultAnswer != "" {
		question += " [" + defaultAnswer + "]"
	}
	text, err := a.line(ctx, question+": ")
	return cmp.Or(text, defaultAnswer), err
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

// consent asks whether to continue. The end of input cancels.
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
	fmt.Fprintf(a.out, "The server asks you to open a web page: %s\n  %s\n", strictjson.Clip(e.Message, maxMessage), strictjson.Clip(e.URL, maxMessage))
	var err error
	e.Action, err = a.consent(ctx, "Check the address before you open it. Have you opened it?")
	return err
}

func (a *Asker) form(ctx context.Context, e *mcp.Elicitation) error {
	a.progress.End()
	fmt.Fprintf(a.out, "The server asks: %s\n", strictjson.Clip(e.Message, maxMessage))
	in := readInput(e.Schema)
	var err error
	if e.Action, err = a.consent(ctx, consentQuestion(len(in.properties))); err != nil || e.Action != mcp.ActionAccept {
		return err
	}
	filled := map[string]json.RawMessage{}
	for _, p := range in.properties {
		value, err := a.askField(ctx, &p, e.Schema)
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

// askField asks for a field until the answer is valid. It returns nil if the user leaves it out.
func (a *Asker) askField(ctx context.Context, p *property, form json.RawMessage) (json.RawMessage, error) {
	a.showChoices(p)
	question := p.name
	if about := cmp.Or(terminal.Line(p.description), terminal.Line(p.title)); about != "" {
		question += ", " + about
	}
	question += " (" + p.typeText() + ")"
	if p.defaultValue != nil {
		question += " [" + shownValue(p.defaultValue) + "]"
	} else if !p.required {
		question += " [none]"
	}
	for {
		text, err := a.line(ctx, question+": ")
		if err != nil {
			return nil, err
		}
		if text == "" && (p.defaultValue != nil || !p.required) {
			return p.defaultValue, nil
		}
		value, err := p.parseAnswer(text)
		if err == nil {
			err = validateField(form, p.name, value)
		}
		if err == nil {
			return value, nil
		}
		fmt.Fprintf(a.out, "  %v\n", err)
	}
}

func (a *Asker) showChoices(p *property) {
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

// parseAnswer parses an answer. The elements of a list are separated by commas.
func (p *property) parseAnswer(text string) (json.RawMessage, error) {
	if !p.isList() {
		return p.parse(text)
	}
	all := []json.RawMessage{}
	for part := range strings.SplitSeq(text, ",") {
		value, err := p.item().parse(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		all = append(all, value)
	}
	return strictjson.Marshal(all)
}

func validateField(form json.RawMessage, name string, value json.RawMessage) error {
	compiled, err := schema.Compile(string(strictjson.Member(strictjson.Member(form, "properties"), name)))
	if err != nil {
		return nil // the server validates it
	}
	return compiled.Validate(value)
}

func consentQuestion(n int) string {
	if n == 1 {
		return "Answer one question?"
	}
	return fmt.Sprintf("Answer %d questions?", n)
}

// An input describes the arguments of a tool or prompt.
type input struct {
	properties []property
	open       bool // other arguments are allowed
}

// A property is one argument of a tool or prompt.
type property struct {
	name         string
	kinds        []string          // JSON types; none means any
	enum         []json.RawMessage // the allowed values; none means any
	titles       []string          // of the allowed values; may be fewer
	title        string
	items        *property // of a list; nil if the schema does not describe them
	description  string
	defaultValue json.RawMessage // nil if there is none
	required     bool
}

// item returns the property of the elements of a list.
func (p *property) item() *property {
	if p.items == nil {
		return &property{}
	}
	return p.items
}

// Limits on schemas, which may be circular or hostile.
const (
	maxReferences = 8
	maxSubschemas = 2_000
)

// readInput reads the schema of a tool. It ignores keywords that it does not know, and invalid ones.
func readInput(schema json.RawMessage) input {
	r := &reader{schema, maxSubschemas}
	root := follow(schema, schema)
	in := input{}
	var required []string
	_ = strictjson.Unmarshal(root["required"], &required)
	if strictjson.First(root["properties"]) == '{' {
		_ = strictjson.Object(root["properties"], func(key, value []byte) error {
			p := r.property(value, maxReferences)
			p.name, p.required = string(key), slices.Contains(required, string(key))
			in.properties = append(in.properties, p)
			return nil
		})
	}
	more := root["additionalProperties"]
	in.open = len(in.properties) == 0 && strictjson.First(more) != 'f' || strictjson.First(more) == 't' || strictjson.First(more) == '{'
	for _, key := range []string{"patternProperties", "anyOf", "oneOf", "allOf", "if"} {
		if root[key] != nil {
			in.open = true // they may allow other names
		}
	}
	return in
}

// follow returns the members of a schema and of the schemas that it references.
func follow(document, raw json.RawMessage) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for range maxReferences {
		var members map[string]json.RawMessage
		if strictjson.First(raw) != '{' || strictjson.Unmarshal(raw, &members) != nil {
			return all
		}
		for key, value := range members {
			if _, ok := all[key]; !ok {
				all[key] = value
			}
		}
		reference, _ := strictjson.Unquote(members["$ref"])
		raw = lookUp(document, reference)
	}
	return all
}

// lookUp returns the part of a document that a reference such as #/$defs/a names, or nil.
func lookUp(document json.RawMessage, reference string) json.RawMessage {
	keys := strings.Split(reference, "/")
	if keys[0] != "#" {
		return nil
	}
	at := document
	for _, key := range keys[1:] {
		at = strictjson.Member(at, strings.ReplaceAll(strings.ReplaceAll(key, "~1", "/"), "~0", "~"))
	}
	return at
}

type reader struct {
	document json.RawMessage
	left     int // number of subschemas that may still be read
}

func (r *reader) property(raw json.RawMessage, depth int) property {
	if r.left--; r.left < 0 {
		return property{}
	}
	schema := follow(r.document, raw)
	p := property{defaultValue: schema["default"]}
	p.description, _ = strictjson.Unquote(schema["description"])
	p.title, _ = strictjson.Unquote(schema["title"])
	p.kinds = kindsOf(schema["type"])
	if strictjson.First(schema["enum"]) == '[' {
		_ = strictjson.Unmarshal(schema["enum"], &p.enum)
		_ = strictjson.Unmarshal(schema["enumNames"], &p.titles) // of revision 2025-06-18
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
	var all property
	_ = strictjson.Array(branches, func(raw []byte) error {
		branch := r.property(raw, depth-1)
		all.kinds = append(all.kinds, branch.kinds...)
		if branch.items != nil {
			p.items = branch.items
		}
		if len(branch.enum) == 0 && !slices.Equal(branch.kinds, []string{"null"}) {
			closed = false
		}
		all.enum = append(all.enum, branch.enum...)
		if len(branch.enum) == 1 && len(all.titles) == len(all.enum)-1 {
			all.titles = append(all.titles, branch.title)
		}
		return nil
	})
	if p.kinds == nil {
		p.kinds = all.kinds
	}
	if closed && p.enum == nil {
		if slices.Contains(all.kinds, "null") {
			all.enum = append(all.enum, json.RawMessage("null"))
		}
		p.enum, p.titles = all.enum, all.titles
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

// usage returns the property as on a command line, in brackets if it is optional.
func (p *property) usage() string {
	text := terminal.Line(p.name) + "=" + p.typeText()
	if !p.required {
		return "[" + text + "]"
	}
	return text
}

// typeText returns the type of a property, or its values if it is an enum.
func (p *property) typeText() string {
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
		return p.items.typeText() + "…"
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
