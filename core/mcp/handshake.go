package mcp

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/jsonrpc"
)

// handshakeRequest takes a request of the era in which client and server begin by
// agreeing on a revision and on what each can do.
func (s *Session) handshakeRequest(call *Call) (any, error) {
	agreed := s.agreement()
	call.Session, call.client, call.Revision = s, &agreed.client, agreed.revision
	if call.Method == "initialize" {
		return s.serve(call, method{run: typed(s.initialize)}, nil)
	}
	m, known := s.server.methods[call.Method]
	known = known && m.in != statelessEra
	var refusal error
	if s.State() != Operating || !known || m.capability != "" && !agreed.offered.Has(m.capability) {
		refusal = s.refuse(call.Method, m, known)
	}
	return s.serve(call, m, refusal)
}

// refuse returns why the session does not serve a request yet, or not at all. It always serves ping.
func (s *Session) refuse(name string, m method, known bool) error {
	if name == "ping" {
		return nil
	}
	name = short(name)
	switch state := s.State(); {
	case state == Shutdown:
		return jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s came too late: the session is shutting down", name)
	case strings.HasPrefix(name, "notifications/"):
		return jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s is a notification: send it without an id", name)
	case state == Created:
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "%s came before the handshake: send initialize first, then notifications/initialized; or name the revision with every request, as %q and %q in params._meta", name, metaVersion, metaCapabilities)
	case state == Initializing:
		return jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s came too early: send notifications/initialized first", name)
	case !known:
		return jsonrpc.Errorf(jsonrpc.MethodNotFound, "unknown method %q", name)
	case m.capability != "" && !s.agreement().offered.Has(m.capability):
		return jsonrpc.Errorf(jsonrpc.MethodNotFound, "%s: this server did not offer %s", name, m.capability)
	}
	return nil
}

type initializeParams struct {
	ProtocolVersion *Revision       `json:"protocolVersion"`
	Capabilities    Capabilities    `json:"capabilities"`
	ClientInfo      json.RawMessage `json:"clientInfo"`
}

type initializeResult struct {
	revision     Revision
	capabilities Capabilities
	server       Implementation
	instructions string
}

// AppendJSON appends the result as JSON.
func (r initializeResult) AppendJSON(dst []byte) ([]byte, error) {
	info, err := r.server.AppendJSON(nil)
	var o, capabilities object
	for _, name := range slices.Sorted(maps.Keys(r.capabilities)) {
		capabilities.raw(name, r.capabilities[name])
	}
	o.text("protocolVersion", string(r.revision))
	o.raw("capabilities", capabilities.appendTo(nil))
	o.raw("serverInfo", info)
	o.optional("instructions", r.instructions)
	return o.appendTo(dst), err
}

// MarshalJSON implements [json.Marshaler].
func (r initializeResult) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil) }

// initialize agrees on a revision. A client that leaves out who it is or what it
// can do is taken for one that can do nothing; one that names no revision is refused.
func (s *Session) initialize(_ context.Context, c *Call, p *initializeParams) (any, error) {
	if c.req.InBatch() {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidRequest, "initialize must not be part of a batch")
	}
	switch s.State() {
	case Created:
	case Shutdown:
		return nil, jsonrpc.Errorf(jsonrpc.InvalidRequest, "initialize came too late: the session is shutting down")
	default:
		return nil, jsonrpc.Errorf(jsonrpc.InvalidRequest, "initialize came again: this session has been initialized")
	}
	if p.ProtocolVersion == nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "initialize needs a protocolVersion, such as %q", LatestHandshake)
	}
	var info Implementation
	if p.ClientInfo != nil {
		var err error
		if info, err = readInfo(p.ClientInfo); err != nil {
			return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid params of initialize: clientInfo: %v", err)
		}
	}
	revision := negotiate(*p.ProtocolVersion)
	offered := s.server.capabilities()
	s.agreed.Store(&agreement{client{info: info, capabilities: p.Capabilities}, revision, offered})
	s.state.CompareAndSwap(int32(Created), int32(Initializing))
	s.conn.SetDialect(revision.dialect())
	return initializeResult{revision, offered.forRevision(revision), s.server.info.ForRevision(revision), s.server.instructions}, nil
}

// offered reports whether the server offers a capability now.
func (s *Server) offered(capability string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.offers[capability]
}

// capabilities is what the server offers now.
func (s *Server) capabilities() Capabilities {
	s.mu.RLock()
	defer s.mu.RUnlock()
	c := Capabilities{"logging": json.RawMessage(`{}`)}
	for kind, offered := range s.offers {
		switch {
		case !offered:
		case kind == "completions":
			c[kind] = json.RawMessage(`{}`)
		case kind == "resources":
			c[kind] = json.RawMessage(`{"subscribe":true,"listChanged":true}`)
		default:
			c[kind] = json.RawMessage(`{"listChanged":true}`)
		}
	}
	return c
}

// forRevision leaves out the one capability that came with a later revision than its method.
func (c Capabilities) forRevision(r Revision) Capabilities {
	if r >= Revision20250326 {
		return c
	}
	older := maps.Clone(c)
	delete(older, "completions")
	return older
}
