package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// A State is how far a session has come.
type State int32

// The states, in order. A session never goes back.
const (
	Created      State = iota // nothing has been agreed on
	Initializing              // initialize has been answered
	Operating                 // the client has sent notifications/initialized
	Shutdown                  // the connection is ending; calls in flight may finish
)

func (s State) String() string {
	return []string{"created", "initializing", "operating", "shutdown"}[s]
}

// A Session is the conversation with one client, from its handshake to its end. Requests of a
// revision without a handshake come over the same connection and are not part of it.
type Session struct {
	server    *Server
	conn      *jsonrpc.Conn
	log       *slog.Logger
	state     atomic.Int32
	level     atomic.Pointer[Level] // nil until the client asks for log messages
	changes   *changes
	ending    chan struct{} // closed when the connection begins to end
	stateless bool          // requests stand for themselves, see NewStatelessSession
	remote    bool          // its client does not see local components
	agreed    atomic.Pointer[agreement]
}

// An agreement is what the handshake came to.
type agreement struct {
	client
	revision Revision
	offered  Capabilities // of the server, as this client was told
}

// agreement returns an empty one before initialize.
func (s *Session) agreement() *agreement { return s.agreed.Load() }

// State returns how far the session has come.
func (s *Session) State() State { return State(s.state.Load()) }

// Revision returns the revision agreed on, or "" before initialize.
func (s *Session) Revision() Revision { return s.agreement().revision }

// Client returns who the client says it is.
func (s *Session) Client() Implementation { return s.agreement().info }

// ClientCapabilities returns what the client says it can do.
func (s *Session) ClientCapabilities() Capabilities { return s.agreement().capabilities }

// end is called when the connection begins to end.
func (s *Session) end() {
	s.state.Store(int32(Shutdown))
	close(s.ending)
}

// handle handles every message of the client. This is the one place where the eras of the protocol
// are distinguished: a request that names its revision is stateless, any other belongs to a
// session. Methods do not know which one they serve.
//
// A tools/call passes these functions: newCall reads its params, handshakeRequest or
// statelessRequest checks that it may be served, serve calls the hook, run the method, callTool the
// handler of the tool, render and AppendJSON write the result.
func (s *Session) handle(ctx context.Context, req *jsonrpc.Request) (any, error) {
	if req.IsNotification() {
		return nil, s.notified(req)
	}
	var intro introduction
	call, err := s.newCall(ctx, req, &intro)
	if err != nil {
		if s.logsCalls(ctx) {
			s.logCall(call, time.Now(), new(any), &err)
		}
		if s.stateless {
			err = &StatelessError{Err: err, Malformed: true}
		}
		return nil, err
	}
	if intro.version != nil || s.stateless {
		return s.statelessRequest(call, &intro)
	}
	return s.handshakeRequest(call)
}

// serve runs a method for a call, with the hook around it. A refusal, if there is one, replaces the
// method, so that the hook sees refused calls too.
func (s *Session) serve(call *Call, m method, refusal error) (result any, err error) {
	defer call.end()
	ctx := (*callContext)(call)
	if s.logsCalls(ctx) {
		defer s.logCall(call, time.Now(), &result, &err)
	}
	if hook := s.server.o.Hook; hook != nil {
		result, err = hook(ctx, call, func(ctx context.Context) (any, error) { return call.run(ctx, m, refusal) })
		if errors.Is(err, errOpen) {
			result, err = call.openQuestions() // the hook's own
		}
	} else {
		result, err = call.run(ctx, m, refusal)
	}
	if err != nil {
		return nil, err
	}
	switch r := result.(type) {
	case nil:
		return struct{}{}, nil // a result is always an object
	case rendered:
		if tool, ok := r.(*ToolResult); ok && tool != nil && tool.IsError {
			call.failed = tool
		}
		return r.render(call)
	}
	if s.server.o.Hook == nil {
		return result, nil
	}
	raw, err := encode(result) // the hook may have made it
	switch {
	case err != nil:
		return nil, fmt.Errorf("encoding the result of %s: %w", call.Method, err)
	case strictjson.First(raw) != '{':
		return nil, fmt.Errorf("the result of %s must be an object, got %s", call.Method, strictjson.Describe(raw))
	}
	return raw, nil
}

// A rendered result looks different to clients of different revisions.
type rendered interface {
	render(*Call) (any, error)
}

type cancelledParams struct {
	RequestID json.RawMessage `json:"requestId"`
	Reason    string          `json:"reason"`
}

// notified takes a notification, and ignores unknown ones.
func (s *Session) notified(req *jsonrpc.Request) error {
	switch req.Method {
	case "notifications/initialized":
		if !s.state.CompareAndSwap(int32(Initializing), int32(Operating)) {
			return fmt.Errorf("it came in the state %q", s.State())
		}
	case "notifications/cancelled":
		var p cancelledParams
		if err := strictjson.Unmarshal(req.Params, &p); err != nil {
			return err
		}
		id, err := jsonrpc.ParseID(p.RequestID)
		if err != nil {
			return fmt.Errorf("requestId: %w", err)
		}
		if s.conn.Cancel(id) {
			s.log.Debug("the client cancelled a request", "id", id.String(), "reason", p.Reason)
		}
	}
	return nil
}

// notify sends a notification. Handlers learn by their context that the connection is gone.
func (s *Session) notify(ctx context.Context, method string, params any) {
	if err := s.conn.Notify(ctx, method, params); err != nil {
		s.log.Debug("notifying the client", "method", method, "error", err)
	}
}

// A Responder is what a transport hands in with a message, see [Session.Receive].
type Responder interface {
	jsonrpc.Responder

	// CheckRequest compares a request of revision 2026-07-28 with what the transport says about it,
	// such as headers of HTTP. version is the revision that the request names in its _meta, or ""
	// if it names none.
	CheckRequest(c *Call, version string) error

	// Hold counts n bytes that the server keeps for the session, or for the request if there is no
	// session, until it ends. A negative n releases some earlier. An error refuses the request.
	Hold(n int) error

	// Attrs returns what the transport knows about a request, for the log.
	Attrs() []slog.Attr

	// Suspend lets the client disconnect and come back for the response after retry, if that is
	// possible.
	Suspend(retry time.Duration)
}

// NewSession returns a session for a transport that receives messages one at a time and hands them
// in with [Session.Receive]. send takes messages that belong to no request; it must not block.
// Close ends the session. Its client is remote: see [Resource].
func (s *Server) NewSession(send func(msg []byte) error) *Session {
	return s.openSession(sender(send), jsonrpc.Options{})
}

// NewStatelessSession returns a session for requests of unrelated clients, each of which names its
// own revision. Calls see no [Session], and ids of different requests may be equal.
func (s *Server) NewStatelessSession() *Session {
	session := s.openSession(sender(func([]byte) error { return errors.New("a stateless request has no session") }), jsonrpc.Options{UnrelatedPeers: true})
	session.stateless = true
	return session
}

func (s *Server) openSession(t jsonrpc.Transport, o jsonrpc.Options) *Session {
	o.Grace = 24 * time.Hour // Close says when it ends
	session := s.newSession(t, o)
	session.remote = true
	session.conn.Open(context.Background())
	s.watch(session.changes)
	return session
}

// Receive handles a message and returns when it has been handled. The context of a request has the
// values of ctx and ends when ctx does. Messages do not wait for one another.
func (s *Session) Receive(ctx context.Context, m *jsonrpc.Message, r Responder) {
	s.conn.Receive(ctx, m, r)
}

// Close ends a session of [Server.NewSession] or [Server.NewStatelessSession]. Calls in flight may
// finish until hurry is closed; then their contexts end.
func (s *Session) Close(hurry <-chan struct{}) {
	s.server.unwatch(s.changes)
	s.conn.Close(hurry)
}

// A sender is a [jsonrpc.Transport] that only sends.
type sender func(msg []byte) error

func (send sender) Send(msg []byte) error { return send(msg) }
func (sender) Receive() ([]byte, error)   { return nil, io.EOF }
func (sender) Close() error               { return nil }

// A StatelessError is the error of a request of revision 2026-07-28. Over HTTP, the errors of that
// revision have status codes of their own.
type StatelessError struct {
	Err       error
	Malformed bool // the request does not say correctly which revision it is of, or what its client can do
}

func (e *StatelessError) Error() string { return e.Err.Error() }

// Unwrap returns what went wrong.
func (e *StatelessError) Unwrap() error { return e.Err }

// NamesRevision reports whether the params of a request name the revision of the request in their
// _meta.
func NamesRevision(params json.RawMessage) bool {
	meta := strictjson.Member(params, "_meta")
	return strictjson.Member(meta, MetaVersion) != nil
}

// HasTarget reports whether the params name the target of the call, as a string.
func (c *Call) HasTarget() bool { return strictjson.First(c.target) == '"' }

// HeaderArguments returns the arguments of a tools/call that headers of HTTP repeat, with their
// values. The value of a missing argument is nil.
func (c *Call) HeaderArguments() iter.Seq2[HeaderArgument, json.RawMessage] {
	return func(yield func(HeaderArgument, json.RawMessage) bool) {
		t, ok := c.via.server.tools.get(c.Target)
		if !ok || c.Method != "tools/call" {
			return
		}
		for _, a := range t.headerArguments {
			if !yield(a, a.in(c.arguments)) {
				return
			}
		}
	}
}

// Suspend lets the client that waits for the call of ctx disconnect and come back for the response
// after retry. A call that takes minutes then keeps no connection open. Suspend does nothing where
// that is not possible: over other transports than HTTP, and in revisions other than 2025-11-25.
func Suspend(ctx context.Context, retry time.Duration) {
	c := CallFrom(ctx)
	if c == nil || c.responder == nil || c.Session == nil || c.Revision < Revision20251125 {
		return
	}
	c.responder.Suspend(retry)
}
