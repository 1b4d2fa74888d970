package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// A Responder is what a transport hands in with a message, see [Session.Receive]. It sends the response and what
// belongs to the request before it, and answers the questions that only the transport can.
type Responder interface {
	jsonrpc.Responder

	// CheckRequest compares a request of revision 2026-07-28 with what the transport says about it, such as
	// headers of HTTP. version is the revision that the request names in its _meta, or "" if it names none.
	CheckRequest(c *Call, version string) error

	// Suspend lets the client disconnect and come back for the response after retry, if that is possible.
	Suspend(retry time.Duration)
}

// NewSession returns a session for a transport that receives messages one at a time and hands them in with
// [Session.Receive]. send takes messages that belong to no request; it must not block. Close ends the session.
func (s *Server) NewSession(send func(msg []byte) error) *Session {
	return s.openSession(sender(send), jsonrpc.Options{})
}

// NewStatelessSession returns a session for requests of unrelated clients, each of which names its own revision. Calls
// see no [Session], and ids of different requests may be equal.
func (s *Server) NewStatelessSession() *Session {
	session := s.openSession(sender(func([]byte) error { return errors.New("a stateless request has no session") }), jsonrpc.Options{UnrelatedPeers: true})
	session.stateless = true
	return session
}

func (s *Server) openSession(t jsonrpc.Transport, o jsonrpc.Options) *Session {
	o.Grace = 24 * time.Hour // Close says when it ends
	session := s.newSession(t, o)
	session.conn.Open(context.Background())
	s.watch(session.changes)
	return session
}

// Receive handles a message and returns when it has been handled. The context of a request has the values of ctx and
// ends when ctx does. Messages do not wait for one another.
func (s *Session) Receive(ctx context.Context, m *jsonrpc.Message, r Responder) {
	s.conn.Receive(ctx, m, r)
}

// Close ends a session of [Server.NewSession] or [Server.NewStatelessSession]. Calls in flight may finish until hurry is
// closed; then their contexts end.
func (s *Session) Close(hurry <-chan struct{}) {
	s.server.unwatch(s.changes)
	s.conn.Close(hurry)
}

// A sender is a [jsonrpc.Transport] that only sends.
type sender func(msg []byte) error

func (send sender) Send(msg []byte) error { return send(msg) }
func (sender) Receive() ([]byte, error)   { return nil, io.EOF }
func (sender) Close() error               { return nil }

// A StatelessError is the error of a request of revision 2026-07-28. Over HTTP, the errors of that revision have status
// codes of their own.
type StatelessError struct {
	Err       error
	Malformed bool // the request does not say correctly which revision it is of, or what its client can do
}

func (e *StatelessError) Error() string { return e.Err.Error() }

// Unwrap returns what went wrong.
func (e *StatelessError) Unwrap() error { return e.Err }

// NamesRevision reports whether the params of a request name the revision of the request in their _meta.
func NamesRevision(params json.RawMessage) bool {
	meta := memberOf(params, "_meta")
	return memberOf(meta, metaVersion) != nil
}

// HasTarget reports whether the params name the target of the call, as a string.
func (c *Call) HasTarget() bool { return strictjson.First(c.target) == '"' }

// HeaderArguments returns the arguments of a tools/call that headers of HTTP repeat, with their values. The value of a
// missing argument is nil.
func (c *Call) HeaderArguments() iter.Seq2[HeaderArgument, json.RawMessage] {
	return func(yield func(HeaderArgument, json.RawMessage) bool) {
		if c.Method != "tools/call" {
			return
		}
		t, ok := c.via.server.tools.get(c.Target)
		if !ok {
			return
		}
		for _, a := range t.headerArguments {
			if !yield(a, a.in(c.arguments)) {
				return
			}
		}
	}
}

// Suspend lets the client that waits for the call of ctx disconnect and come back for the response after retry. A call
// that takes minutes then keeps no connection open. Suspend does nothing where that is not possible: over other
// transports than HTTP, and in revisions other than 2025-11-25.
func Suspend(ctx context.Context, retry time.Duration) {
	c := CallFrom(ctx)
	if c == nil || c.responder == nil || c.Session == nil || c.Revision < Revision20251125 {
		return
	}
	c.responder.Suspend(retry)
}
