package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/plumbing/peer"
	"github.com/petrock/petrock/core/strictjson"
)

// maxRounds is how often a server may ask for more input before it returns a result.
const maxRounds = 20

// A CallOption configures one request.
type CallOption func(*request)

// OnProgress calls f with each progress notification of the request, before the request returns. f
// blocks all other messages, so it must return quickly, and must not call the client. Each
// notification restarts [Options].Timeout.
func OnProgress(f func(Progress)) CallOption { return func(r *request) { r.progress = f } }

// WithTimeouts overrides [Options].Timeout and [Options].MaxTimeout for one request. 0 keeps the
// default.
func WithTimeouts(timeout, maxTimeout time.Duration) CallOption {
	return func(r *request) { r.timeout, r.maxTimeout = timeout, maxTimeout }
}

// KeepResult stores the result in raw as the server sent it.
func KeepResult(raw *json.RawMessage) CallOption { return func(r *request) { r.rawResult = raw } }

// Progress is a progress notification.
type Progress struct {
	Progress float64 `json:"progress"`
	Total    float64 `json:"total,omitempty"` // 0 if unknown
	Message  string  `json:"message,omitempty"`
}

// A request is a request to the server. It encodes as its params.
type request struct {
	method    string
	name      string          // tool, prompt or resource; repeated in a header over HTTP
	arguments json.RawMessage // of a tool or prompt; may be nil
	params    []byte          // members
	meta      []byte          // members of _meta given by the caller

	progress            func(Progress)
	timeout, maxTimeout time.Duration
	rawResult           *json.RawMessage

	// Answers to input requests, in stateless revisions.
	inputResponses json.RawMessage
	requestState   json.RawMessage

	client        *Client
	session       *session
	progressToken string
}

func (r *request) setParam(key string, value []byte) {
	switch key {
	case nameParam(r.method):
		r.name, _ = strictjson.Unquote(value)
	case "arguments":
		r.arguments = value
	}
	r.params = strictjson.AppendMember(r.params, key, value)
}

// Request sends a request and decodes the result into result, which is a pointer or nil. A
// *json.RawMessage gets the result as the server sent it. In stateless revisions, the functions of
// [Options] answer input requests of the server.
func (c *Client) Request(ctx context.Context, method string, params, result any, options ...CallOption) error {
	r := &request{method: method}
	encoded, err := encodeObject(params)
	if err != nil {
		return fmt.Errorf("encode the params of %s: %w", method, err)
	}
	if encoded != nil {
		r.setParams(encoded)
	}
	raw, err := c.do(ctx, r, options)
	if err != nil || result == nil {
		return err
	}
	if err := strictjson.Unmarshal(raw, result); err != nil {
		return &ConnectionError{fmt.Errorf("read the result of %s: %w", method, err)}
	}
	return nil
}

// Notify sends a notification. The client sends the notifications of the protocol itself.
func (c *Client) Notify(ctx context.Context, method string, params any) error {
	return c.wrapError(c.transport.Notify(ctx, &c.session.Load().Session, method, params))
}

// setParams sets the params to an object, which is valid JSON.
func (r *request) setParams(params []byte) {
	_ = strictjson.Members(params, func(key, value []byte) error {
		if string(key) == "_meta" && strictjson.First(value) == '{' {
			return strictjson.Members(value, func(key, value []byte) error {
				r.meta = strictjson.AppendMember(r.meta, string(key), value)
				return nil
			})
		}
		r.setParam(string(key), value)
		return nil
	})
}

// nameParam returns the param that the header Mcp-Name repeats, or "".
func nameParam(method string) string {
	switch method {
	case "tools/call", "prompts/get":
		return "name"
	case "resources/read":
		return "uri"
	}
	return ""
}

// do sends a request and returns its result, which is valid JSON. It answers input requests of the
// server, and sends the request again if the server has lost the session.
func (c *Client) do(ctx context.Context, r *request, options []CallOption) (json.RawMessage, error) {
	for _, option := range options {
		option(r)
	}
	s := c.session.Load()
	for range maxRounds {
		raw, err := c.sendOnce(ctx, s, r)
		if err != nil && errors.Is(err, ErrLostSession) {
			if s, err = c.renewSession(ctx, s); err == nil {
				raw, err = c.sendOnce(ctx, s, r)
			}
		}
		if err != nil {
			return nil, c.wrapError(err)
		}
		kind := ""
		if s.IsStateless() {
			kind, _ = strictjson.Unquote(strictjson.Member(raw, "resultType"))
		}
		switch kind {
		case "", "complete":
			if r.rawResult != nil {
				*r.rawResult = raw
			}
			return raw, nil
		case "input_required":
			if err := c.answerAll(ctx, r, raw); err != nil {
				return nil, err
			}
		default:
			return nil, &ConnectionError{fmt.Errorf("the result of %s has the unknown type %q", r.method, short(kind))}
		}
	}
	return nil, &ConnectionError{fmt.Errorf("%s still asks for input after %d rounds", r.method, maxRounds)}
}

// sendOnce sends a request and returns its result. If ctx ends or the timeout expires, it cancels
// the request.
func (c *Client) sendOnce(ctx context.Context, s *session, r *request) (json.RawMessage, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("call %s: %w", r.method, context.Cause(ctx))
	}
	r.client, r.session = c, s
	via := c.transport.Via(&s.Session, Call{r.method, r.name, r.arguments})
	out := &peer.Outgoing{Method: r.method, Params: r, Via: via}
	if r.method != "subscriptions/listen" { // the server answers it when the subscription ends
		out.IdleTimeout = cmp.Or(r.timeout, c.o.Timeout)
		out.MaxTimeout = cmp.Or(r.maxTimeout, max(c.o.MaxTimeout, out.IdleTimeout))
	}
	if r.progress != nil {
		r.progressToken = strconv.FormatInt(c.lastToken.Add(1), 10)
		c.inProgress.Store(r.progressToken, &inProgress{out, r.progress})
		defer c.inProgress.Delete(r.progressToken)
	}
	if !s.IsStateless() && r.progressToken == "" && r.params == nil && r.meta == nil {
		out.Params = nil
	}
	id, raw, err := c.conn.Do(ctx, out)
	if err != nil && !id.IsZero() {
		c.cancel(ctx, s, r, id, err)
	}
	if err == nil {
		err = checkValues("the result of "+r.method, raw)
	}
	return raw, err
}

// cancel sends notifications/cancelled for a request whose context has ended or that has timed out.
// It does not wait long for a slow server.
func (c *Client) cancel(ctx context.Context, s *session, r *request, id jsonrpc.ID, err error) {
	timeout, timedOut := errors.AsType[*peer.TimeoutError](err)
	if !timedOut && ctx.Err() == nil || s.Revision == "" || c.life.Err() != nil {
		return
	}
	reason := "cancelled by the caller"
	if timedOut {
		reason = timeout.Error()
	}
	ctx, sent := context.WithTimeout(c.life, time.Second) // the context of the request has ended
	go func() {
		defer sent()
		params := struct {
			RequestID jsonrpc.ID `json:"requestId"`
			Reason    string     `json:"reason,omitempty"`
		}{id, reason}
		if err := c.transport.Notify(ctx, &s.Session, "notifications/cancelled", params); err != nil {
			c.o.Logger.Debug("cancel request failed", "error", err)
		}
	}()
	select {
	case <-ctx.Done():
	case <-time.After(200 * time.Millisecond):
	}
}

// AppendJSON appends the params as JSON.
func (r *request) AppendJSON(dst []byte) ([]byte, error) {
	dst = append(append(dst, '{'), r.params...)
	if r.inputResponses != nil {
		dst = strictjson.AppendMember(dst, "inputResponses", r.inputResponses)
	}
	if r.requestState != nil {
		dst = strictjson.AppendMember(dst, "requestState", r.requestState)
	}
	meta := slices.Clip(r.meta)
	if r.session.IsStateless() {
		identity, err := r.client.statelessMeta()
		if err != nil {
			return nil, err
		}
		if meta != nil {
			meta = append(meta, ',')
		}
		meta = append(meta, identity...)
	}
	if r.progressToken != "" {
		meta = strictjson.AppendMember(meta, "progressToken", []byte(r.progressToken))
	}
	if meta != nil {
		dst = append(strictjson.AppendMember(dst, "_meta", []byte{'{'}), meta...)
		dst = append(dst, '}')
	}
	return append(dst, '}'), nil
}

// encodeObject returns a value as JSON, which must be an object. It returns nil for nil.
func encodeObject(v any) (raw json.RawMessage, err error) {
	switch given := v.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		raw, err = given, strictjson.Check(given)
	default:
		raw, err = strictjson.Marshal(v)
	}
	if err == nil && strictjson.First(raw) != '{' {
		err = fmt.Errorf("must be an object, got %s", strictjson.Describe(raw))
	}
	return raw, err
}
