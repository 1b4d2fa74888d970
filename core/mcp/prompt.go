package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// A Prompt is what clients are told about a message that a person can ask for.
type Prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Arguments   []PromptArgument `json:"arguments,omitempty"`
	Icons       []Icon           `json:"icons,omitempty"`
	Meta        Meta             `json:"_meta,omitempty"`

	// InputSchema is what the arguments must be beyond being text: an object's schema whose
	// properties are strings. Clients are not shown it, but without Arguments the arguments are its
	// properties. The values of an enum complete an argument, unless [Server.CompletePrompt] sets a
	// completer. nil means any text.
	InputSchema json.RawMessage `json:"-"`
	// OwnSchema says that a //petrock:schema directive gives a part of the schema. Derived code sets it, and which properties are
	// required is then not compared with the Go type.
	OwnSchema bool `json:"-"`
}

// A PromptArgument is a blank to fill in; its value is text.
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

// A PromptResult is a prompt with its blanks filled in.
type PromptResult struct {
	Description string          `json:"description,omitempty"`
	Messages    []PromptMessage `json:"messages"`
	Meta        Meta            `json:"_meta,omitempty"`
}

// A PromptHandler fills in a prompt. The required arguments are there, no unknown ones, and
// the input schema allows them. Its error fails the request.
type PromptHandler func(ctx context.Context, arguments map[string]string) (*PromptResult, error)

// UnmarshalJSON implements [json.Unmarshaler].
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
	if r < Revision20251125 {
		p.Icons = nil
	}
	if r < Revision20250618 {
		p.Title, p.Meta = "", nil
		p.Arguments = slices.Clone(p.Arguments)
		for i := range p.Arguments {
			p.Arguments[i].Title = ""
		}
	}
	return p
}

// A prompt is a registered one.
type prompt struct {
	Prompt
	descriptions
	pace
	names    []string   // of the arguments
	input    *textInput // nil if there is no schema
	handler  PromptHandler
	complete Completer // if set
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
	if p.Arguments == nil && input != nil {
		p.Arguments = input.arguments()
	}
	names := make([]string, len(p.Arguments))
	for i, a := range p.Arguments {
		if a.Name == "" {
			return nil, fmt.Errorf("argument %d has no name", i+1)
		}
		if slices.Contains(names[:i], a.Name) {
			return nil, fmt.Errorf("argument %q stands there twice", a.Name)
		}
		names[i] = a.Name
	}
	made := &prompt{Prompt: p, names: names, input: input, handler: h}
	return made, encodable(made)
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
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "unknown prompt %q: prompts/list names those there are", short(*p.Name))
	}
	if err := found.check(p.Arguments); err != nil {
		return nil, err
	}
	began := found.pace.begin(c)
	result, err := found.handler(ctx, p.Arguments)
	found.pace.end(c, began)
	if result == nil {
		result = &PromptResult{}
	}
	return result, err
}

// render shows a prompt to a client.
func (p *PromptResult) render(c *Call) (any, error) {
	if p == nil {
		p = &PromptResult{}
	}
	rendered := *p
	rendered.Messages = make([]PromptMessage, len(p.Messages)) // never nil: the field is required
	for i, m := range p.Messages {
		if m.Content == nil {
			return nil, fmt.Errorf("messages[%d] of the prompt %s has no content", i, c.Target)
		}
		rendered.Messages[i] = PromptMessage{m.Role, m.Content.forRevision(c.Revision)}
	}
	return rendered, nil
}

// check holds arguments against what the prompt says it takes.
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
