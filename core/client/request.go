package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// mostRounds is how often a server may ask for more before it gives a result.
const mostRounds = 20

// A CallOption says something of one request.
type CallOption func(*outgoing)

// OnProgress has f told how far the request has come. It is called before the request returns, unless it takes so long that the answer
// overtakes it. Each progress begins the time of [ClientOptions].Timeout anew.
func OnProgress(f func(ProgressReport)) CallOption { return func(a *outgoing) { a.progress = f } }

// Within sets the time-outs of one request in place of those of [ClientOptions]: between signs of progress, and in all. 0 leaves one as it is.
func Within(timeout, most time.Duration) CallOption {
	return func(a *outgoing) { a.idle, a.most = timeout, most }
}

// Keep has the result put into raw as the server sent it, beside what becomes of it.
func Keep(raw *json.RawMessage) CallOption { return func(a *outgoing) { a.keep = raw } }

// A ProgressReport is how far a request has come.
type ProgressReport struct {
	Progress float64 `json:"progress"`
	Total    float64 `json:"total,omitempty"` // 0 if it is not known
	Message  string  `json:"message,omitempty"`
}

// outgoing is one request, and its params as they are written. It is one piece of memory: there is one for each call.
type outgoing struct {
	method    string
	name      string                           // what it is about, which a header repeats over HTTP: a tool, a prompt, the address of a resource
	arguments any                              // of a tool or a prompt; nil if there are none
	members   func(dst []byte) ([]byte, error) // appends the members of the params, if those are not the name and the arguments
	meta      []byte                           // members of _meta that are the caller's

	progress   func(ProgressReport)
	idle, most time.Duration
	keep       *json.RawMessage // gets the result as it is; nil if nobody wants it

	// Of a further round.
	answers json.RawMessage
	state   json.RawMessage

	// Of sending it.
	c     *Client
	a     *terms
	token string
	onID  func(jsonrpc.ID) // is told the id before the request is sent; nil is nobody
	out   jsonrpc.Outgoing

	session string // that has begun with it, over HTTP
}

// Request sends any request and decodes its result into result, a pointer, which may be nil, or a *json.RawMessage to have it as
// it is. In revisions without sessions, what the server asks before it answers is answered, and the request is sent again.
func (c *Client) Request(ctx context.Context, method string, params, result any, options ...CallOption) error {
	r := &outgoing{method: method}
	if params != nil {
		raw, err := encode(params)
		if err != nil {
			return fmt.Errorf("encoding the params of %s: %w", method, err)
		}
		if strictjson.First(raw) != '{' {
			return fmt.Errorf("encoding the params of %s: must be an object, got %s", method, strictjson.Describe(raw))
		}
		r.name = nameIn(method, raw)
		var own []byte
		err = strictjson.Object(raw, func(key, value []byte) error {
			if string(key) == "_meta" && strictjson.First(value) == '{' {
				return strictjson.Object(value, func(key, value []byte) error {
					r.meta = appendMember(r.meta, string(key), value)
					return nil
				})
			}
			own = appendMember(own, string(key), value)
			return nil
		})
		if err != nil {
			return fmt.Errorf("reading the params of %s: %w", method, err)
		}
		r.members = func(dst []byte) ([]byte, error) { return append(dst, own...), nil }
	}
	raw, err := c.do(ctx, r, options)
	if err != nil {
		return err
	}
	return decodeResult(method, raw, result)
}

// nameIn is what a request is about, which a header repeats over HTTP.
func nameIn(method string, params json.RawMessage) string {
	key := "name"
	switch method {
	case "tools/call", "prompts/get":
	case "resources/read":
		key = "uri"
	default:
		return ""
	}
	name, _ := strictjson.Unquote(memberOf(params, key))
	return name
}

func decodeResult(method string, raw json.RawMessage, result any) error {
	switch to := result.(type) {
	case nil:
		return nil
	case *json.RawMessage:
		*to = raw
		return nil
	}
	if err := strictjson.Unmarshal(raw, result); err != nil {
		return &ConnectionError{fmt.Errorf("reading the result of %s: %w", method, err)}
	}
	return nil
}

// do sends a request, again with answers as long as the server has questions, and again in a new session if the old one is
// lost. What it returns is good JSON.
func (c *Client) do(ctx context.Context, r *outgoing, options []CallOption) (json.RawMessage, error) {
	for _, option := range options {
		option(r)
	}
	raw, err := c.inRounds(ctx, r)
	if err == nil && r.keep != nil {
		*r.keep = raw
	}
	return raw, err
}

func (c *Client) inRounds(ctx context.Context, r *outgoing) (json.RawMessage, error) {
	a := c.told.Load()
	for round := 0; ; round++ {
		raw, err := c.ask(ctx, a, r)
		if err != nil && c.route.lost(err) {
			if a, err = c.renew(ctx, a); err == nil {
				raw, err = c.ask(ctx, a, r)
			}
		}
		if err != nil {
			return nil, c.failed(err)
		}
		if !a.revision.stateless() {
			return raw, nil
		}
		switch kind := resultType(raw); {
		case kind == "complete":
			return raw, nil
		case kind != "input_required":
			return nil, &ConnectionError{fmt.Errorf("the answer to %s is of a kind that this client does not know: %q", r.method, short(kind))}
		case round+1 >= mostRounds:
			return nil, &ConnectionError{fmt.Errorf("%s still asks after %d rounds", r.method, mostRounds)}
		}
		if err := c.answerAll(ctx, r, raw); err != nil {
			return nil, err
		}
	}
}

// resultType is what kind of result one of revision 2026-07-28 is. raw is checked.
func resultType(raw json.RawMessage) (kind string) {
	kind = "complete"
	if strictjson.First(raw) != '{' {
		return kind
	}
	found := errors.New("found")
	_ = strictjson.Members(raw, func(key, value []byte) error {
		if string(key) != "resultType" {
			return nil
		}
		if string(value) != `"complete"` {
			kind, _ = strictjson.Unquote(value)
		}
		return found
	})
	return kind
}

// once sends a request without params of its own, in an terms that is still to be made.
func (c *Client) once(ctx context.Context, a *terms, method string) (json.RawMessage, error) {
	return c.ask(ctx, a, &outgoing{method: method})
}

// ask sends a request once. It tells the server if nobody waits for the answer any more.
func (c *Client) ask(ctx context.Context, a *terms, r *outgoing) (json.RawMessage, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("calling %s: %w", r.method, context.Cause(ctx))
	}
	r.c, r.a = c, a
	r.out = jsonrpc.Outgoing{Method: r.method, Params: r, Idle: r.idle, Most: r.most, Via: c.route.via(a, r), Begun: r.onID}
	switch {
	case r.method == "subscriptions/listen":
	case r.idle == 0:
		r.out.Idle = c.o.Timeout
		fallthrough
	default:
		if r.out.Most == 0 {
			r.out.Most = max(c.o.MaxTimeout, r.out.Idle)
		}
	}
	if r.progress != nil {
		r.token = c.follow(r)
		defer c.unfollow(r.token)
	}
	if r.isBare() {
		r.out.Params = nil
	}
	id, raw, err := c.conn.Do(ctx, &r.out)
	if err != nil && !id.IsZero() {
		c.giveUp(ctx, a, r, id, err)
	}
	return raw, err
}

// giveUpPatience is how long a server may take to take note that an answer is not waited for any more, before that is not waited for either.
const giveUpPatience = 200 * time.Millisecond

// giveUp tells the server that an answer is not waited for any more, if that is why there is none.
func (c *Client) giveUp(ctx context.Context, a *terms, r *outgoing, id jsonrpc.ID, err error) {
	var late *jsonrpc.TimeoutError
	timedOut := errors.As(err, &late)
	switch {
	case !timedOut && ctx.Err() == nil, r.method == "initialize", a.revision == "", c.life.Err() != nil:
		return
	case a.revision.stateless() && c.route.isHTTP():
		return
	}
	reason := "nobody waits for it any more"
	if timedOut {
		reason = late.Error()
	}
	taken := make(chan struct{})
	go func() {
		defer close(taken)
		// Not with ctx, which has ended.
		told, cancel := context.WithTimeout(c.life, time.Second)
		defer cancel()
		if err := c.route.notify(told, a, "notifications/cancelled", giveUpParams{id, reason}); err != nil {
			c.o.Logger.Debug("telling the server to give up a request", "error", err)
		}
	}()
	timer := time.NewTimer(giveUpPatience)
	defer timer.Stop()
	select {
	case <-taken:
	case <-timer.C:
	}
}

type giveUpParams struct {
	RequestID jsonrpc.ID `json:"requestId"`
	Reason    string     `json:"reason,omitempty"`
}

// isBare reports whether it has no params.
func (r *outgoing) isBare() bool {
	return !r.a.revision.stateless() && r.token == "" && r.members == nil && r.name == "" && r.meta == nil
}

// AppendJSON appends the params as JSON.
func (r *outgoing) AppendJSON(dst []byte) ([]byte, error) {
	dst = append(dst, '{')
	var err error
	switch {
	case r.members != nil:
		dst, err = r.members(dst)
	case r.method == "resources/read":
		dst = strictjson.AppendString(append(dst, `"uri":`...), r.name)
	case r.name != "":
		dst = strictjson.AppendString(append(dst, `"name":`...), r.name)
		if r.arguments != nil {
			dst, err = appendArguments(append(dst, `,"arguments":`...), r.arguments)
		}
	}
	if err != nil {
		return nil, err
	}
	if r.answers != nil {
		dst = appendMember(dst, "inputResponses", r.answers)
	}
	if r.state != nil {
		dst = appendMember(dst, "requestState", r.state)
	}
	if r.a.revision.stateless() || r.token != "" || r.meta != nil {
		if dst, err = r.appendMeta(dst); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// A givenError says what is wrong with what a tool or a prompt is given, before anything is sent.
type givenError struct{ err error }

func (e *givenError) Error() string { return "the arguments" + e.err.Error() }

func (e *givenError) Unwrap() error { return e.err }

// appendArguments appends what a tool or a prompt is given.
func appendArguments(dst []byte, arguments any) ([]byte, error) {
	start := len(dst)
	raw, ok := arguments.(json.RawMessage)
	if ok {
		dst = append(dst, raw...)
		if err := strictjson.Check(raw); err != nil {
			return nil, &givenError{fmt.Errorf(": %w", err)}
		}
	} else {
		var err error
		if dst, err = strictjson.Append(dst, arguments); err != nil {
			return nil, &givenError{fmt.Errorf(": %w", err)}
		}
	}
	if strictjson.First(dst[start:]) != '{' {
		return nil, &givenError{fmt.Errorf(" must be an object, got %s", strictjson.Describe(dst[start:]))}
	}
	return dst, nil
}

// appendMeta appends the member _meta.
func (r *outgoing) appendMeta(dst []byte) ([]byte, error) {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(dst, `"_meta":{`...)
	if r.a.revision.stateless() {
		own, err := r.c.card()
		if err != nil {
			return nil, err
		}
		dst = append(dst, own...)
		if level := r.c.logLevel(); level != "" {
			dst = appendMember(dst, metaLogLevel, strictjson.AppendString(nil, string(level)))
		}
	}
	if r.meta != nil {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(dst, r.meta...)
	}
	if r.token != "" {
		dst = appendMember(dst, "progressToken", []byte(r.token))
	}
	return append(dst, '}'), nil
}
