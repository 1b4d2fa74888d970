package mcp

import (
	"context"
	"encoding/json"

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
	if err := s.ready(req.Method); err != nil {
		return nil, err
	}
	m, ok := s.server.methods[req.Method]
	if !ok {
		return nil, jsonrpc.Errorf(jsonrpc.MethodNotFound, "unknown method %q", req.Method)
	}
	if m.offered != nil && !m.offered() {
		return nil, jsonrpc.Errorf(jsonrpc.MethodNotFound, "%s: this server offers nothing of that kind", req.Method)
	}
	return s.serve(ctx, req, m)
}

// ready reports whether the session has come far enough for a request, and says
// what is missing if it has not.
func (s *Session) ready(method string) error {
	if method == "ping" {
		return nil
	}
	switch s.State() {
	case Created:
		return jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s came before the handshake: send initialize first, then notifications/initialized", method)
	case Initializing:
		return jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s came too early: send notifications/initialized first", method)
	case Shutdown:
		return jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s came too late: the session is shutting down", method)
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
	Capabilities    any            `json:"capabilities"`
	ServerInfo      Implementation `json:"serverInfo"`
	Instructions    string         `json:"instructions,omitempty"`
}

// initialize agrees on a revision. A client that leaves out who it is or what it
// can do is taken for one that can do nothing; one that names no revision is refused.
func (s *Session) initialize(_ context.Context, _ *Call, p *initializeParams) (any, error) {
	if s.State() != Created {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidRequest, "initialize came again: this session has been initialized")
	}
	if p.ProtocolVersion == nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "initialize needs a protocolVersion, such as %q", LatestHandshake)
	}
	revision := negotiate(*p.ProtocolVersion)
	s.mu.Lock()
	s.revision, s.client, s.capabilities = revision, p.ClientInfo, p.Capabilities
	s.mu.Unlock()
	s.state.Store(int32(Initializing))
	s.conn.SetDialect(revision.dialect())
	return initializeResult{
		ProtocolVersion: revision,
		Capabilities:    s.server.capabilities(revision),
		ServerInfo:      s.server.info.forRevision(revision),
		Instructions:    s.server.instructions,
	}, nil
}

// capabilities is what the server offers, in the words of a handshake revision.
func (s *Server) capabilities(r Revision) map[string]json.RawMessage {
	c := map[string]json.RawMessage{"logging": json.RawMessage(`{}`)}
	if s.offersTools() {
		c["tools"] = json.RawMessage(`{"listChanged":true}`)
	}
	if s.offersResources() {
		c["resources"] = json.RawMessage(`{"subscribe":true,"listChanged":true}`)
	}
	if s.offersPrompts() {
		c["prompts"] = json.RawMessage(`{"listChanged":true}`)
	}
	if s.offersCompletions() && r >= Revision20250326 {
		c["completions"] = json.RawMessage(`{}`)
	}
	return c
}
