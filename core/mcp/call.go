package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp/transport"
	"github.com/petrock/petrock/core/strictjson"
)

// A Call is a request that the server handles.
type Call struct {
	Method   string          // such as tools/call
	Target   string          // the name of the tool or prompt, or the URI of the resource
	Params   json.RawMessage // as the client sent them; nil if there are none
	Meta     json.RawMessage // the _meta of the params; nil if there is none
	Revision Revision        // of the call; empty for initialize

	// Session is the session that the call is part of. It is nil in revisions without sessions.
	Session *Session

	target    json.RawMessage // the JSON of Target
	arguments json.RawMessage // as the client sent them

	number    uint64              // of the request, in this server
	via       *Session            // the session that received the call, in any revision
	responder transport.Responder // of the transport; nil over stdio
	req       *jsonrpc.Request
	ctx       context.Context // of the request; ends when the client cancels it
	client    *client         // of the session; nil in the stateless era
	level     *Level          // the lowest level of log messages for the client; nil sends none
	progress  *progress       // nil if the client does not want progress
	cache     Cache           // of the result
	result    *ToolResult     // of the tool, as the client gets it; nil before it is rendered
	validated bool            // the structured content of the tool matches its schema
	hidden    error           // the error that the client sees only a part of

	rawInfo, rawCapabilities json.RawMessage // of the client in the stateless era

	dialogue atomic.Pointer[dialogue] // nil until it is needed

	mu    sync.Mutex
	ended bool
	meta  Meta // for the _meta of the result
}

// A client is the client of a session, as it describes itself in the handshake.
type client struct {
	info         Implementation
	capabilities Capabilities
}

// statelessParams are params of the stateless era as JSON: members of _meta, and answers to questions
// of the server.
type statelessParams struct {
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

// A Hook is called for every request whose params can be read, even if the server will refuse it. It
// calls next, which handles the request, and returns the result. It may also refuse the request,
// change the context or the result, call next again, or [Ask] the client. Use it for authentication,
// metrics, tracing and rate limits.
//
// Calls run concurrently, except initialize, ping, server/discover, logging/setLevel and
// subscriptions, which are handled in order. A hook that blocks one of these delays all later calls.
type Hook func(ctx context.Context, call *Call, next func(context.Context) (any, error)) (any, error)

type callKey struct{}

// A callContext is the context of a call. It adds the call and the values of [Server.Provide] to the
// context of the request.
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

// IsRemote reports whether the client is remote, such as an HTTP client. Sessions of [Server.Serve], for
// example over stdio, are not.
func (c *Call) IsRemote() bool { return c.via.remote }

// RequestID returns an id of the request that no other request has, of this server or of another. The
// log has it as request. Unlike the id of JSON-RPC, it does not come from the client.
func (c *Call) RequestID() string {
	return c.via.server.requestPrefix + strconv.FormatUint(c.number, 36)
}

// SessionID returns the session of the call as the log shows it, or "" if it has none. It does not
// give access to the session.
func (c *Call) SessionID() string {
	if c.responder == nil {
		return ""
	}
	return c.responder.Origin().Session
}

// Traceparent returns the trace that the call is part of, in the form of the header of the W3C
// recommendation Trace Context: from traceparent in _meta, or else from the transport. It is "" if
// the client has sent none, or an invalid one.
func (c *Call) Traceparent() string {
	trace, _ := strictjson.Unquote(strictjson.Member(c.Meta, "traceparent"))
	if trace == "" && c.responder != nil {
		trace = c.responder.Origin().Traceparent
	}
	if !isTraceparent(trace) {
		return ""
	}
	return trace
}

// isTraceparent reports whether text has the form 00-TRACE-SPAN-FLAGS, in lower-case hexadecimal.
func isTraceparent(text string) bool {
	parts := strings.Split(text, "-")
	return len(text) == 55 && len(parts) == 4 && len(parts[0]) == 2 && len(parts[1]) == 32 && len(parts[2]) == 16 &&
		strings.Trim(text, "-0123456789abcdef") == ""
}

// forClient returns the error for the client. If err has a method ForClient, it is for operators: it goes
// to the log, and remote clients get the text of that method, which has the id of the request.
func (c *Call) forClient(err error) error {
	e, ok := errors.AsType[interface {
		error
		ForClient(request string) string
	}](err)
	if !ok || !c.IsRemote() {
		return err
	}
	c.hidden = err
	return errors.New(e.ForClient(c.RequestID()))
}

// SetResultMeta sets a member in the _meta of the result, if the call is for a tool, a resource or a
// prompt.
func (c *Call) SetResultMeta(key string, value any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.meta == nil {
		c.meta = Meta{}
	}
	c.meta[key] = value
}

// resultMeta returns the _meta of the result with the members of SetResultMeta.
func (c *Call) resultMeta(own Meta) Meta {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.meta) == 0 {
		return own
	}
	all := maps.Clone(c.meta)
	maps.Copy(all, own)
	return all
}

// Client returns the client's own description of itself. Clients may omit or forge it: do not base
// decisions on it.
func (c *Call) Client() Implementation {
	if c.client != nil {
		return c.client.info
	}
	info, _ := readInfo(c.rawInfo) // checked by readStateless
	return info
}

// ClientCapabilities returns the capabilities that the client declares.
func (c *Call) ClientCapabilities() Capabilities {
	if c.client != nil {
		return c.client.capabilities
	}
	var all Capabilities
	_ = strictjson.Unmarshal(c.rawCapabilities, &all) // checked by readStateless
	return all
}

// newCall reads the target, the arguments, _meta and, into sp, the params of the stateless era. It
// returns a call even if params are invalid.
func (s *Session) newCall(ctx context.Context, req *jsonrpc.Request, sp *statelessParams) (*Call, error) {
	c := &Call{Method: req.Method, Params: req.Params, number: s.server.requests.Add(1), via: s, req: req, ctx: ctx}
	if s.remote {
		c.responder, _ = req.Responder().(transport.Responder)
	}
	switch strictjson.First(req.Params) {
	case 0:
		return c, nil
	case '[':
		return c, jsonrpc.Errorf(jsonrpc.InvalidParams, "params must be an object, got an array")
	}
	target := targetKey(req.Method)
	err := strictjson.MembersAt(req.Params, &req.ParamEnds, func(key, value []byte) error {
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
			sp.responses = value
		case string(key) == "requestState":
			sp.state = value
		}
		return nil
	})
	if err == nil && c.Meta != nil {
		err = c.readMeta(sp)
	}
	return c, err
}

// targetKey returns the param that names the tool, prompt or resource of a request, or "". Hooks may
// check [Call].Target, so the method must read the same param.
func targetKey(method string) string {
	switch method {
	case "tools/call", "prompts/get":
		return "name"
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		return "uri"
	}
	return ""
}

func (c *Call) readMeta(sp *statelessParams) error {
	return strictjson.Members(c.Meta, func(key, value []byte) error {
		switch string(key) {
		case "progressToken":
			token, err := jsonrpc.ParseID(value)
			if err != nil {
				return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta.progressToken must be a string or an integer, got %s", strictjson.Describe(value))
			}
			c.progress = &progress{token: token}
		case MetaVersion:
			sp.version = value
		case MetaCapabilities:
			sp.capabilities = value
		case MetaClientInfo:
			sp.info = value
		case MetaLogLevel:
			sp.level = value
		}
		return nil
	})
}

// run calls the method unless the call is refused. If questions are open, they are the result.
func (c *Call) run(ctx context.Context, m method, refusal error) (any, error) {
	if refusal != nil {
		return nil, refusal
	}
	if c.dialogue.Load() != nil || c.via.server.o.Hook != nil {
		if err := c.beginDialogue(); err != nil {
			return nil, err
		}
	}
	result, err := m.run(ctx, c)
	if open, sealErr := c.openQuestions(); open != nil || sealErr != nil {
		return open, sealErr
	}
	return result, err
}

// notify sends the client a notification that belongs to the call. It returns false, and sends
// nothing, if the call has ended or was cancelled.
func (c *Call) notify(method string, params any) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.ctx.Err() != nil {
		return false
	}
	if err := c.req.Notify(method, params); err != nil {
		c.via.log.Debug("notify client", "method", method, "error", err)
	}
	return true
}

// end marks the call as ended; notify then sends nothing.
func (c *Call) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
}

// progress is the progress that a call has reported to the client.
type progress struct {
	token jsonrpc.ID

	mu       sync.Mutex
	reported bool
	last     float64
}

type progressParams struct {
	Token    jsonrpc.ID `json:"progressToken"`
	Progress float64    `json:"progress"`
	Total    float64    `json:"total,omitempty"`
	Message  string     `json:"message,omitempty"`
}

// Progress reports to the client that done of total has been completed in the call that ctx belongs
// to. total is 0 if unknown, and message may be empty. Progress does nothing if the client does not
// want progress, if done has not increased, or if the call has ended.
func Progress(ctx context.Context, done, total float64, message string) {
	c := CallFrom(ctx)
	if c == nil || c.progress == nil || math.IsNaN(done-total) || math.IsInf(done-total, 0) {
		return
	}
	p := c.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reported && done <= p.last {
		return
	}
	if c.Revision < Revision20250326 {
		message = ""
	}
	if c.notify("notifications/progress", progressParams{p.token, done, total, message}) {
		p.reported, p.last = true, done
	}
}
