package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
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

// CallTool calls a tool. arguments must encode to a JSON object; nil omits them, and a
// [json.RawMessage] is sent unchanged. A result with IsError set is not a Go error.
func (c *Client) CallTool(ctx context.Context, name string, arguments any, options ...CallOption) (*mcp.ToolResult, error) {
	encoded, err := encodeObject(arguments)
	if err != nil {
		return nil, fmt.Errorf("invalid arguments: %w", err)
	}
	call := func() (json.RawMessage, error) {
		r := &request{method: "tools/call"}
		r.setParam("name", strictjson.AppendString(nil, name))
		if encoded != nil {
			r.setParam("arguments", encoded)
		}
		return c.do(ctx, r, options)
	}
	raw, err := call()
	if errors.Is(err, mcp.HeaderMismatch) {
		// The tool repeats arguments in headers. Tools fetches which ones.
		if _, listErr := c.Tools(ctx); listErr == nil {
			raw, err = call()
		}
	}
	if err != nil {
		return nil, err
	}
	var result mcp.ToolResult
	if err := result.UnmarshalJSON(raw); err != nil { // faster than strictjson.Unmarshal
		return nil, &ConnectionError{fmt.Errorf("read the result of tools/call: %w", err)}
	}
	delete(result.Meta, mcp.MetaServerInfo) // see Server
	if len(result.Meta) == 0 {
		result.Meta = nil
	}
	return &result, nil
}

// Tools lists all tools. Over HTTP, from revision 2026-07-28 on, it omits tools with an invalid
// x-mcp-header, as the protocol requires.
func (c *Client) Tools(ctx context.Context) ([]mcp.Tool, error) {
	all, err := listAll[mcp.Tool](ctx, c, "tools/list", "tools")
	return c.transport.FilterTools(&c.session.Load().Session, all), err
}

// Tool returns the tool with this name, or a [*NotFoundError].
func (c *Client) Tool(ctx context.Context, name string) (*mcp.Tool, error) {
	all, err := c.Tools(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range all {
		if t.Name == name {
			return &t, nil
		}
		names = append(names, t.Name)
	}
	return nil, &NotFoundError{Kind: "tool", Name: name, Available: names}
}

// A NotFoundError means that a server does not have a tool or prompt.
type NotFoundError struct {
	Kind      string // tool or prompt
	Name      string
	Available []string // names that the server has
	Hint      string   // how to list them, if the error does not name all; may be empty
}

// Error names the available names that share the most pairs of letters with the wanted one.
func (e *NotFoundError) Error() string {
	shared := map[string]int{}
	for _, name := range e.Available {
		for i := range max(0, min(len(e.Name), 64)-1) {
			if strings.Contains(name, e.Name[i:i+2]) {
				shared[name]++
			}
		}
	}
	nearest := slices.SortedStableFunc(slices.Values(e.Available), func(a, b string) int { return shared[b] - shared[a] })
	nearest = nearest[:min(len(nearest), 8)]
	available := strictjson.Clip(strings.Join(nearest, ", "), 4<<10)
	if more := len(e.Available) - len(nearest); more > 0 {
		available = strings.TrimSuffix(fmt.Sprintf("%s and %d more; %s", available, more, e.Hint), "; ")
	}
	return fmt.Sprintf("%s %q not found; the server has %s", e.Kind, short(e.Name), cmp.Or(available, "no "+e.Kind+"s"))
}

// Resources lists all resources.
func (c *Client) Resources(ctx context.Context) ([]mcp.Resource, error) {
	return listAll[mcp.Resource](ctx, c, "resources/list", "resources")
}

// ResourceTemplates lists all resource templates.
func (c *Client) ResourceTemplates(ctx context.Context) ([]mcp.ResourceTemplate, error) {
	return listAll[mcp.ResourceTemplate](ctx, c, "resources/templates/list", "resourceTemplates")
}

// Prompts lists all prompts.
func (c *Client) Prompts(ctx context.Context) ([]mcp.Prompt, error) {
	return listAll[mcp.Prompt](ctx, c, "prompts/list", "prompts")
}

// ReadResource reads a resource.
func (c *Client) ReadResource(ctx context.Context, uri string, options ...CallOption) ([]mcp.ResourceContents, error) {
	var result struct {
		Contents []mcp.ResourceContents `json:"contents"`
	}
	err := c.Request(ctx, "resources/read", map[string]string{"uri": uri}, &result, options...)
	return result.Contents, err
}

// GetPrompt returns a prompt with its arguments filled in.
func (c *Client) GetPrompt(ctx context.Context, name string, arguments map[string]string, options ...CallOption) (*mcp.PromptResult, error) {
	params := map[string]any{"name": name}
	if arguments != nil {
		params["arguments"] = arguments
	}
	result := new(mcp.PromptResult)
	if err := c.Request(ctx, "prompts/get", params, result, options...); err != nil {
		return nil, err
	}
	return result, nil
}

// Ping checks that the server answers. In stateless revisions, which have no ping, it sends
// server/discover.
func (c *Client) Ping(ctx context.Context) error {
	if c.session.Load().IsStateless() {
		return c.Request(ctx, "server/discover", nil, nil)
	}
	return c.Request(ctx, "ping", nil, nil)
}

// listAll decodes all entries of a list. It skips invalid entries.
func listAll[T any](ctx context.Context, c *Client, method, field string) ([]T, error) {
	entries, err := c.Entries(ctx, method, field)
	if entries == nil || err != nil {
		return nil, err
	}
	all := make([]T, 0, len(entries))
	for i, entry := range entries {
		var one T
		if err := strictjson.Unmarshal(entry, &one); err != nil {
			c.o.Logger.Warn("skipped an invalid list entry", "method", method, "entry", i, "error", err)
			continue
		}
		all = append(all, one)
	}
	return all, nil
}

// Entries returns all entries of a list as the server sent them. Use it for members that the types
// of package mcp do not have. method is the method of the list, such as tools/list, and field the
// field of the result with the entries, such as tools. It returns nil if the server does not
// declare the capability.
func (c *Client) Entries(ctx context.Context, method, field string) ([]json.RawMessage, error) {
	capability, _, _ := strings.Cut(method, "/")
	if !c.Capabilities().Has(capability) {
		return nil, nil
	}
	all, size := []json.RawMessage{}, 0
	r := &request{method: method}
	for range maxPages {
		raw, err := c.do(ctx, r, nil)
		if method == "resources/templates/list" && errors.Is(err, jsonrpc.MethodNotFound) {
			return nil, nil // many servers have resources but no templates
		}
		if err != nil {
			return nil, err
		}
		if size += len(raw); size > maxList {
			return nil, &ConnectionError{limitf("%s has more than %d bytes", method, maxList)}
		}
		page := strictjson.Member(raw, field)
		if strictjson.First(page) != '[' {
			return nil, &ConnectionError{fmt.Errorf("the result of %s has no list %s", method, field)}
		}
		err = strictjson.Elements(page, func(entry []byte) error {
			if len(all) == maxEntries {
				return &ConnectionError{limitf("%s has more than %d entries", method, maxEntries)}
			}
			all = append(all, entry)
			return nil
		})
		if err != nil {
			return nil, err
		}
		cursor := strictjson.Member(raw, "nextCursor")
		if cursor == nil || strictjson.First(cursor) == 'n' {
			if c.o.Listed != nil {
				c.o.Listed(method, all)
			}
			return all, nil
		}
		r = &request{method: method}
		r.setParam("cursor", cursor)
	}
	return nil, &ConnectionError{limitf("%s has more than %d pages", method, maxPages)}
}
