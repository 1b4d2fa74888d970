package mcp

import (
	"context"
	"encoding/json"
	"maps"
	"strings"

	"github.com/petrock/petrock/core/jsonrpc"
)

// handshakeRequest takes a request of the era in which client and server begin by
// agreeing on a revision and on what each can do.
func (s *Session) handshakeRequest(ctx context.Context, req *jsonrpc.Request) (any, error) {
	if req.Method == "initialize" {
		if req.InBatch() {
			return nil, jsonrpc.Errorf(jsonrpc.InvalidRequest, "initialize must not be part of a batch")
		}
		return s.serve(ctx, req, method{run: typed(s.initialize), ordered: true})
	}
	m, known := s.server.methods[req.Method]
	if err := s.ready(req.Method, m, known); err != nil {
		m.run = func(context.Context, *Call) (any, error) { return nil, err }
	}
	return s.serve(ctx, req, m)
}

// ready reports whether the session has come far enough for a request, and says
// what is missing if it has not.
func (s *Session) ready(name string, m method, known bool) error {
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
		return jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s came before the handshake: send initialize first, then notifications/initialized", name)
	case state == Initializing:
		return jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s came too early: send notifications/initialized first", name)
	case !known:
		return jsonrpc.Errorf(jsonrpc.MethodNotFound, "unknown method %q", name)
	case m.capability != "" && !s.offers(m.capability):
		return jsonrpc.Errorf(jsonrpc.MethodNotFound, "%s: this server did not offer %s", name, m.capability)
	}
	return nil
}

type initializeParams struct {
	ProtocolVersion *Revision      `json:"protocolVersion"`
	Capabilities    Capabilities   `json:"capabilities"`
	ClientInfo      Implementation `json:"clientInfo"`
}

type initializeResult struct {
	ProtocolVersion Revision       `json:"protocolVersion"`
	Capabilities    Capabilities   `json:"capabilities"`
	ServerInfo      Implementation `json:"serverInfo"`
	Instructions    string         `json:"instructions,omitempty"`
}

// initialize agrees on a revision. A client that leaves out who it is or what it
// can do is taken for one that can do nothing; one that names no revision is refused.
func (s *Session) initialize(_ context.Context, _ *Call, p *initializeParams) (any, error) {
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
	revision := negotiate(*p.ProtocolVersion)
	offered := s.server.capabilities()
	s.mu.Lock()
	s.revision, s.client, s.capabilities, s.offered = revision, p.ClientInfo, p.Capabilities, offered
	s.mu.Unlock()
	s.state.CompareAndSwap(int32(Created), int32(Initializing))
	s.conn.SetDialect(revision.dialect())
	return initializeResult{
		ProtocolVersion: revision,
		Capabilities:    offered.forRevision(revision),
		ServerInfo:      s.server.info.forRevision(revision),
		Instructions:    s.server.instructions,
	}, nil
}

// capabilities is what the server offers now.
func (s *Server) capabilities() Capabilities {
	s.mu.RLock()
	defer s.mu.RUnlock()
	c := Capabilities{"logging": json.RawMessage(`{}`)}
	if s.offers.tools {
		c["tools"] = json.RawMessage(`{"listChanged":true}`)
	}
	if s.offers.resources {
		c["resources"] = json.RawMessage(`{"subscribe":true,"listChanged":true}`)
	}
	if s.offers.prompts {
		c["prompts"] = json.RawMessage(`{"listChanged":true}`)
	}
	if s.offers.completions {
		c["completions"] = json.RawMessage(`{}`)
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
