package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/strictjson"
)

// answer answers a question of the server: a request, or in the stateless era a part of a result.
func (c *Client) answer(ctx context.Context, method string, params json.RawMessage) (any, error) {
	if params == nil {
		params = json.RawMessage(`{}`)
	}
	switch {
	case method == "sampling/createMessage" && c.o.Sample != nil:
		return c.sample(ctx, params)
	case method == "elicitation/create" && (c.o.Elicit != nil || c.o.OpenURL != nil):
		return c.elicit(ctx, params)
	case method == "roots/list" && c.o.Roots != nil:
		roots, err := c.o.Roots(ctx)
		if roots == nil {
			roots = []mcp.Root{}
		}
		return map[string]any{"roots": roots}, err
	case c.o.Handle != nil:
		return c.o.Handle(ctx, method, params)
	}
	return nil, jsonrpc.Errorf(jsonrpc.MethodNotFound, "this client does not answer %s", short(method))
}

func (c *Client) sample(ctx context.Context, params json.RawMessage) (any, error) {
	var s mcp.Sampling
	if err := s.UnmarshalJSON(params); err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid params of sampling/createMessage: %v", err)
	}
	if s.UsesTools() && !c.o.SampleTools {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "this client does not support sampling with tools")
	}
	if err := c.o.Sample(ctx, &s); err != nil {
		return nil, err
	}
	if s.Answer.Role == "" {
		s.Answer.Role = mcp.RoleAssistant
	}
	if len(s.Answer.Content) == 0 {
		return nil, errors.New("the model returned no content")
	}
	return s.Answer, nil
}

func (c *Client) elicit(ctx context.Context, params json.RawMessage) (any, error) {
	var p struct {
		Mode            string          `json:"mode"`
		Message         string          `json:"message"`
		RequestedSchema json.RawMessage `json:"requestedSchema"`
		URL             string          `json:"url"`
	}
	if err := strictjson.Unmarshal(params, &p); err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid params of elicitation/create: %v", err)
	}
	var result struct {
		Action  mcp.Action      `json:"action"`
		Content json.RawMessage `json:"content,omitempty"`
	}
	switch {
	case p.Mode == "url" && c.o.OpenURL != nil:
		e := &mcp.URLElicitation{Message: p.Message, URL: p.URL}
		if err := c.o.OpenURL(ctx, e); err != nil {
			return nil, err
		}
		result.Action = e.Action
	case (p.Mode == "" || p.Mode == "form") && c.o.Elicit != nil:
		e := &mcp.Elicitation{Message: p.Message, Schema: p.RequestedSchema}
		if err := c.o.Elicit(ctx, e); err != nil {
			return nil, err
		}
		result.Action = e.Action
		if e.Action == mcp.ActionAccept {
			var err error
			if result.Content, err = mcp.FillDefaults(e.Schema, e.Content); err != nil {
				return nil, err
			}
		}
	default:
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "this client does not support elicitation in mode %q", short(p.Mode))
	}
	if result.Action == "" {
		result.Action = mcp.ActionCancel
	}
	return result, nil
}

// answerAll answers the questions of a result, for the next round.
func (c *Client) answerAll(ctx context.Context, r *request, raw json.RawMessage) error {
	var result struct {
		Requests map[string]struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		} `json:"inputRequests"`
		State json.RawMessage `json:"requestState"`
	}
	if err := strictjson.Unmarshal(raw, &result); err != nil {
		return &ConnectionError{fmt.Errorf("read the input requests of %s: %w", r.method, err)}
	}
	r.inputResponses, r.requestState = nil, result.State
	if result.Requests == nil {
		return nil
	}
	answers := map[string]json.RawMessage{}
	for key, q := range result.Requests {
		answer, err := c.answer(ctx, q.Method, q.Params)
		if err != nil {
			if _, ok := errors.AsType[*jsonrpc.Error](err); ok {
				err = errors.New(err.Error()) // callers take a jsonrpc.Error for one of the server
			}
			return fmt.Errorf("%s asks %s: %w", r.method, short(q.Method), err)
		}
		if answers[key], err = strictjson.Marshal(answer); err != nil {
			return fmt.Errorf("encode the answer to %s: %w", q.Method, err)
		}
	}
	var err error
	r.inputResponses, err = strictjson.Marshal(answers)
	return err
}
