package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/strictjson"
)

// answer answers a request from the server or, in stateless revisions, an input request in a result.
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
	return nil, jsonrpc.Errorf(jsonrpc.MethodNotFound, "this client does not support %s", short(method))
}

func (c *Client) sample(ctx context.Context, params json.RawMessage) (any, error) {
	var s mcp.Sampling
	if err := strictjson.Unmarshal(params, &s); err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid params of sampling/createMessage: %v", err)
	}
	for i, m := range s.Messages {
		if m.Content == nil {
			return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid params of sampling/createMessage: messages[%d].content: must be a content block or a list of them", i)
		}
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

// answerAll answers the input requests of a result, for the next round.
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
				err = errors.New(err.Error()) // a *jsonrpc.Error would mean that the server answered with it
			}
			return fmt.Errorf("answer %s for %s: %w", short(q.Method), r.method, err)
		}
		if answers[key], err = strictjson.Marshal(answer); err != nil {
			return fmt.Errorf("encode the answer to %s: %w", q.Method, err)
		}
	}
	var err error
	r.inputResponses, err = strictjson.Marshal(answers)
	return err
}

func (c *Client) handle(ctx context.Context, req *jsonrpc.Request) (any, error) {
	if req.IsNotification() {
		return nil, c.handleNotification(ctx, req)
	}
	switch req.Method {
	case "ping":
		return struct{}{}, nil
	case "initialize", "server/discover":
		c.isEcho.Store(true)
	}
	defer c.addHeld(-1, req)
	if !c.addHeld(1, req) {
		return nil, jsonrpc.Errorf(jsonrpc.InternalError, "too many requests in flight: the limit is %d requests and %d bytes", maxHeld, c.o.MaxMessage)
	}
	if err := checkValues(req.Method, req.Params); err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "%v", err)
	}
	req.Release()
	return c.answer(ctx, req.Method, req.Params)
}

func (c *Client) handleNotification(ctx context.Context, req *jsonrpc.Request) error {
	c.countNotification()
	if err := checkValues(req.Method, req.Params); err != nil {
		return err
	}
	if c.o.Notification != nil {
		c.o.Notification(ctx, req.Method, req.Params)
	}
	call := func(f func(context.Context)) {
		if f != nil {
			c.callFunction(req, func() { f(ctx) })
		}
	}
	switch req.Method {
	case "notifications/progress":
		return c.handleProgress(req)
	case "notifications/cancelled":
		var p struct {
			RequestID jsonrpc.ID `json:"requestId"`
		}
		if err := unmarshalParams(req.Params, &p); err != nil {
			return err
		}
		if l := c.listenerOf(p.RequestID); !c.conn.Cancel(p.RequestID) && l != nil {
			l.endRequest(errCancelledByServer)
		}
	case "notifications/subscriptions/acknowledged":
		var p struct {
			Meta struct {
				ID jsonrpc.ID `json:"io.modelcontextprotocol/subscriptionId"`
			} `json:"_meta"`
		}
		if err := unmarshalParams(req.Params, &p); err != nil {
			return err
		}
		if l := c.listenerOf(p.Meta.ID); l != nil {
			l.acknowledge()
		}
	case "notifications/tools/list_changed":
		call(c.o.ToolsChanged)
	case "notifications/prompts/list_changed":
		call(c.o.PromptsChanged)
	case "notifications/resources/list_changed":
		call(c.o.ResourcesChanged)
	case "notifications/resources/updated":
		var p struct {
			URI string `json:"uri"`
		}
		if err := unmarshalParams(req.Params, &p); err != nil {
			return err
		}
		if c.o.ResourceUpdated != nil {
			call(func(ctx context.Context) { c.o.ResourceUpdated(ctx, p.URI) })
		}
	case "notifications/message":
		var m LogMessage
		if err := unmarshalParams(req.Params, &m); err != nil {
			return err
		}
		if c.o.Log != nil {
			call(func(ctx context.Context) { c.o.Log(ctx, m) })
		}
	}
	return nil
}

// callFunction calls a function of [Options] for a notification. It does not block other messages,
// unless too many functions are running.
func (c *Client) callFunction(req *jsonrpc.Request, f func()) {
	if c.addHeld(1, req) {
		c.transport.MayTakeLong(req)
	}
	defer c.addHeld(-1, req)
	f()
}

// addProgress gives a request a new progress token, which is valid until remove is called.
func (c *Client) addProgress(r *request) (remove func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastToken++
	r.progressToken = strconv.FormatInt(c.lastToken, 10)
	c.inProgress[r.progressToken] = r
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.inProgress, r.progressToken)
	}
}

// handleProgress restarts the timeout of a request, and calls its OnProgress function.
func (c *Client) handleProgress(req *jsonrpc.Request) error {
	var p struct {
		Token jsonrpc.ID `json:"progressToken"`
		Progress
	}
	if err := strictjson.Unmarshal(req.Params, &p); err != nil {
		return err
	}
	c.mu.Lock()
	r := c.inProgress[p.Token.String()]
	if r != nil {
		c.conn.ResetIdleTimeout(&r.out) // under the lock, because the request may be sent again later
	}
	c.mu.Unlock()
	if r != nil {
		c.callFunction(req, func() { r.progress(p.Progress) })
	}
	return nil
}
