package mcp

import (
	"context"
	"encoding/json"
	"math"
	"sync"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// A Call is one request of a client, on its way through the server.
type Call struct {
	Method   string          // such as tools/call
	Target   string          // the name of the tool or prompt, or the address of the resource
	Params   json.RawMessage // as they came; nil if there were none
	Meta     json.RawMessage // the _meta of the params; nil if there was none
	Revision Revision        // in which the call is served; empty for initialize
	Session  *Session

	progress progress
}

// A Hook stands around every call: it may look at it, refuse it, give next a
// context with more in it, and see what came of it. It is the place for identity,
// metrics, tracing and rate limits. Calls run concurrently, but for the few that are
// done in the order in which they came (initialize, ping, logging/setLevel and
// subscriptions): a hook that waits in one of those holds up all others.
type Hook func(ctx context.Context, call *Call, next func(context.Context) (any, error)) (any, error)

// callKey is the key of a context's call.
type callKey struct{}

// CallFrom returns the call that ctx belongs to, or nil outside of one.
func CallFrom(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// newCall reads what is common to the params of all requests.
func newCall(s *Session, req *jsonrpc.Request) (*Call, error) {
	c := &Call{Method: req.Method, Params: req.Params, Session: s}
	switch strictjson.First(req.Params) {
	case 0:
		return c, nil
	case '[':
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "params must be an object, got an array")
	}
	target, hasTarget := targetKey(req.Method)
	err := strictjson.Object(req.Params, func(key, value []byte) error {
		switch {
		case hasTarget && string(key) == target:
			c.Target, _ = strictjson.Unquote(value)
		case string(key) == "_meta":
			if strictjson.First(value) != '{' {
				return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta must be an object, got %s", strictjson.Describe(value))
			}
			c.Meta = value
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c, c.readMeta()
}

// targetKey is the param that names what a method is about, if it is about one
// thing. A hook may decide by it, so it must be the very one that the method goes by.
func targetKey(method string) (key string, ok bool) {
	switch method {
	case "tools/call", "prompts/get":
		return "name", true
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		return "uri", true
	}
	return "", false
}

// readMeta takes from _meta what the protocol puts there.
func (c *Call) readMeta() error {
	if c.Meta == nil {
		return nil
	}
	return strictjson.Object(c.Meta, func(key, value []byte) error {
		if string(key) != "progressToken" {
			return nil
		}
		token, err := jsonrpc.ParseID(value)
		if err != nil {
			return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta.progressToken must be a string or a whole number, got %s", strictjson.Describe(value))
		}
		c.progress.token = token
		return nil
	})
}

// progress is what a client has been told about a call that it wants to follow.
type progress struct {
	token jsonrpc.ID      // zero if the client did not ask
	of    context.Context // of the request: when it ends, nobody waits any more

	mu   sync.Mutex
	any  bool
	last float64
	over bool
}

type progressParams struct {
	Token    jsonrpc.ID `json:"progressToken"`
	Progress float64    `json:"progress"`
	Total    float64    `json:"total,omitempty"`
	Message  string     `json:"message,omitempty"`
}

// Progress tells the client how far the call that ctx belongs to has come: done of
// total, or of an unknown total if that is 0, with a message that may be empty. It
// does nothing if the client did not ask, if done is not more than the last
// time, or if the call is over.
func Progress(ctx context.Context, done, total float64, message string) {
	c := CallFrom(ctx)
	if c == nil || c.progress.token.IsZero() || math.IsNaN(done-total) || math.IsInf(done-total, 0) {
		return
	}
	p := &c.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || p.of.Err() != nil || p.any && done <= p.last {
		return
	}
	p.any, p.last = true, done
	if c.Revision < Revision20250326 {
		message = ""
	}
	c.Session.notify(ctx, "notifications/progress", progressParams{p.token, done, total, message})
}

// end makes further progress of the call unsayable: its answer is on its way.
func (c *Call) end() {
	c.progress.mu.Lock()
	defer c.progress.mu.Unlock()
	c.progress.over = true
}
