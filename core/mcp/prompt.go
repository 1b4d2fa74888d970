package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/internal/jsonschema"
	"github.com/petrock/petrock/core/internal/pace"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/core/strictjson/jsonfield"
)

// A Prompt describes a prompt template to clients.
type Prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Arguments   []PromptArgument `json:"arguments,omitempty"`
	Icons       []Icon           `json:"icons,omitempty"`
	Meta        Meta             `json:"_meta,omitempty"`
	Scopes      []string         `json:"-"` // that a token must have, as for a [Tool]

	// InputSchema validates the arguments: the schema of an object whose properties are strings. It is
	// not sent to clients, but if Arguments is nil, the properties become the arguments. The values of
	// an enum complete an argument, unless [Server.CompletePrompt] sets a completer. nil allows any
	// text.
	InputSchema json.RawMessage `json:"-"`
}

// A PromptArgument is an argument of a prompt; its value is text.
type PromptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// A PromptMessage is one message of a prompt.
type PromptMessage struct {
	Role    Role    `json:"role"`
	Content Content `json:"content"`
}

// A PromptResult holds the messages of a prompt for given arguments.
type PromptResult struct {
	Description string          `json:"description,omitempty"`
	Messages    []PromptMessage `json:"messages"`
	Meta        Meta            `json:"_meta,omitempty"`
}

// A PromptHandler returns the messages of a prompt. The arguments have been checked: required ones are
// present, none is unknown, and they match the input schema. An error fails the request.
type PromptHandler func(ctx context.Context, arguments map[string]string) (*PromptResult, error)

func (m *PromptMessage) UnmarshalJSON(raw []byte) error {
	var wire struct {
		Role    Role            `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if err := strictjson.Unmarshal(raw, &wire); err != nil {
		return err
	}
	content, err := decodeContent(wire.Content)
	if err != nil {
		return err
	}
	*m = PromptMessage{wire.Role, content}
	return nil
}

func (p Prompt) forRevision(r Revision) Prompt {
	dropNewer(r, &p.Title, &p.Icons, &p.Meta)
	if r < Revision20250618 {
		p.Arguments = slices.Clone(p.Arguments)
		for i := range p.Arguments {
			p.Arguments[i].Title = ""
		}
	}
	return p
}

type prompt struct {
	Prompt
	descriptionCache
	pace    pace.Pace
	names   []string // of the arguments
	input   *textInput
	handler PromptHandler
}

func newPrompt(p Prompt, h PromptHandler) (*prompt, error) {
	if err := checkName(p.Name); err != nil {
		return nil, err
	}
	if h == nil {
		return nil, errors.New("has no handler")
	}
	input, err := newTextInput(p.InputSchema)
	if err != nil {
		return nil, err
	}
	if p.Arguments == nil && input.schema != nil {
		for _, a := range input.schema.Properties() {
			p.Arguments = append(p.Arguments, PromptArgument{Name: a.Name, Description: a.Description, Required: a.Required})
		}
	}
	names := make([]string, len(p.Arguments))
	for i, a := range p.Arguments {
		if a.Name == "" {
			return nil, fmt.Errorf("argument %d has no name", i+1)
		}
		if slices.Contains(names[:i], a.Name) {
			return nil, fmt.Errorf("duplicate argument %q", a.Name)
		}
		names[i] = a.Name
	}
	made := &prompt{Prompt: p, names: names, input: input, handler: h}
	made.completes = input.complete != nil
	return made, checkEncodable(made)
}

type getPromptParams struct {
	Name      *string           `json:"name"`
	Arguments map[string]string `json:"arguments"`
}

func (s *Server) getPrompt(ctx context.Context, c *Call, p *getPromptParams) (any, error) {
	if p.Name == nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "prompts/get needs the name of a prompt")
	}
	found, ok := s.prompts.get(*p.Name)
	if !ok {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "unknown prompt %q; see prompts/list", short(*p.Name))
	}
	if err := checkScopes(ctx, found.Scopes); err != nil {
		return nil, err
	}
	if err := found.check(p.Arguments); err != nil {
		return nil, err
	}
	c.req.ReleaseUnlessQuick(&found.pace)
	result, err := found.handler(ctx, p.Arguments)
	if result == nil {
		result = &PromptResult{}
	}
	return result, err
}

func (p *PromptResult) render(c *Call) (any, error) {
	if p == nil {
		p = &PromptResult{}
	}
	rendered := *p
	rendered.Meta = c.resultMeta(p.Meta)
	rendered.Messages = make([]PromptMessage, len(p.Messages)) // never nil: the field is required
	for i, m := range p.Messages {
		if m.Content == nil {
			return nil, fmt.Errorf("messages[%d] of the prompt %s has no content", i, c.Target)
		}
		rendered.Messages[i] = PromptMessage{m.Role, m.Content.forRevision(c.Revision)}
	}
	return rendered, nil
}

func (p *prompt) check(arguments map[string]string) error {
	for _, a := range p.Arguments {
		if _, ok := arguments[a.Name]; a.Required && !ok {
			return jsonrpc.Errorf(jsonrpc.InvalidParams, "the prompt %s needs the argument %q", p.Name, a.Name)
		}
	}
	for name := range arguments {
		if !slices.Contains(p.names, name) {
			return jsonrpc.Errorf(jsonrpc.InvalidParams, "the prompt %s has no argument %q; it takes: %s", p.Name, short(name), strings.Join(p.names, ", "))
		}
	}
	return p.input.check("arguments for the prompt", p.Name, arguments)
}

// A PromptOutput is the output of a function for [AddPrompt]: the text of one user message, messages,
// or the whole result.
type PromptOutput interface {
	string | []PromptMessage | PromptResult | *PromptResult
}

// AddPrompt adds a prompt that is a Go function. In is a struct that the arguments are decoded into.
// Its fields are strings, types that implement [encoding.TextUnmarshaler], or numbers and booleans
// with the option "string" in their json tag. Arguments that cannot be decoded fail the request.
//
// If p has neither arguments nor a schema, both are inferred from In. Otherwise they must match In.
func AddPrompt[In any, Out PromptOutput](to Registrar, p Prompt, f func(context.Context, In) (Out, error)) error {
	var handler PromptHandler
	if f != nil {
		handler = promptHandler(f)
	}
	return addTypedPrompt(to.derived(), p, reflect.TypeFor[In](), handler)
}

func addTypedPrompt(d *Derived, p Prompt, in reflect.Type, h PromptHandler) error {
	p.Name = d.server.o.NamePrefix + p.Name
	raw, err := d.textSchema(in, p.InputSchema, p.Arguments == nil)
	var made *prompt
	if err == nil {
		p.InputSchema = raw
		made, err = newPrompt(p, h)
	}
	if err == nil {
		err = checkNames(in, "the prompt", made.names)
	}
	return d.describe(add(d.server, &d.server.prompts, p.Name, made, err))
}

func promptHandler[In any, Out PromptOutput](f func(context.Context, In) (Out, error)) PromptHandler {
	decode := textDecoder[In]("arguments")
	return func(ctx context.Context, arguments map[string]string) (*PromptResult, error) {
		in, err := decode(arguments)
		if err != nil {
			return nil, err
		}
		out, err := f(ctx, in)
		if err != nil {
			return nil, err
		}
		switch out := any(out).(type) {
		case string:
			return &PromptResult{Messages: []PromptMessage{{RoleUser, Text{Text: out}}}}, nil
		case []PromptMessage:
			return &PromptResult{Messages: out}, nil
		case PromptResult:
			return &out, nil
		}
		return any(out).(*PromptResult), nil
	}
}

// textDecoder returns a function that decodes text values into an In. what names the values in
// errors.
func textDecoder[In any](what string) func(map[string]string) (In, error) {
	decoder := new(strictjson.Decoder)
	return func(values map[string]string) (in In, err error) {
		if err := decoder.Decode(textObject(values), &in); err != nil {
			return in, jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid %s: %v", what, err)
		}
		return in, nil
	}
}

// textSchema returns the schema of a struct that is decoded from text: given, which must match the
// struct, or else an inferred one, or nil if the struct is empty or infer is false.
func (d *Derived) textSchema(in reflect.Type, given json.RawMessage, infer bool) (json.RawMessage, error) {
	if err := checkTextFields(in); err != nil {
		return nil, err
	}
	if given != nil {
		s, err := compileInput(given)
		if err != nil {
			return nil, err
		}
		return given, d.check(s, in, jsonschema.Input)
	}
	fields := jsonfield.Decoded(in)
	if !infer || d.isExact() || len(fields) == 0 {
		return nil, nil
	}
	raw, err := jsonschema.Infer(in, jsonschema.Input)
	if err != nil {
		return nil, err
	}
	s, err := compileInput(raw)
	if err != nil {
		return nil, err
	}
	for i, p := range s.Properties() {
		if !p.IsText() {
			return nil, fmt.Errorf(`%v.%s: arguments are text, got %v; use a string, or the option "string" in its json tag`, in, fields[i].Name, fields[i].Type)
		}
	}
	return raw, nil
}

// checkTextFields returns an error if in is not a struct, or has defaults or headers, which only tools
// support.
func checkTextFields(in reflect.Type) error {
	if in.Kind() != reflect.Struct {
		return fmt.Errorf("input %v: must be a struct", in)
	}
	for _, f := range jsonfield.Decoded(in) {
		tag, err := jsonschema.ParseTag(f.Tag)
		switch {
		case err != nil:
			return fmt.Errorf("schema tag of %v.%s: %w", in, f.Name, err)
		case tag.Default != nil:
			return fmt.Errorf("%v.%s: only tools support a default; set it in the function", in, f.Name)
		case tag.Header != "":
			return fmt.Errorf("%v.%s: only tools support a header; remove it", in, f.Name)
		}
	}
	return nil
}

// checkNames compares the fields of an input with the names of its values. what names their owner in
// errors.
func checkNames(in reflect.Type, what string, names []string) error {
	var missing []string
	extra := slices.Clone(names)
	for _, f := range jsonfield.Decoded(in) {
		if !slices.Contains(names, f.Key) {
			missing = append(missing, f.Key)
		}
		extra = slices.DeleteFunc(extra, func(name string) bool { return name == f.Key })
	}
	of := cmp.Or(in.Name(), "the input")
	switch {
	case missing != nil && len(extra) > 0:
		return mismatch{fmt.Errorf("%s has %q, but %s has %q", of, missing, what, extra)}
	case missing != nil:
		return mismatch{fmt.Errorf("%s has %q, but %s does not", of, missing, what)}
	case len(extra) > 0:
		return mismatch{fmt.Errorf("%s has %q, but %s does not", what, extra, of)}
	}
	return nil
}
