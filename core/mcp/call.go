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

// A Call is a request that the server handles.
type Call struct {
	Method   string          // such as tools/call
	Target   string          // the name of the tool or prompt, or the URI of the resource
	Params   json.RawMessage // as the client sent them; nil if there are none
	Meta     json.RawMessage // the _meta of the params; nil if there is none
	Revision Revision        // that the call is served in; empty for initialize

	// Session is the session that the call is part of. It is nil in revisions without sessions.
	Session *Session

	target    json.RawMessage // the JSON of Target
	arguments json.RawMessage // as the client sent them

	via       *Session  // the session that received the call, in any revision
	responder Responder // of the transport; nil over stdio
	req       *jsonrpc.Request
	ctx       context.Context // of the request; it ends when the client no longer waits
	client    *client         // of the session; nil in the stateless era
	info      json.RawMessage // the client's info in the stateless era, decoded on demand
	capable   json.RawMessage // its capabilities, likewise
	level     *Level          // the least level of log messages for this call; nil if it names none
	progress  *progress       // nil if the client does not want any
	cache     Cache           // how long the client may keep the result
	checked   []byte          // structured content that is known to be valid JSON
	failed    *ToolResult     // the result of a tool that is an error

	dialogue atomic.Pointer[dialogue] // nil if nothing has been asked or answered

	mu   sync.Mutex
	over bool
}

// A client is the client of a session, as it describes itself in the handshake.
type client struct {
	info         Implementation
	capabilities Capabilities
}

// An introduction holds what a request of the stateless era says about itself, as undecoded JSON:
// members of _meta, and answers to questions of the server.
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

// A Hook is called for every valid request. It calls next, which handles the request, and returns
// its result. It may refuse the request instead, change the context or the result, call next again,
// or [Ask] the user. Use it for identity, metrics, tracing and rate limits.
//
// Calls run concurrently, except initialize, ping, server/discover, logging/setLevel and subscriptions,
// which are handled in the order in which they arrive. A hook that waits in one of these holds up all
// later calls.
type Hook func(ctx context.Context, call *Call, next func(context.Context) (any, error)) (any, error)

type callKey struct{}

// A callContext is the context of a call: that of the request, with the call and the values that the
// server provides.
type callContext Call

// String prevents package fmt from printing the fields of the call.
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

// CallFrom returns the call that ctx belongs to, or nil if there is none.
func CallFrom(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// Client returns the client's own description of itself. Clients may omit or forge it: do not base
// decisions on it.
func (c *Call) Client() Implementation {
	if c.client != nil {
		return c.client.info
	}
	info, _ := readInfo(c.info) // checked by introduce
	return info
}

// ClientCapabilities returns the capabilities that the client declares.
func (c *Call) ClientCapabilities() Capabilities {
	if c.client != nil {
		return c.client.capabilities
	}
	if c.capable == nil {
		return nil
	}
	all := Capabilities{}
	_ = strictjson.Members(c.capable, func(key, value []byte) error { // checked by introduce
		all[string(key)] = value
		return nil
	})
	return all
}

// newCall reads the params that all requests have in common, and stores the rest in intro. It returns
// a call even if they are invalid.
func (s *Session) newCall(ctx context.Context, req *jsonrpc.Request, intro *introduction) (*Call, error) {
	c := &Call{Method: req.Method, Params: req.Params, via: s, req: req, ctx: ctx}
	c.responder, _ = req.Responder().(Responder) // Session.Receive takes no other
	switch strictjson.First(req.Params) {
	case 0:
		return c, nil
	case '[':
		return c, jsonrpc.Errorf(jsonrpc.InvalidParams, "params must be an object, got an array")
	}
	target := targetKey(req.Method)
	err := strictjson.Members(req.Params, func(key, value []byte) error {
		switch {
		case string(key) == target && target != "":
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

// targetKey returns the param that names the tool, prompt or resource of a request, or "". Hooks
// may decide by it, so the method must read the same param.
func targetKey(method string) string {
	switch method {
	case "tools/call", "prompts/get":
		return "name"
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		return "uri"
	}
	return ""
}

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
	if c.dialogue.Load() != nil || c.via.server.o.Hook != nil { // else nothing has been asked, and this is the only run
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

// tell sends the client a notification that belongs to the call, and reports whether it did. It does
// nothing if the call has been answered or cancelled.
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

// progress is the progress of a call that has been reported to the client.
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

// Progress reports the progress of the call that ctx belongs to: done of total, which is 0 if unknown,
// with an optional message. It does nothing if the client does not want progress, if done has not
// increased, or if the call is over.
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
