package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/petrock/petrock/core/internal/form"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/peer"
	"github.com/petrock/petrock/core/strictjson"
)

// answer answers a request from the server or, in stateless revisions, an input request in a
// result. key is that of an input request.
func (c *Client) answer(ctx context.Context, key, method string, params json.RawMessage) (any, error) {
	if params == nil {
		params = json.RawMessage(`{}`)
	}
	switch {
	case method == "sampling/createMessage" && c.o.Sample != nil:
		return c.sample(ctx, params)
	case method == "elicitation/create" && (c.o.Elicit != nil || c.o.OpenURL != nil):
		return c.elicit(ctx, key, params)
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
	s.Answer.Role = cmp.Or(s.Answer.Role, mcp.RoleAssistant)
	if len(s.Answer.Content) == 0 {
		return nil, errors.New("the model returned no content")
	}
	return s.Answer, nil
}

func (c *Client) elicit(ctx context.Context, key string, params json.RawMessage) (any, error) {
	var p struct {
		Mode            string          `json:"mode"`
		Message         string          `json:"message"`
		RequestedSchema json.RawMessage `json:"requestedSchema"`
		URL             string          `json:"url"`
	}
	if err := strictjson.Unmarshal(params, &p); err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid params of elicitation/create: %v", err)
	}
	if key == "" {
		key, _ = strictjson.Unquote(strictjson.Member(strictjson.Member(params, "_meta"), mcp.MetaKey))
	}
	var result struct {
		Action  mcp.Action      `json:"action"`
		Content json.RawMessage `json:"content,omitempty"`
	}
	var err error
	switch {
	case p.Mode == "url" && c.o.OpenURL != nil:
		e := &mcp.URLElicitation{Key: key, Message: p.Message, URL: p.URL}
		err = c.o.OpenURL(ctx, e)
		result.Action = e.Action
	case (p.Mode == "" || p.Mode == "form") && c.o.Elicit != nil:
		e := &mcp.Elicitation{Key: key, Message: p.Message, Schema: p.RequestedSchema}
		err = c.o.Elicit(ctx, e)
		if result.Action = e.Action; err == nil && e.Action == mcp.ActionAccept {
			result.Content, err = form.FillDefaults(e.Schema, e.Content)
		}
	default:
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "this client does not support elicitation in mode %q", short(p.Mode))
	}
	result.Action = cmp.Or(result.Action, mcp.ActionCancel)
	return result, err
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
	for _, key := range slices.Sorted(maps.Keys(result.Requests)) {
		q := result.Requests[key]
		answer, err := c.answer(ctx, key, q.Method, q.Params)
		if err != nil {
			return fmt.Errorf("answer %s for %s: %w", short(q.Method), r.method, handlerError{err})
		}
		if answers[key], err = strictjson.Marshal(answer); err != nil {
			return fmt.Errorf("encode the answer to %s: %w", q.Method, err)
		}
	}
	var err error
	r.inputResponses, err = strictjson.Marshal(answers)
	return err
}

// A handlerError is an error of a handler of this client. It does not match a [*jsonrpc.Error] or a
// [jsonrpc.Code], because these mean that the server answered with an error.
type handlerError struct{ error }

func (e handlerError) Is(target error) bool {
	switch target.(type) {
	case *jsonrpc.Error, jsonrpc.Code:
		return false
	}
	return errors.Is(e.error, target)
}

func (e handlerError) As(target any) bool {
	switch target.(type) {
	case **jsonrpc.Error, *jsonrpc.Code:
		return false
	}
	return errors.As(e.error, target)
}

func (c *Client) handle(ctx context.Context, req *peer.Request) (any, error) {
	if req.IsNotification() {
		return nil, c.handleNotification(ctx, req)
	}
	if req.Method() == "ping" {
		return struct{}{}, nil
	}
	size := int64(len(req.Params()))
	defer c.inFlight.Add(-size)
	if c.inFlight.Add(size) > int64(c.o.MaxMessage) {
		return nil, jsonrpc.Errorf(jsonrpc.InternalError, "too many requests in flight: the limit is %d bytes", c.o.MaxMessage)
	}
	if err := checkValues(req.Method(), req.Params()); err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "%v", err)
	}
	req.Release()
	return c.answer(ctx, "", req.Method(), req.Params())
}

func (c *Client) handleNotification(ctx context.Context, req *peer.Request) error {
	if limit := int64(c.o.MaxNotifications); limit > 0 && c.notifications.Add(1) == limit+1 {
		c.conn.FailCalls()
	}
	if err := checkValues(req.Method(), req.Params()); err != nil {
		return err
	}
	if c.o.Notification != nil {
		c.o.Notification(ctx, req.Method(), req.Params())
	}
	switch req.Method() {
	case "notifications/progress":
		return c.handleProgress(req)
	case "notifications/cancelled":
		var p struct {
			RequestID jsonrpc.ID `json:"requestId"`
		}
		if err := strictjson.Unmarshal(req.Params(), &p); err != nil {
			return err
		}
		c.conn.Cancel(p.RequestID)
	}
	return nil
}

// An inProgress is a request with OnProgress that has been sent.
type inProgress struct {
	out      *peer.Outgoing
	progress func(Progress)
}

// handleProgress restarts the timeout of a request, and calls its OnProgress function.
func (c *Client) handleProgress(req *peer.Request) error {
	var p struct {
		Token jsonrpc.ID `json:"progressToken"`
		Progress
	}
	if err := strictjson.Unmarshal(req.Params(), &p); err != nil {
		return err
	}
	if found, ok := c.inProgress.Load(p.Token.String()); ok {
		sent := found.(*inProgress)
		c.conn.ResetIdleTimeout(sent.out)
		sent.progress(p.Progress)
	}
	return nil
}

// Limits for the server. [Options] has those that can be changed.
const (
	maxPages    = 1000      // per list
	maxEntries  = 100_000   // per list
	maxList     = 32 << 20  // bytes per list
	maxValues   = 1_000_000 // JSON values in one message
	maxInFlight = 100       // requests being handled
)

// limitf returns the error for a server that exceeds a limit.
func limitf(format string, args ...any) error {
	return fmt.Errorf("the server exceeds a limit of this client: "+format, args...)
}

// checkValues refuses a message with so many JSON values that decoding it would take much memory.
func checkValues(name string, raw []byte) error {
	if len(raw) <= maxValues {
		return nil
	}
	n, quoted := 1, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c == ',' || c == '[' || c == '{'):
			n++
		}
	}
	if n > maxValues {
		return limitf("%s has more than %d JSON values", short(name), maxValues)
	}
	return nil
}
