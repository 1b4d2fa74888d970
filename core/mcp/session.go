package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp/transport"
	"github.com/petrock/petrock/core/strictjson"
)

// A State is the state of a session.
type State int32

// The states, in order. A session never returns to an earlier one.
const (
	Created      State = iota // initialize has not been received
	Initializing              // initialize has been answered
	Operating                 // the client has sent notifications/initialized
	Shutdown                  // the connection is ending; calls in flight may finish
)

func (s State) String() string {
	return []string{"created", "initializing", "operating", "shutdown"}[s]
}

// A Session is a connection with one client, from the handshake on. Stateless requests that use the
// same connection are not part of the session.
type Session struct {
	server    *Server
	conn      *jsonrpc.Conn
	log       *slog.Logger
	state     atomic.Int32
	level     atomic.Pointer[Level] // nil until the client sets a log level
	changes   *changes
	ending    chan struct{}             // closed when the connection begins to end
	stateless bool                      // see NewStatelessSession
	remote    bool                      // the client cannot see local components
	agreed    atomic.Pointer[agreement] // empty before initialize
}

// An agreement is the result of the handshake.
type agreement struct {
	client
	revision Revision
	declared Capabilities // of the server
}

// State returns the state of the session.
func (s *Session) State() State { return State(s.state.Load()) }

// Revision returns the negotiated revision, or "" before initialize.
func (s *Session) Revision() Revision { return s.agreed.Load().revision }

// end is called when the connection begins to end.
func (s *Session) end() {
	s.state.Store(int32(Shutdown))
	close(s.ending)
}

// handle handles every request of the client. It distinguishes the eras of the protocol: a request
// that names its revision is stateless, any other belongs to the session. Methods are the same for
// both.
//
// For a tools/call, newCall reads the params, handshakeRequest or statelessRequest checks whether the
// session serves the request, serve calls the hook, run calls the method, callTool calls the tool's
// handler, and render and AppendJSON write the result.
func (s *Session) handle(ctx context.Context, req *jsonrpc.Request) (any, error) {
	var sp statelessParams
	call, err := s.newCall(ctx, req, &sp)
	if err != nil {
		if s.logsCalls(ctx) {
			s.logCall(call, time.Now(), new(any), &err)
		}
		if s.stateless {
			err = &transport.StatelessError{Err: err, Malformed: true}
		}
		return nil, err
	}
	if sp.version != nil || s.stateless {
		return s.statelessRequest(call, &sp)
	}
	return s.handshakeRequest(call)
}

// serve runs a method inside the hook. If refusal is not nil, it is returned instead of running the
// method, so that the hook sees refused calls too.
func (s *Session) serve(call *Call, m method, refusal error) (result any, err error) {
	defer call.end()
	ctx := (*callContext)(call)
	if s.logsCalls(ctx) {
		defer s.logCall(call, time.Now(), &result, &err)
	}
	if hook := s.server.o.Hook; hook != nil {
		result, err = hook(ctx, call, func(ctx context.Context) (any, error) { return call.run(ctx, m, refusal) })
		if errors.Is(err, errUnanswered) {
			result, err = call.openQuestions() // asked by the hook
		}
	} else {
		result, err = call.run(ctx, m, refusal)
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

// A rendered result depends on the revision of the client.
type rendered interface {
	render(*Call) (any, error)
}

// handleNotification ignores unknown notifications.
func (s *Session) handleNotification(_ context.Context, req *jsonrpc.Request) error {
	switch req.Method {
	case "notifications/initialized":
		if !s.state.CompareAndSwap(int32(Initializing), int32(Operating)) {
			return fmt.Errorf("not expected in state %q", s.State())
		}
	case "notifications/cancelled":
		var p struct {
			RequestID json.RawMessage `json:"requestId"`
			Reason    string          `json:"reason"`
		}
		if err := strictjson.Unmarshal(req.Params, &p); err != nil {
			return err
		}
		id, err := jsonrpc.ParseID(p.RequestID)
		if err != nil {
			return fmt.Errorf("requestId: %w", err)
		}
		if s.conn.Cancel(id) {
			s.log.Debug("client cancelled a request", "id", id.String(), "reason", p.Reason)
		}
	}
	return nil
}

// notify sends a notification and logs an error. A broken connection also ends the context of each
// handler.
func (s *Session) notify(ctx context.Context, method string, params any) {
	if err := s.conn.Notify(ctx, method, params); err != nil {
		s.log.Debug("notify client", "method", method, "error", err)
	}
}

// NewSession returns a session for a transport that passes each message to [Session.Receive]. send
// sends messages that belong to no request; it must not block. The caller must close the session.
// Its client is remote: see [Resource].
func (s *Server) NewSession(send func(msg []byte) error) *Session {
	return s.openSession(sender(send), jsonrpc.Options{})
}

// NewStatelessSession returns a session for requests of unrelated clients. Each request names its
// revision. The Session of a [Call] is nil, and requests may have equal ids.
func (s *Server) NewStatelessSession() *Session {
	session := s.openSession(sender(func([]byte) error { return errors.New("a stateless request has no session") }), jsonrpc.Options{UnrelatedPeers: true})
	session.stateless = true
	return session
}

func (s *Server) openSession(t jsonrpc.Transport, o jsonrpc.Options) *Session {
	o.Grace = 24 * time.Hour // the caller of Close ends it
	session := s.newSession(t, o)
	session.remote = true
	session.conn.Open(context.Background())
	s.watch(session.changes)
	return session
}

// Receive handles a message, concurrently with others. The context of a request has the values of
// ctx and ends when ctx does.
func (s *Session) Receive(ctx context.Context, m *jsonrpc.Message, r transport.Responder) {
	s.conn.Receive(ctx, m, r)
}

// Close ends a session of [Server.NewSession] or [Server.NewStatelessSession]. It waits for calls in
// flight until skipGrace is closed, and then ends their contexts.
func (s *Session) Close(skipGrace <-chan struct{}) {
	s.server.unwatch(s.changes)
	s.conn.Close(skipGrace)
}

// A sender is a [jsonrpc.Transport] that only sends.
type sender func(msg []byte) error

func (send sender) Send(msg []byte) error { return send(msg) }
func (sender) Receive() ([]byte, error)   { return nil, io.EOF }
func (sender) Close() error               { return nil }

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
