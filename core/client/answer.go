package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// answer answers what the server asks: a request of its own in sessions, a part of a result without them.
func (c *Client) answer(ctx context.Context, method string, params json.RawMessage) (any, error) {
	if params == nil {
		params = json.RawMessage(`{}`)
	}
	switch {
	case method == "sampling/createMessage" && c.o.Sample != nil:
		return c.sample(ctx, params)
	case method == "elicitation/create" && (c.o.Elicit != nil || c.o.Visit != nil):
		return c.elicit(ctx, params)
	case method == "roots/list" && c.o.Roots != nil:
		roots, err := c.o.Roots(ctx)
		if roots == nil {
			roots = []Root{}
		}
		return map[string]any{"roots": roots}, err
	}
	return nil, jsonrpc.Errorf(jsonrpc.MethodNotFound, "this client does not answer %s", short(method))
}

func (c *Client) sample(ctx context.Context, params json.RawMessage) (any, error) {
	s, err := readSampling(params)
	if err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid params of sampling/createMessage: %v", err)
	}
	if s.usesTools() && !c.o.SampleTools {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "this client's model uses no tools")
	}
	if err := c.o.Sample(ctx, s); err != nil {
		return nil, err
	}
	if s.Answer.Role == "" {
		s.Answer.Role = RoleAssistant
	}
	if len(s.Answer.Content) == 0 {
		return nil, errors.New("the model said nothing")
	}
	wire := sampledWire{Role: s.Answer.Role, Model: s.Answer.Model, StopReason: s.Answer.StopReason, Content: s.Answer.Content[0]}
	if len(s.Answer.Content) > 1 {
		wire.Content = s.Answer.Content
	}
	return wire, nil
}

type sampledWire struct {
	Role       Role   `json:"role"`
	Content    any    `json:"content"` // a block, or several
	Model      string `json:"model"`
	StopReason string `json:"stopReason,omitempty"`
}

// readSampling reads what a server asks a model.
func readSampling(params json.RawMessage) (*Sampling, error) {
	var wire struct {
		Messages []struct {
			Role    Role            `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		MaxTokens        int               `json:"maxTokens"`
		SystemPrompt     string            `json:"systemPrompt"`
		Temperature      *float64          `json:"temperature"`
		StopSequences    []string          `json:"stopSequences"`
		ModelPreferences *ModelPreferences `json:"modelPreferences"`
		Metadata         Meta              `json:"metadata"`
		Tools            []Tool            `json:"tools"`
		ToolChoice       struct {
			Mode string `json:"mode"`
		} `json:"toolChoice"`
	}
	if err := strictjson.Unmarshal(params, &wire); err != nil {
		return nil, err
	}
	s := &Sampling{
		MaxTokens: wire.MaxTokens, SystemPrompt: wire.SystemPrompt, Temperature: wire.Temperature, StopSequences: wire.StopSequences,
		ModelPreferences: wire.ModelPreferences, Metadata: wire.Metadata, Tools: wire.Tools, ToolChoice: wire.ToolChoice.Mode,
	}
	for i, m := range wire.Messages {
		content, err := decodeOneOrMore(m.Content)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		s.Messages = append(s.Messages, SamplingMessage{m.Role, content})
	}
	return s, nil
}

// decodeOneOrMore reads a block, or several.
func decodeOneOrMore(raw json.RawMessage) ([]Content, error) {
	blocks := []json.RawMessage{raw}
	switch strictjson.First(raw) {
	case '[':
		if err := strictjson.Unmarshal(raw, &blocks); err != nil {
			return nil, err
		}
	case '{':
	default:
		return nil, errors.New("content must be a block or several")
	}
	return decodeBlocks(blocks)
}

func (c *Client) elicit(ctx context.Context, params json.RawMessage) (any, error) {
	var p elicitParams
	if err := strictjson.Unmarshal(params, &p); err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid params of elicitation/create: %v", err)
	}
	switch {
	case p.Mode == "url" && c.o.Visit != nil:
		e := &URLElicitation{Message: p.Message, URL: p.URL}
		err := c.o.Visit(ctx, e)
		return elicited{Action: e.Action}.checked(err)
	case (p.Mode == "" || p.Mode == "form") && c.o.Elicit != nil:
		e := &Elicitation{Message: p.Message, Schema: p.RequestedSchema}
		if err := c.o.Elicit(ctx, e); err != nil || e.Action != ActionAccept {
			return elicited{Action: e.Action}.checked(err)
		}
		content, err := fillDefaults(e.Schema, e.Content)
		return elicited{Action: e.Action, Content: content}.checked(err)
	}
	return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "this client does not answer questions of mode %q", short(p.Mode))
}

// elicited is what a person did with a question.
type elicited struct {
	Action  Action          `json:"action"`
	Content json.RawMessage `json:"content,omitempty"`
}

// checked is the answer, unless there is an error; who did nothing has turned away.
func (e elicited) checked(err error) (any, error) {
	if e.Action == "" {
		e.Action = ActionCancel
	}
	return e, err
}

// ownError is an error of ours, which is not to be taken for one that the server has answered with.
func ownError(err error) error {
	var e *jsonrpc.Error
	if errors.As(err, &e) {
		return errors.New(err.Error())
	}
	return err
}

// answerAll answers what a result asks for, for the next round.
func (c *Client) answerAll(ctx context.Context, r *outgoing, raw json.RawMessage) error {
	var wanted struct {
		Requests map[string]struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		} `json:"inputRequests"`
		State json.RawMessage `json:"requestState"`
	}
	if err := strictjson.Unmarshal(raw, &wanted); err != nil {
		return &ConnectionError{fmt.Errorf("reading what %s asks: %w", r.method, err)}
	}
	r.answers, r.state = nil, wanted.State
	if wanted.Requests == nil {
		return nil
	}
	answers := map[string]json.RawMessage{}
	for key, q := range wanted.Requests {
		answer, err := c.answer(ctx, q.Method, q.Params)
		if err != nil {
			return fmt.Errorf("%s asks %s: %w", r.method, short(q.Method), ownError(err))
		}
		if answers[key], err = strictjson.Marshal(answer); err != nil {
			return fmt.Errorf("encoding the answer to %s: %w", q.Method, err)
		}
	}
	var err error
	r.answers, err = strictjson.Marshal(answers)
	return err
}
