package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/plumbing/peer"
	"github.com/petrock/petrock/core/plumbing/transport"
	"github.com/petrock/petrock/core/strictjson"
)

// handle handles every request of the client. It distinguishes the eras of the protocol: a request
// that names its revision is stateless, any other belongs to the session. Methods are the same for
// both.
//
// For a tools/call, newCall reads the params, check or checkStateless decides whether the session
// serves the request, serve calls the hook, run calls the method, callTool calls the tool's
// handler, and render and AppendJSON write the result.
func (s *Session) handle(ctx context.Context, req *peer.Request) (any, error) {
	if req.IsNotification() {
		return nil, s.handleNotification(req)
	}
	var sp statelessParams
	call, err := s.newCall(ctx, req, &sp)
	if err != nil {
		s.logCall(call, time.Now(), new(any), &err)
		if s.stateless {
			err = &transport.StatelessError{Err: err, Malformed: true}
		}
		return nil, err
	}
	if sp.version == nil && !s.stateless {
		agreed := s.agreed.Load()
		call.Session, call.agreed, call.Revision = s, agreed, agreed.revision
		return s.serve(call, s.check(call, agreed.declared.Has))
	}
	call.Revision = Latest
	result, err := s.serve(call, s.checkStateless(call, &sp))
	if err != nil {
		return nil, statelessError(err)
	}
	return s.server.wrapStateless(call, result)
}

// check returns an error if the session does not serve a call: in its state, in this revision, or
// with the capabilities that the server declares. It always serves ping. The order of the cases
// decides which of several errors the client gets.
func (s *Session) check(call *Call, declares func(capability string) bool) error {
	name, m, state, stateless := short(call.Method), call.method, s.state.Load(), call.Revision.stateless()
	switch {
	case !stateless && name == "ping":
		return nil
	case state == stateShutdown:
		return jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s: the server is shutting down", name)
	case !stateless && name == "initialize":
		return nil
	case stateless && call.req.InBatch():
		return jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s: revision %s has no batches; send one message at a time", name, call.Revision)
	case strings.HasPrefix(name, "notifications/"):
		return jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s is a notification; send it without an id", name)
	case stateless && m.handshakeOnly:
		return jsonrpc.Errorf(jsonrpc.MethodNotFound, "revision %s has no method %q", call.Revision, name)
	case stateless:
	case state == stateCreated:
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "%s: the session is not initialized; send initialize and then notifications/initialized, or set %q and %q in the params._meta of every request",
			name, MetaVersion, MetaCapabilities)
	case state == stateInitializing:
		return jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s: the session is not initialized; send notifications/initialized first", name)
	case m.statelessOnly:
		return jsonrpc.Errorf(jsonrpc.MethodNotFound, "unknown method %q", name)
	}
	if m.capability != "" && !declares(m.capability) {
		return jsonrpc.Errorf(jsonrpc.MethodNotFound, "%s: this server did not declare the capability %s", name, m.capability)
	}
	return nil
}

// initializeParams are the params of initialize.
type initializeParams struct {
	ProtocolVersion *Revision       `json:"protocolVersion"`
	Capabilities    Capabilities    `json:"capabilities"`
	ClientInfo      json.RawMessage `json:"clientInfo"`
}

// An initializeResult is the result of initialize.
type initializeResult struct {
	ProtocolVersion Revision       `json:"protocolVersion"`
	Capabilities    Capabilities   `json:"capabilities"`
	ServerInfo      Implementation `json:"serverInfo"`
	Instructions    string         `json:"instructions,omitempty"`
}

// initialize negotiates the revision. protocolVersion is required; clientInfo and capabilities are
// optional.
func (s *Server) initialize(_ context.Context, c *Call, p *initializeParams) (any, error) {
	if c.req.InBatch() {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidRequest, "initialize must not be part of a batch")
	}
	if c.Session.state.Load() != stateCreated {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidRequest, "initialize: the session is already initialized")
	}
	if p.ProtocolVersion == nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "initialize needs a protocolVersion, such as %q", LatestHandshake)
	}
	info, err := readInfo(p.ClientInfo)
	if err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid params of initialize: clientInfo: %v", err)
	}
	if err := c.reserve(len(c.Params)); err != nil {
		return nil, err
	}
	revision := *p.ProtocolVersion
	if !slices.Contains(HandshakeRevisions(), revision) {
		revision = LatestHandshake
	}
	declared := s.capabilities()
	c.Session.agreed.Store(&agreement{info: info, capabilities: p.Capabilities, revision: revision, declared: declared})
	c.Session.state.CompareAndSwap(stateCreated, stateInitializing)
	c.Session.conn.SetDialect(peer.Dialect{Batches: revision == Revision20250326, NullID: revision < Revision20251125})
	sent := maps.Clone(declared)
	if revision < Revision20250326 {
		delete(sent, "completions") // the revision has the method, but not the capability
	}
	return initializeResult{revision, sent, s.info.ForRevision(revision), s.o.Instructions}, nil
}

// checkStateless reads the params of the stateless era, and returns an error if the call is
// refused.
func (s *Session) checkStateless(call *Call, sp *statelessParams) error {
	if err := call.readStateless(sp); err != nil {
		return &transport.StatelessError{Err: err, Malformed: true}
	}
	if err := s.check(call, s.server.declares); err != nil || !call.method.mayAsk {
		return err
	}
	return call.readAnswers(sp)
}

// wrapStateless adds the members that results have in the stateless era: the result type, the
// serverInfo and, if the method is cached, the cache lifetime. It edits the JSON of the result, so
// that methods and hooks need not know the era. The answer to tools/call, which is hot, adds them
// while it is encoded.
func (s *Server) wrapStateless(c *Call, result any) (any, error) {
	if answer, ok := result.(*toolAnswer); ok {
		return answer, nil // it adds them itself
	}
	raw, err := encode(result)
	if err != nil {
		return nil, fmt.Errorf("encode the result of %s: %w", c.Method, err)
	}
	meta, kind, rest := Meta{}, json.RawMessage(`"complete"`), []byte(nil)
	err = strictjson.Object(raw, func(key, value []byte) error {
		switch string(key) {
		case "resultType":
			kind = value
		case "_meta":
			return strictjson.Members(value, func(key, value []byte) error {
				meta[string(key)] = json.RawMessage(value)
				return nil
			})
		default:
			rest = strictjson.AppendMember(append(rest, ','), string(key), value)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the result of %s: %w", c.Method, err)
	}
	out := append([]byte(`{"resultType":`), kind...)
	if c.method.cached && string(kind) == `"complete"` {
		scope := "private"
		if c.cache.Public {
			scope = "public"
		}
		out = fmt.Appendf(out, `,"ttlMs":%d,"cacheScope":"%s"`, max(c.cache.TTL, 0).Milliseconds(), scope)
	}
	out, err = appendMeta(append(out, rest...), meta, s.resultInfo)
	return json.RawMessage(append(out, '}')), err
}

// statelessError converts err to an error with the codes of the stateless era, from which a
// transport takes the HTTP status.
func statelessError(err error) error {
	if _, ok := errors.AsType[*transport.StatelessError](err); ok {
		return err
	}
	if errors.Is(err, ResourceNotFound) {
		renamed := jsonrpc.Error{Message: err.Error()}
		if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
			renamed = *e
		}
		renamed.Code = jsonrpc.InvalidParams
		err = &renamed
	}
	return &transport.StatelessError{Err: err}
}

// A discoverResult is the result of server/discover.
type discoverResult struct {
	Meta              Meta         `json:"_meta"`
	SupportedVersions []Revision   `json:"supportedVersions"`
	Capabilities      Capabilities `json:"capabilities"`
	Instructions      string       `json:"instructions,omitempty"`
}

// discover describes the server to clients without a handshake.
func (s *Server) discover(_ context.Context, c *Call) (any, error) {
	c.cache = s.o.ListCache
	meta := Meta{MetaServerInfo: s.info} // in full, unlike in other results
	return discoverResult{meta, Revisions(), s.capabilities(), s.o.Instructions}, nil
}

// serve runs a method inside the hook. If refusal is not nil, it is returned instead of running the
// method, so that the hook sees refused calls too.
func (s *Session) serve(call *Call, refusal error) (result any, err error) {
	defer call.end()
	ctx := (*callContext)(call)
	if s.server.o.CallLog.Enabled(ctx, slog.LevelInfo) { // otherwise, do not read the clock
		defer s.logCall(call, time.Now(), &result, &err)
	}
	if hook := s.server.o.Hook; hook != nil {
		result, err = hook(ctx, call, func(ctx context.Context) (any, error) { return call.run(ctx, refusal) })
		if errors.Is(err, errUnanswered) {
			result, err = call.openQuestions() // asked by the hook
		}
	} else {
		result, err = call.run(ctx, refusal)
	}
	if err != nil {
		return nil, call.forClient(err)
	}
	switch r := result.(type) {
	case nil:
		return struct{}{}, nil // a result is always an object
	case rendered:
		return r.render(call)
	}
	if s.server.o.Hook == nil {
		return result, nil
	}
	raw, err := encode(result) // the result may be the hook's
	switch {
	case err != nil:
		return nil, fmt.Errorf("encode the result of %s: %w", call.Method, err)
	case strictjson.First(raw) != '{':
		return nil, fmt.Errorf("the result of %s must be an object, got %s", call.Method, strictjson.Describe(raw))
	}
	return raw, nil
}

// run calls the method unless the call is refused. If questions are open, they are the result.
func (c *Call) run(ctx context.Context, refusal error) (any, error) {
	if refusal != nil {
		return nil, refusal
	}
	if err := c.checkTarget(); err != nil {
		return nil, err
	}
	if c.dialogue.Load() != nil || c.via.server.o.Hook != nil {
		if err := c.beginDialogue(); err != nil {
			return nil, err
		}
	}
	result, err := c.method.run(ctx, c)
	if open, sealErr := c.openQuestions(); open != nil || sealErr != nil {
		return open, sealErr
	}
	return result, err
}

// A rendered result depends on the revision of the client. render returns the value to encode; it
// does not modify the result, which a handler may return again.
type rendered interface {
	render(*Call) (any, error)
}

// handleNotification handles a notification of the client. It ignores unknown ones, as JSON-RPC
// requires. An error only goes to the log.
func (s *Session) handleNotification(req *peer.Request) error {
	switch req.Method() {
	case "notifications/initialized":
		if !s.state.CompareAndSwap(stateInitializing, stateOperating) {
			return errors.New("only expected once, after initialize")
		}
	case "notifications/cancelled":
		var p struct {
			RequestID jsonrpc.ID `json:"requestId"`
			Reason    string     `json:"reason"`
		}
		if err := strictjson.Unmarshal(req.Params(), &p); err != nil {
			return err
		}
		if s.conn.Cancel(p.RequestID) {
			s.server.o.Logger.Debug("client cancelled a request", "id", p.RequestID.String(), "reason", p.Reason)
		}
	}
	return nil
}
