package mcp

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/petrock/petrock/core/strictjson"
)

// A Prompt describes a prompt template to clients, which offer it to their users.
type Prompt struct {
	// Name identifies the prompt, with the characters of the name of a [Tool].
	Name string `json:"name"`
	// Title is the name that people see. If it is empty, clients show Name.
	Title string `json:"title,omitempty"`
	// Description tells the user what the prompt is for.
	Description string `json:"description,omitempty"`
	// Arguments are the texts that the user fills in. nil takes them from InputSchema.
	Arguments []PromptArgument `json:"arguments,omitempty"`
	Icons     []Icon           `json:"icons,omitempty"`
	Meta      Meta             `json:"_meta,omitempty"`
	Scopes    []string         `json:"-"` // that the caller must have, as for a [Tool]

	// InputSchema validates the arguments: the schema of an object whose properties are strings. It
	// is not sent to clients, but if Arguments is nil, the properties become the arguments. The
	// values of an enum complete an argument, unless [Server.CompletePrompt] sets a completer. nil
	// allows any text.
	InputSchema json.RawMessage `json:"-"`
}

// A PromptArgument is an argument of a prompt; its value is text.
type PromptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// forRevision returns p without the fields that revision r does not have.
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

// A PromptHandler returns the messages of a prompt. The arguments have been checked: required ones
// are present, none is unknown, and they match the input schema. An error fails the request.
type PromptHandler func(ctx context.Context, arguments map[string]string) (*PromptResult, error)

// A PromptResult holds the messages of a prompt for given arguments. The client adds them to the
// conversation with its model. A handler may return it again, because it is not modified.
type PromptResult struct {
	Description string          `json:"description,omitempty"`
	Messages    []PromptMessage `json:"messages"`
	Meta        Meta            `json:"_meta,omitempty"`
}

// A PromptMessage is one message of a prompt. Content must not be nil.
type PromptMessage struct {
	Role    Role    `json:"role"`
	Content Content `json:"content"`
}

// UnmarshalJSON decodes a message of a server. A block of an unknown type becomes [UnknownContent].
func (m *PromptMessage) UnmarshalJSON(raw []byte) error {
	var wire struct {
		Role    Role            `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if err := strictjson.Unmarshal(raw, &wire); err != nil {
		return err
	}
	content, err := decodeContent(wire.Content)
	*m = PromptMessage{wire.Role, content}
	return err
}
