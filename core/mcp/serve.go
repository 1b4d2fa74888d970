package mcp

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/plumbing/peer"
	"github.com/petrock/petrock/core/plumbing/transport"
	"github.com/petrock/petrock/core/stdfd"
	"github.com/petrock/petrock/core/strictjson"
)

// NewServer returns a server without components, which describes itself to clients as info. Add
// components, then call [Server.ServeStdio] or [Server.Serve], or pass the server to package
// mcphttp.
func NewServer(info Implementation, o Options) *Server {
	o.PageSize = cmp.Or(max(o.PageSize, 0), 1000)
	o.MaxMessage = cmp.Or(max(o.MaxMessage, 0), jsonrpc.DefaultMaxMessage)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	o.CallLog = cmp.Or(o.CallLog, slog.New(slog.DiscardHandler))
	s := &Server{
		info:   info,
		o:      o,
		states: newStateKeeper(o.StateKey),

		requestPrefix: strings.ToLower(rand.Text()[:10]) + "-",

		tools:     registry[*tool]{noun: "tool", kind: "tools", field: "tools"},
		resources: registry[*resource]{noun: "resource", kind: "resources", field: "resources"},
		templates: registry[*template]{noun: "resource template", kind: "resources", field: "resourceTemplates"},
		prompts:   registry[*prompt]{noun: "prompt", kind: "prompts", field: "prompts"},
		watchers:  make(map[*changes]struct{}),
		declared:  map[string]bool{"tools": o.Tools, "resources": o.Resources, "prompts": o.Prompts},
	}
	s.provided.Store(new(context.Background()))
	// Strings always encode.
	s.resultInfo, _ = strictjson.Marshal(Implementation{Name: info.Name, Title: info.Title, Version: info.Version})
	s.methods = s.methodTable()
	s.ordered = make(map[string]bool)
	for name, m := range s.methods {
		s.ordered[name] = m.ordered
	}
	return s
}

// methodTable returns the methods of all revisions, by name. check decides which of them a call may
// use.
func (s *Server) methodTable() map[string]*method {
	return map[string]*method{
		"initialize":               {run: withParams(s.initialize), ordered: true, handshakeOnly: true},
		"ping":                     {run: func(context.Context, *Call) (any, error) { return struct{}{}, nil }, ordered: true, handshakeOnly: true},
		"server/discover":          {run: s.discover, ordered: true, statelessOnly: true, cached: true},
		"subscriptions/listen":     {run: withParams(s.listen), ordered: true, statelessOnly: true},
		"tools/list":               {run: withParams(s.tools.list), capability: "tools", cached: true},
		"tools/call":               {run: s.callTool, target: "name", capability: "tools", mayAsk: true},
		"resources/list":           {run: withParams(s.resources.list), capability: "resources", cached: true},
		"resources/templates/list": {run: withParams(s.templates.list), capability: "resources", cached: true},
		"resources/read":           {run: s.readResource, target: "uri", capability: "resources", cached: true, mayAsk: true},
		"resources/subscribe":      {run: s.subscribe, target: "uri", ordered: true, capability: "resources", handshakeOnly: true},
		"resources/unsubscribe":    {run: s.unsubscribe, target: "uri", ordered: true, capability: "resources", handshakeOnly: true},
		"prompts/list":             {run: withParams(s.prompts.list), capability: "prompts", cached: true},
		"prompts/get":              {run: withParams(s.getPrompt), target: "name", capability: "prompts", mayAsk: true},
		"completion/complete":      {run: withParams(s.completeArgument), capability: "completions"},
		"logging/setLevel":         {run: withParams(s.setLevel), ordered: true, handshakeOnly: true},
	}
}

// withParams returns a method that decodes its params for f. Params that do not fit P fail the
// request; without params, f gets the zero value.
func withParams[P any](f func(context.Context, *Call, *P) (any, error)) func(context.Context, *Call) (any, error) {
	decoder := new(strictjson.Decoder)
	return func(ctx context.Context, c *Call) (any, error) {
		p := new(P)
		if c.Params != nil {
			if err := decoder.Decode(c.Params, p); err != nil {
				return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid params of %s: %v", c.Method, err)
			}
		}
		return f(ctx, c, p)
	}
}

// Serve serves the client at the other end of t until the client closes the connection, ctx ends or
// the transport fails. Calls in flight may finish within the grace period. Serve closes t, and
// returns an error only if the transport failed. Call it once for each client; several calls may
// run at the same time.
func (s *Server) Serve(ctx context.Context, t jsonrpc.Transport) error {
	return s.serve(ctx, t, peer.Options{Grace: s.o.Grace})
}

func (s *Server) serve(ctx context.Context, t jsonrpc.Transport, o peer.Options) error {
	session := s.newSession(t, o)
	s.watch(session.changes)
	defer s.unwatch(session.changes)
	return session.conn.Run(ctx)
}

// ServeStdio serves the client that started this process, over standard input and output. It
// returns nil when the client closes the input, and calls in flight have finished or the grace
// period is over. On an interrupt or SIGTERM, it cancels calls in flight, and returns within a
// second. A second signal ends the process immediately. A process can call ServeStdio only once.
//
// out is os.Stdout or, to keep what runs before ServeStdio off the protocol too, the file that
// [stdfd.TakeStdout] returned at the start of main. ServeStdio redirects os.Stdout to standard
// error and empties os.Stdin.
func (s *Server) ServeStdio(ctx context.Context, out *os.File) error {
	in, err := stdfd.TakeStdin()
	if err == nil && out == os.Stdout {
		out, err = stdfd.TakeStdout()
	}
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	// Writes to a client that has gone must fail instead of killing the process, so that calls can
	// end.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return s.serve(ctx, jsonrpc.NewLines(in, out, jsonrpc.LinesOptions{MaxMessage: s.o.MaxMessage}), peer.Options{Grace: s.o.Grace, SkipGrace: true})
}

// NewSession is for transports such as package mcphttp; servers use [Server.Serve] or
// [Server.ServeStdio]. It returns a session for a transport that passes each message to
// [Session.Receive]. send sends messages that belong to no request, such as notifications of
// changes; it must not block, and several goroutines may call it. The caller must close the
// session. Its client is remote: see [Resource].
func (s *Server) NewSession(send func(msg []byte) error) *Session {
	return s.openSession(sender(send), peer.Options{})
}

// NewStatelessSession is [Server.NewSession] for requests of unrelated clients, such as all HTTP
// requests of revision 2026-07-28; a transport needs only one. Each request names its revision. The
// Session of a [Call] is nil, and requests may have equal ids.
func (s *Server) NewStatelessSession() *Session {
	session := s.openSession(sender(func([]byte) error { return errors.New("a stateless request has no session") }), peer.Options{UnrelatedPeers: true})
	session.stateless = true
	return session
}

// openSession returns a session of a remote client, whose messages are passed to Receive.
func (s *Server) openSession(t jsonrpc.Transport, o peer.Options) *Session {
	o.Grace = 24 * time.Hour // the caller of Close ends it
	session := s.newSession(t, o)
	session.remote = true
	session.conn.Open(context.Background())
	s.watch(session.changes)
	return session
}

// newSession returns a session that handles the messages of a connection. The caller sets the other
// fields, starts the connection, and lets the server watch the changes.
func (s *Server) newSession(t jsonrpc.Transport, o peer.Options) *Session {
	session := &Session{server: s, ending: make(chan struct{})}
	o.Handle, o.Ordered = session.handle, s.ordered
	o.OnShutdown, o.Logger = session.end, s.o.Logger
	session.agreed.Store(&agreement{})
	session.conn = peer.NewConn(t, o)
	// While the session is operating, the client is notified about the lists that the server
	// offered.
	wants := func(kind string) bool { return session.agreed.Load().declared.Has(kind) }
	session.changes = newChanges(wants, func(method, uri string) {
		if session.state.Load() != stateOperating {
			return
		}
		var params any
		if uri != "" {
			params = map[string]string{"uri": uri}
		}
		session.notify(context.Background(), method, params)
	})
	session.changes.begin()
	return session
}

// Receive handles a message, which the caller has parsed, and returns when it has been handled; the
// answer to a request goes to x. Several goroutines may call it, and messages do not wait for one
// another. The context of a request has the values of ctx and ends when ctx does.
func (s *Session) Receive(ctx context.Context, r *peer.Request, x transport.Exchange) {
	s.conn.Receive(ctx, r, x)
}

// Close ends a session of [Server.NewSession] or [Server.NewStatelessSession]. It waits for calls
// in flight until skipGrace is closed, and then ends their contexts. Call it once.
func (s *Session) Close(skipGrace <-chan struct{}) {
	s.server.unwatch(s.changes)
	s.conn.Close(skipGrace)
}

// A sender is a [jsonrpc.Transport] that only sends.
type sender func(msg []byte) error

func (send sender) Send(msg []byte) error { return send(msg) }

func (sender) Receive() ([]byte, error) { return nil, io.EOF }

func (sender) Close() error { return nil }
