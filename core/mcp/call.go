package mcp

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

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

	// Session is the session that the call is part of. It is nil in revisions that have
	// none, where a call stands for itself.
	Session *Session

	target    json.RawMessage // what Target was read from
	arguments json.RawMessage // as they came

	via       *Session  // where the call came from, in any revision
	responder Responder // of the transport; nil over stdio
	req       *jsonrpc.Request
	ctx       context.Context // of the request: when it ends, nobody waits any more
	client    *client         // of the session; nil for a request that stands for itself,
	info      json.RawMessage // which says this of its client,
	capable   json.RawMessage // and this: both are read when somebody asks, which few do
	level     *Level          // of log messages that the client wants for this call alone
	progress  *progress       // nil if the client did not ask for it
	cache     Cache           // how long the answer holds, if it is one that is kept
	checked   []byte          // structured content that is known to be good JSON

	dialogue atomic.Pointer[dialogue] // nil if nothing has been asked or answered

	mu   sync.Mutex
	over bool
}

// A client is what is known about who calls: agreed on in the handshake, or
// told with the request.
type client struct {
	info         Implementation
	capabilities Capabilities
}

// An introduction is what a request without a session says of itself, as it came: some
// members of _meta, and answers to questions.
type introduction struct {
	version, capabilities, info, level json.RawMessage
	responses, state                   json.RawMessage
}

// Keys of _meta in revision 2026-07-28.
const (
	metaPrefix       = "io.modelcontextprotocol/"
	MetaVersion      = metaPrefix + "protocolVersion"
	MetaCapabilities = metaPrefix + "clientCapabilities"
	MetaClientInfo   = metaPrefix + "clientInfo"
	MetaLogLevel     = metaPrefix + "logLevel"
	MetaServerInfo   = metaPrefix + "serverInfo"
)

// A Hook stands around every call: it may look at it, refuse it, give next a
// context with more in it, and see what came of it. It is the place for identity,
// metrics, tracing and rate limits, and it may [Ask]. What is no good request to begin with
// does not get so far. It returns when next has, which it may call again. Calls run concurrently, but
// for the few that are done in the order in which they came (initialize, ping, server/discover,
// logging/setLevel and subscriptions): a hook that waits in one of those holds up all others.
type Hook func(ctx context.Context, call *Call, next func(context.Context) (any, error)) (any, error)

// callKey is the key of a context's call.
type callKey struct{}

// A callContext is a call seen as its context: that of the request, and it knows the call and what the server provides.
type callContext Call

// String keeps those who print a context from looking into the call.
func (x *callContext) String() string { return "mcp.Call(" + x.Method + ")" }

func (x *callContext) Deadline() (time.Time, bool) { return x.ctx.Deadline() }
func (x *callContext) Done() <-chan struct{}       { return x.ctx.Done() }
func (x *callContext) Err() error                  { return x.ctx.Err() }

func (x *callContext) Value(key any) any {
	if key == (callKey{}) {
		return (*Call)(x)
	}
	if value := x.ctx.Value(key); value != nil {
		return value
	}
	return x.via.server.value(key)
}

// CallFrom returns the call that ctx belongs to, or nil outside of one.
func CallFrom(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// Client returns who the client says it is. It may say nothing, or anything: no
// decision should rest on it.
func (c *Call) Client() Implementation {
	if c.client != nil {
		return c.client.info
	}
	info, _ := readInfo(c.info) // checked when it came
	return info
}

// ClientCapabilities returns what the client says it can do.
func (c *Call) ClientCapabilities() Capabilities {
	if c.client != nil {
		return c.client.capabilities
	}
	if c.capable == nil {
		return nil
	}
	all := Capabilities{}
	_ = strictjson.Members(c.capable, func(key, value []byte) error { // checked when they came
		all[string(key)] = value
		return nil
	})
	return all
}

// newCall reads what is common to the params of all requests, and what they say of themselves.
func (s *Session) newCall(ctx context.Context, req *jsonrpc.Request, intro *introduction) (*Call, error) {
	c := &Call{Method: req.Method, Params: req.Params, via: s, req: req, ctx: ctx}
	c.responder, _ = req.Responder().(Responder) // Session.Receive takes no other
	switch strictjson.First(req.Params) {
	case 0:
		return c, nil
	case '[':
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "params must be an object, got an array")
	}
	target, hasTarget := targetKey(req.Method)
	err := strictjson.Members(req.Params, func(key, value []byte) error {
		switch {
		case hasTarget && string(key) == target:
			c.target = value
			c.Target, _ = strictjson.Unquote(value)
		case string(key) == "arguments":
			c.arguments = slices.Clip(value)
		case string(key) == "_meta":
			if strictjson.First(value) != '{' {
				return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta must be an object, got %s", strictjson.Describe(value))
			}
			c.Meta = slices.Clip(value)
		case string(key) == "inputResponses":
			intro.responses = value
		case string(key) == "requestState":
			intro.state = value
		}
		return nil
	})
	if err == nil && c.Meta != nil {
		err = c.readMeta(intro)
	}
	return c, err
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
func (c *Call) readMeta(intro *introduction) error {
	return strictjson.Members(c.Meta, func(key, value []byte) error {
		switch string(key) {
		case "progressToken":
			token, err := jsonrpc.ParseID(value)
			if err != nil {
				return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta.progressToken must be a string or a whole number, got %s", strictjson.Describe(value))
			}
			c.progress = &progress{token: token}
		case MetaVersion:
			intro.version = value
		case MetaCapabilities:
			intro.capabilities = value
		case MetaClientInfo:
			intro.info = value
		case MetaLogLevel:
			intro.level = value
		}
		return nil
	})
}

// run calls the method, unless the call is refused, and handles its questions.
func (c *Call) run(ctx context.Context, m method, refusal error) (any, error) {
	if refusal != nil {
		return nil, refusal
	}
	if c.dialogue.Load() != nil || c.via.server.hook != nil { // else nothing has been asked, and this is the only run
		if err := c.beginDialogue(); err != nil {
			return nil, err
		}
	}
	result, err := m.run(ctx, c)
	if c.dialogue.Load() != nil {
		if open, sealErr := c.openQuestions(); open != nil || sealErr != nil {
			return open, sealErr // whatever the handler returned
		}
	}
	return result, err
}

// tell sends the client a notification that belongs to this call, unless the call is
// over: its answer is on its way, or nobody waits for it any more. It reports whether it did.
func (c *Call) tell(method string, params any) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || c.ctx.Err() != nil {
		return false
	}
	if err := c.req.Notify(method, params); err != nil {
		c.via.log.Debug("notify the client", "method", method, "error", err)
	}
	return true
}

// end drops notifications sent after the call has finished.
func (c *Call) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
}

// progress is what a client has been told about a call that it wants to follow.
type progress struct {
	token jsonrpc.ID

	mu   sync.Mutex
	any  bool
	last float64
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
	if c == nil || c.progress == nil || math.IsNaN(done-total) || math.IsInf(done-total, 0) {
		return
	}
	p := c.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.any && done <= p.last {
		return
	}
	if c.Revision < Revision20250326 {
		message = ""
	}
	if c.tell("notifications/progress", progressParams{p.token, done, total, message}) {
		p.any, p.last = true, done
	}
}
