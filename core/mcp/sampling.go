package mcp

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/petrock/petrock/core/strictjson"
)

// A Sampling asks the client's model to continue a conversation, so that a server needs no model of
// its own. The client may show it to the user first, change it, or refuse it. Several Samplings may
// share a slice of messages, because Ask does not modify them.
type Sampling struct {
	Key              string            `json:"-"` // see [Ask]
	Messages         []SamplingMessage `json:"messages"`
	MaxTokens        int               `json:"maxTokens"` // of the answer; must be more than 0
	SystemPrompt     string            `json:"systemPrompt,omitempty"`
	Temperature      *float64          `json:"temperature,omitempty"`
	StopSequences    []string          `json:"stopSequences,omitempty"`
	ModelPreferences *ModelPreferences `json:"modelPreferences,omitempty"`
	Metadata         Meta              `json:"metadata,omitempty"` // for the provider of the model
	Tools            []Tool            `json:"tools,omitempty"`    // since revision 2025-11-25
	ToolChoice       ToolChoice        `json:"toolChoice,omitzero"`

	Answer SampledMessage `json:"-"`
}

// A SamplingMessage is one message of a conversation. Its content is [Text], [Image] or [Audio], or
// [ToolUse] and [ToolUseResult]. Several blocks become several messages for clients older than
// 2025-11-25.
type SamplingMessage struct {
	Role    Role   `json:"role"`
	Content Blocks `json:"content"`
}

// A SampledMessage is the answer of the model. If the StopReason is toolUse, run the tools of its
// [ToolUse] blocks, and ask again with the answer and the results in the messages.
type SampledMessage struct {
	Role       Role   `json:"role"`
	Content    Blocks `json:"content"`
	Model      string `json:"model"`
	StopReason string `json:"stopReason,omitempty"` // such as endTurn, maxTokens or toolUse
}

// Text returns the text blocks, joined by newlines.
func (m *SampledMessage) Text() string { return textOf(m.Content) }

// A ToolChoice is "auto", "required", "none" or "", which lets the client choose.
type ToolChoice string

// MarshalJSON encodes the choice as an object, such as {"mode":"auto"}.
func (c ToolChoice) MarshalJSON() ([]byte, error) {
	return strictjson.Marshal(map[string]string{"mode": string(c)})
}

// UnmarshalJSON decodes the object of MarshalJSON.
func (c *ToolChoice) UnmarshalJSON(raw []byte) error {
	var wire struct {
		Mode string `json:"mode"`
	}
	err := strictjson.Unmarshal(raw, &wire)
	*c = ToolChoice(wire.Mode)
	return err
}

// ModelPreferences describe the preferred model. Priorities range from 0 to 1.
type ModelPreferences struct {
	Hints                []ModelHint `json:"hints,omitempty"` // best first
	CostPriority         *float64    `json:"costPriority,omitempty"`
	SpeedPriority        *float64    `json:"speedPriority,omitempty"`
	IntelligencePriority *float64    `json:"intelligencePriority,omitempty"`
}

// A ModelHint names a model.
type ModelHint struct {
	Name string `json:"name,omitempty"` // or a part of the name
}

func (s *Sampling) name() string { return s.Key }

func (s *Sampling) needs() need {
	if s.UsesTools() {
		return need{capability: "sampling", part: "tools", since: Revision20251125}
	}
	return need{capability: "sampling", since: Revision20241105}
}

// UsesTools reports whether s offers tools, or has the use of a tool in its messages. The client
// must then declare the capability sampling.tools.
func (s *Sampling) UsesTools() bool {
	for _, m := range s.Messages {
		for _, block := range m.Content {
			switch block.(type) {
			case ToolUse, ToolUseResult:
				return true
			}
		}
	}
	return s.Tools != nil || s.ToolChoice != ""
}

// request converts the messages for clients of the revision. It returns an error for blocks that
// the revision does not support.
func (s *Sampling) request(r Revision) (string, any, error) {
	if s.MaxTokens <= 0 {
		return "", nil, errors.New("MaxTokens must be more than 0")
	}
	p := *s
	p.Messages, p.Tools = nil, nil
	for _, t := range s.Tools {
		if t.InputSchema == nil {
			t.InputSchema = json.RawMessage(`{"type":"object"}`)
		}
		p.Tools = append(p.Tools, t.forRevision(r))
	}
	for i, m := range s.Messages {
		blocks, err := renderContent(m.Content, r)
		if err != nil {
			return "", nil, err
		}
		for j, block := range blocks {
			switch block.(type) {
			case Text, Image, Audio, ToolUse, ToolUseResult:
			default:
				return "", nil, fmt.Errorf("content[%d] of message %d: revision %s does not support %T in a message to a model", j, i, r, m.Content[j])
			}
			if r < Revision20251125 {
				p.Messages = append(p.Messages, SamplingMessage{m.Role, Blocks{block}})
			}
		}
		if r >= Revision20251125 && len(blocks) > 0 {
			p.Messages = append(p.Messages, SamplingMessage{m.Role, blocks})
		}
	}
	if len(p.Messages) == 0 {
		return "", nil, errors.New("needs a message with content")
	}
	return "sampling/createMessage", p, nil
}

// setAnswer checks and stores the message of the model.
func (s *Sampling) setAnswer(raw json.RawMessage) error {
	var message SampledMessage
	if err := strictjson.Unmarshal(raw, &message); err != nil {
		return err
	}
	if message.Role != RoleUser && message.Role != RoleAssistant {
		return fmt.Errorf("role must be %q or %q, got %q", RoleUser, RoleAssistant, short(string(message.Role)))
	}
	if message.Content == nil {
		return errors.New("content: must be an object or an array")
	}
	for i, block := range message.Content {
		switch use := block.(type) {
		case ToolUse:
			if use.ID == "" || use.Name == "" {
				return fmt.Errorf("content[%d] must have an id and a name", i)
			}
		case ToolUseResult:
			return fmt.Errorf("content[%d]: must not be a tool_result", i)
		}
	}
	s.Answer = message
	return nil
}

// Blocks are the content of a message to or from a model.
type Blocks []Content

// MarshalJSON encodes a single block as an object, which all revisions accept, and any other number
// as an array.
func (c Blocks) MarshalJSON() ([]byte, error) {
	if len(c) == 1 {
		return c[0].MarshalJSON()
	}
	return appendContent(nil, c)
}

// UnmarshalJSON accepts a block or an array of blocks. It returns an error for a block of an
// unknown type, because a model cannot read it.
func (c *Blocks) UnmarshalJSON(raw []byte) (err error) {
	switch strictjson.First(raw) {
	case '[':
		err = (*contents)(c).UnmarshalJSON(raw)
	case '{':
		*c = make(Blocks, 1)
		(*c)[0], err = decodeContent(raw)
	default:
		err = errors.New("must be an object or an array")
	}
	for i, block := range *c {
		if unknown, ok := block.(UnknownContent); ok && err == nil {
			return fmt.Errorf("[%d]: unknown type %q", i, short(unknown.Type))
		}
	}
	return err
}

// A Root is a directory or file that the user works on.
type Root struct {
	URI  string `json:"uri"` // a file: URI
	Name string `json:"name,omitempty"`
}

// A RootList asks the client for its roots. They are a hint, not an access restriction.
type RootList struct {
	Key string // see [Ask]

	Roots []Root // the answer
}

func (l *RootList) name() string { return l.Key }

func (l *RootList) needs() need { return need{capability: "roots", since: Revision20241105} }

// request returns empty params, because some clients require them.
func (l *RootList) request(Revision) (string, any, error) { return "roots/list", struct{}{}, nil }

func (l *RootList) setAnswer(raw json.RawMessage) error {
	var result struct {
		Roots *[]Root `json:"roots"`
	}
	if err := strictjson.Unmarshal(raw, &result); err != nil {
		return err
	}
	if result.Roots == nil {
		return errors.New("must have roots")
	}
	for i, root := range *result.Roots {
		if root.URI == "" {
			return fmt.Errorf("roots[%d] must have a uri", i)
		}
	}
	l.Roots = *result.Roots
	return nil
}
