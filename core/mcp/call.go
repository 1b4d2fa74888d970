package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/internal/pace"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/plumbing/peer"
	"github.com/petrock/petrock/core/plumbing/transport"
	"github.com/petrock/petrock/core/strictjson"
)

// A callKey is the key of the call in a context.
type callKey struct{}

// CallFrom returns the call that ctx belongs to, or nil if there is none. A context belongs to a
// call if a hook or handler of that call got it, or if it was derived from such a context.
func CallFrom(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// A callContext is the context of a call. It adds the call and the values of [Server.Provide] to
// the context of the request. It is the Call itself, so it costs no allocation.
type callContext Call

// String prevents package fmt from printing the fields of the call.
func (x *callContext) String() string { return "mcp.Call(" + x.Method + ")" }

func (x *callContext) Deadline() (time.Time, bool) { return x.ctx.Deadline() }

func (x *callContext) Done() <-chan struct{} { return x.ctx.Done() }

func (x *callContext) Err() error { return x.ctx.Err() }

// Value prefers the values of the request, such as the identity of the caller, to those of the
// server.
func (x *callContext) Value(key any) any {
	if key == (callKey{}) {
		return (*Call)(x)
	}
	if value := x.ctx.Value(key); value != nil {
		return value
	}
	return (*x.via.server.provided.Load()).Value(key)
}

// IsRemote reports whether the client is remote, such as an HTTP client. Sessions of
// [Server.Serve], for example over stdio, are not.
func (c *Call) IsRemote() bool { return c.via.remote }

// RequestID returns an id of the request that no other request has, of this server or of another.
// The log has it as request. Unlike the id of JSON-RPC, it does not come from the client.
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
	parts := traceparent.FindStringSubmatch(trace)
	if parts == nil || strings.Trim(parts[2], "0") == "" || strings.Trim(parts[3], "0") == "" {
		return ""
	}
	return trace
}

// traceparent matches VERSION-TRACE-SPAN-FLAGS. Version ff, and ids of zeros, are invalid.
var traceparent = regexp.MustCompile(`^([0-9a-e][0-9a-f]|f[0-9a-e])-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$`)

// Client returns the client's own description of itself. Clients may omit or forge it: do not base
// decisions on it.
func (c *Call) Client() Implementation {
	if c.agreed != nil {
		return c.agreed.info
	}
	info, _ := readInfo(c.rawInfo) // checked by readStateless
	return info
}

// ClientCapabilities returns the capabilities that the client declares. [Ask] checks them itself.
func (c *Call) ClientCapabilities() Capabilities {
	if c.agreed != nil {
		return c.agreed.capabilities
	}
	var all Capabilities
	_ = strictjson.Unmarshal(c.rawCapabilities, &all) // checked by readStateless
	return all
}

// SetArguments replaces the arguments of a call of a tool, a valid JSON object. Use it in a hook,
// before next: they are validated and decoded like those of the client.
func (c *Call) SetArguments(arguments json.RawMessage) { c.arguments = arguments }

// SetResultMeta sets a member in the _meta of the result, if the call is for a tool, a resource or
// a prompt. Use it in a hook, or in a typed function that does not return the whole result. A
// member in the Meta of the result takes precedence. If value cannot be encoded as JSON, the
// request fails.
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

// Suspend lets the client disconnect and fetch the response of the call of ctx after retry, so that
// a call that takes minutes keeps no connection open. It only works over HTTP in revision
// 2025-11-25; otherwise it does nothing.
func Suspend(ctx context.Context, retry time.Duration) {
	c := CallFrom(ctx)
	if c == nil || c.responder == nil || c.Session == nil || c.Revision < Revision20251125 {
		return
	}
	c.responder.Suspend(retry)
}

// Progress reports to the client that done of total has been completed in the call that ctx belongs
// to. total is 0 if unknown, and message may be empty. Progress does nothing if the client does not
// want progress, if done has not increased, if a number is not finite, or if the call has ended.
// Several goroutines may call it.
func Progress(ctx context.Context, done, total float64, message string) {
	c := CallFrom(ctx)
	if c == nil || c.progress == nil || math.IsNaN(done-total) || math.IsInf(done-total, 0) {
		return
	}
	p := c.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	if done <= p.last {
		return
	}
	if c.Revision < Revision20250326 {
		message = ""
	}
	if c.notify("notifications/progress", progressParams{p.token, done, total, message}) {
		p.last = done
	}
}

// progressParams are the params of notifications/progress.
type progressParams struct {
	Token    jsonrpc.ID `json:"progressToken"`
	Progress float64    `json:"progress"`
	Total    float64    `json:"total,omitempty"`
	Message  string     `json:"message,omitempty"`
}

// newCall reads the target, the arguments, _meta and, into sp, the params of the stateless era, all
// in one pass. It returns a call even if params are invalid, so that the caller can log it.
func (s *Session) newCall(ctx context.Context, req *peer.Request, sp *statelessParams) (*Call, error) {
	c := &Call{
		Method: req.Method(), Params: req.Params(),
		method: cmp.Or(s.server.methods[req.Method()], unknownMethod),
		number: s.server.requests.Add(1), via: s, req: req, ctx: ctx,
	}
	if s.remote {
		c.responder, _ = req.Responder().(transport.Exchange)
	}
	switch strictjson.First(req.Params()) {
	case 0:
		return c, nil
	case '[':
		return c, jsonrpc.Errorf(jsonrpc.InvalidParams, "params must be an object, got an array")
	}
	err := req.Members(func(key, value []byte) error {
		switch {
		case string(key) == c.method.target && len(key) > 0:
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

// checkTarget returns an error if the params do not name the component that the method needs.
func (c *Call) checkTarget() error {
	switch m, first := c.method, strictjson.First(c.target); {
	case m.target == "" || first == '"':
		return nil
	case first == 0 || first == 'n':
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "%s needs the %s of a %s", c.Method, m.target, m.component())
	default:
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid params of %s: %s: must be a string, got %s", c.Method, m.target, strictjson.Describe(c.target))
	}
}

// readMeta reads the progress token and, into sp, the members of the stateless era.
func (c *Call) readMeta(sp *statelessParams) error {
	return strictjson.Members(c.Meta, func(key, value []byte) error {
		switch string(key) {
		case "progressToken":
			token, err := jsonrpc.ParseID(value)
			if err != nil {
				return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta.progressToken must be a string or an integer, got %s", strictjson.Describe(value))
			}
			c.progress = &progress{token: token, last: math.Inf(-1)}
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

// readStateless checks what a stateless request declares in its _meta: the revision, the
// capabilities, the client and the log level. The transport checks first, because a request whose
// headers and params differ must not be answered as either of them. Members that handlers rarely
// read are kept as JSON, and decoded by [Call.Client] and [Call.ClientCapabilities].
func (c *Call) readStateless(sp *statelessParams) error {
	version, ok := strictjson.Unquote(sp.version)
	if c.responder != nil {
		r := transport.Request{
			Version:   version,
			Method:    c.Method,
			Target:    c.Target,
			HasTarget: strictjson.First(c.target) == '"',
			Arguments: c.arguments,
		}
		if t, ok := c.via.server.tools.get(c.Target); ok && c.Method == "tools/call" {
			r.Headers = t.headerArguments
		}
		if err := c.responder.CheckRequest(r); err != nil {
			return err
		}
	}
	if sp.version == nil {
		if c.responder != nil && !slices.Contains(Revisions(), Revision(c.responder.Origin().Version)) {
			return unsupportedError(c.responder.Origin().Version)
		}
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "params._meta needs %q and %q; to start a session, send initialize", MetaVersion, MetaCapabilities)
	}
	if !ok {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta[%q] must be a string, got %s", MetaVersion, strictjson.Describe(sp.version))
	}
	if Revision(version) != Latest {
		return unsupportedError(version)
	}
	if strictjson.First(sp.capabilities) != '{' {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "params._meta needs %q, an object; use {} for a client without capabilities", MetaCapabilities)
	}
	if err := checkInfo(sp.info); err != nil {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta[%q] %v", MetaClientInfo, err)
	}
	c.rawInfo, c.rawCapabilities = sp.info, sp.capabilities
	if sp.level == nil {
		return nil
	}
	level, _ := strictjson.Unquote(sp.level)
	if !slices.Contains(levels(), Level(level)) {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta[%q]: unknown level; use one of %q", MetaLogLevel, levels())
	}
	c.level = new(Level(level))
	return nil
}

// unsupportedError returns the error for a request that names an unsupported revision, or one that
// needs a session. Its data lists the supported revisions, so that the client can try another.
func unsupportedError(version string) error {
	data, _ := strictjson.Marshal(struct { // strings always encode
		Supported []Revision `json:"supported"`
		Requested string     `json:"requested"`
	}{Revisions(), short(version)})
	msg := fmt.Sprintf("unsupported protocol version %q", short(version))
	if slices.Contains(HandshakeRevisions(), Revision(version)) {
		msg = "revision " + version + " needs a session; send initialize first, or use revision " + string(Latest)
	}
	return &jsonrpc.Error{Code: UnsupportedVersion, Message: msg, Data: data}
}

// forClient returns the error for the client, and keeps an [OperatorError] for the log.
func (c *Call) forClient(err error) error {
	e, ok := errors.AsType[OperatorError](err)
	if !ok || !c.IsRemote() {
		return err
	}
	c.hidden = err
	return errors.New(e.ForClient(c.RequestID()))
}

// canSee reports whether a component is visible to the client of the call.
func (c *Call) canSee(item component) bool { return !c.via.remote || !item.cached().local }

// checkScopes returns a [*ScopeError] unless the caller has all scopes. Callers without an
// identity, such as over stdio, have all. Every method that uses a component calls it before the
// component's handler.
func checkScopes(ctx context.Context, needed []string) error {
	if len(needed) > 0 && !auth.From(ctx).May(needed...) {
		return &ScopeError{needed}
	}
	return nil
}

// reserve counts n bytes of memory for the client of the call, see [transport.Exchange]. Over
// stdio, memory is not limited.
func (c *Call) reserve(n int) error {
	if c.responder == nil {
		return nil
	}
	return c.responder.Reserve(n)
}

// notify sends the client a notification that belongs to the call. It returns false, and sends
// nothing, if the call has ended or was cancelled.
func (c *Call) notify(method string, params any) bool {
	c.sending.Lock()
	defer c.sending.Unlock()
	if c.ended.Load() || c.ctx.Err() != nil {
		return false
	}
	if err := c.req.Notify(c.ctx, method, params); err != nil {
		c.via.server.o.Logger.Debug("notify client", "method", method, "error", err)
	}
	return true
}

// releaseUnlessQuick lets the next message be read, unless the handler that p measures has been
// quick so far. Call it right before the handler. p also measures this call, until it ends.
func (c *Call) releaseUnlessQuick(p *pace.Pace) {
	if c.req.IsReleased() {
		return // no message waits for this one
	}
	isQuick, began := p.Begin()
	c.pace, c.began = p, began
	if !isQuick {
		c.req.Release()
	}
}

// end marks the call as ended; notify then sends nothing.
func (c *Call) end() {
	if c.pace != nil {
		c.pace.End(c.began, c.req.IsReleased())
	}
	c.sending.Lock()
	defer c.sending.Unlock()
	c.ended.Store(true)
}

// notify sends a notification and logs an error. A broken connection also ends the context of each
// handler.
func (s *Session) notify(ctx context.Context, method string, params any) {
	if err := s.conn.Notify(ctx, method, params); err != nil {
		s.server.o.Logger.Debug("notify client", "method", method, "error", err)
	}
}
