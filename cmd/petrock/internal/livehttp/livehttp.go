// Package livehttp serves MCP over streamable HTTP for servers that speak it over a stream of
// messages, such as the supervisor of package live.
//
// Each HTTP session has its own connection to the server. Requests of revision 2026-07-28, which
// has no sessions, share one connection. Requests and results pass unchanged, except for ids and
// progress tokens. The server handles revisions, capabilities, subscriptions, log levels and
// errors.
//
// Over a stream, most messages of a server do not name the call that they belong to. Progress goes
// to the HTTP response of its call. Requests and log messages go to the response of the oldest call
// in flight; without a call, they go to the stream that the client opened with GET, like all other
// notifications. Without a session, a call gets log messages if it asks for them, and then also
// those of concurrent calls.
package livehttp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcphttp"
	"github.com/petrock/petrock/core/plumbing/peer"
	"github.com/petrock/petrock/core/plumbing/transport"
	"github.com/petrock/petrock/core/strictjson"
)

// A Connect function serves the client at the other end of t until the client closes the connection
// or ctx ends. [mcp.Server.Serve] is one.
type Connect func(ctx context.Context, t jsonrpc.Transport) error

const (
	maxSessions = 50      // each runs processes
	maxBody     = 4 << 20 // the dev server accepts as much
)

// TokenVariable is the environment variable for the token that callers must send.
const TokenVariable = "PETROCK_DEV_TOKEN"

// Serve serves HTTP at /mcp until ctx ends, and returns when all connections to the server have
// ended. An address without a host, such as :8181, means 127.0.0.1. Serve refuses addresses that
// other machines can connect to. Callers must send the token, because petrock's tools run code:
// other users of this machine and web pages must not call them. Without a token, Serve generates
// one and writes it to log.
func Serve(ctx context.Context, addr, token string, connect Connect, log io.Writer) error {
	shown := "$" + TokenVariable
	if token == "" {
		token = rand.Text()
		shown = token
	}
	gate, err := auth.Keys("petrock dev", []string{token})
	if err != nil {
		return fmt.Errorf("%s: %w", TokenVariable, err)
	}
	if strings.HasPrefix(addr, ":") {
		addr = "127.0.0.1" + addr
	}
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	var sessions sync.WaitGroup
	open := func(send func(msg []byte) error) mcphttp.Session {
		sessions.Add(1)
		return newSession(connect, sessions.Done, logger, send)
	}
	// All clients are on this machine, so they count as one.
	h := mcphttp.NewProxy(open, logger, mcphttp.Options{MaxBody: maxBody, MaxSessions: maxSessions, ClientShare: 100, SameOrigin: true})
	err = serveLoopback(ctx, h, mcphttp.ServeOptions{
		Addr:   addr,
		Gates:  []auth.Gate{gate},
		Logger: logger,
		Grace:  2 * time.Second, // a person waits
		Ready: func(addr net.Addr) {
			fmt.Fprintf(log, "petrock: serving http://%s/mcp\npetrock: clients must send the header Authorization: Bearer %s\n"+
				"petrock: try it:  petrock tools http://%[1]s/mcp --header \"Authorization: Bearer %[2]s\"\n", addr, shown)
		},
	})
	if err != nil {
		now, cancel := context.WithCancel(ctx)
		cancel()
		_ = h.Shutdown(now) // it was not shut down, or is already
	}
	sessions.Wait()
	return err
}

// serveLoopback is [mcphttp.Serve] for an address that other machines cannot connect to.
func serveLoopback(ctx context.Context, h *mcphttp.Handler, o mcphttp.ServeOptions) (err error) {
	if err := o.Check(); err != nil {
		return err
	}
	if o.Listener, err = mcphttp.Listen(ctx, o.Addr); err != nil {
		return err
	}
	if !mcphttp.IsLocal(o.Listener.Addr()) {
		o.Listener.Close()
		return &mcphttp.OptionError{Option: "Addr", Value: o.Addr, Reason: "other machines could connect; use a loopback address, such as :8181"}
	}
	return mcphttp.Serve(ctx, h, o)
}

// A session forwards the messages of a client to its connection to the server, and back.
type session struct {
	connect Connect
	onEnd   func()
	log     *slog.Logger
	send    func(msg []byte) error // sends messages that belong to no call; nil without a session
	client  *peer.Conn             // only for Receive, Do and Cancel
	ending  context.Context        // ends when the session begins to end
	life    context.Context        // of connections to the server
	endLife context.CancelFunc
	running sync.WaitGroup // connections to the server

	revision atomic.Value // an mcp.Revision

	mu        sync.Mutex
	server    *peer.Conn // nil before the first message
	calls     []*call    // in flight, oldest first
	lastToken int64
}

// A call is a request of the client.
type call struct {
	req            *peer.Request
	serverID       string // the id of the request to the server
	serverToken    string // the progress token of the request to the server; "" for none
	token          []byte // the progress token of the client
	isSubscription bool
	takesUnrelated bool // gets requests and log messages of the server
}

func newSession(connect Connect, onEnd func(), log *slog.Logger, send func(msg []byte) error) *session {
	s := &session{connect: connect, onEnd: onEnd, log: log, send: send}
	s.life, s.endLife = context.WithCancel(context.Background())
	ending, end := context.WithCancel(context.Background())
	s.ending = ending
	s.client = peer.NewConn(nil, peer.Options{
		Handle:         s.handleClient,
		Grace:          24 * time.Hour, // the caller of Close ends it
		OnShutdown:     end,
		UnrelatedPeers: send == nil,
		Logger:         log,
	})
	s.client.Open(context.Background())
	return s
}

// Receive implements [mcphttp.Session].
func (s *session) Receive(ctx context.Context, r *peer.Request, x transport.Exchange) {
	s.client.Receive(ctx, r, x)
}

// Revision implements [mcphttp.Session]. Responders call it, so it does not lock mu.
func (s *session) Revision() mcp.Revision {
	r, _ := s.revision.Load().(mcp.Revision)
	return r
}

// Close implements [mcphttp.Session]. It returns when the connection to the server has ended.
func (s *session) Close(skipGrace <-chan struct{}) {
	s.client.Close(skipGrace)
	s.mu.Lock()
	s.endLife()
	s.mu.Unlock()
	s.running.Wait()
	s.onEnd()
}

// dial returns the connection to the server. If the server has ended it, a session keeps the ended
// connection, because its state is lost. Requests without a session get a new one.
func (s *session) dial() (*peer.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() != nil {
		return nil, jsonrpc.ErrClosed
	}
	if s.server != nil && (s.send != nil || !hasEnded(s.server)) {
		return s.server, nil
	}
	ours, theirs := jsonrpc.Pipe()
	var conn *peer.Conn
	conn = peer.NewConn(ours, peer.Options{
		Handle: func(ctx context.Context, req *peer.Request) (any, error) { return s.handleServer(ctx, conn, req) },
		Grace:  -1,
		Logger: s.log,
	})
	s.running.Go(func() { _ = conn.Run(s.life) }) // a pipe does not fail
	s.running.Go(func() {
		defer theirs.Close()
		if err := s.connect(s.life, theirs); err != nil && s.life.Err() == nil {
			s.log.Warn("connection to the server ended", "error", err)
		}
	})
	s.server = conn
	return conn, nil
}

// forget lets the next request dial again. Calls of a connection fail shortly before it has ended.
func (s *session) forget(server *peer.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == server {
		s.server = nil
	}
}

func hasEnded(c *peer.Conn) bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}

// handleClient handles a message of the client.
func (s *session) handleClient(ctx context.Context, req *peer.Request) (any, error) {
	switch {
	case req.IsNotification() && req.Method() == "notifications/cancelled":
		return nil, cancelRequest(s.client, req)
	case req.IsNotification():
		server, err := s.dial()
		if err != nil {
			return nil, err
		}
		return nil, server.Notify(ctx, req.Method(), paramsOf(req))
	case s.send == nil:
		return s.callStateless(ctx, req)
	}
	result, err := s.call(ctx, req)
	if err == nil && req.Method() == "initialize" {
		s.initialized(result)
	}
	return result, err
}

// initialized adopts the revision that client and server have agreed on.
func (s *session) initialized(result json.RawMessage) {
	version, _ := strictjson.Unquote(strictjson.Member(result, "protocolVersion"))
	revision := mcp.Revision(version)
	s.revision.Store(revision)
	s.client.SetDialect(peer.Dialect{Batches: revision == mcp.Revision20250326, NullID: revision < mcp.Revision20251125})
}

// callStateless is call for a request without a session.
func (s *session) callStateless(ctx context.Context, req *peer.Request) (any, error) {
	err := checkStateless(req)
	malformed := err != nil
	var result json.RawMessage
	if err == nil {
		capabilities := strictjson.Member(strictjson.Member(req.Params(), "_meta"), mcp.MetaCapabilities)
		malformed = strictjson.First(capabilities) != '{'
		result, err = s.call(ctx, req)
	}
	if err != nil {
		return nil, &transport.StatelessError{Err: err, Malformed: malformed}
	}
	return result, nil
}

// checkStateless checks that a request names its revision, which would otherwise change the state
// of the shared connection, and that the HTTP headers match the request. Only the server knows the
// headers that repeat arguments, so they are not checked.
func checkStateless(req *peer.Request) error {
	key := "name"
	if req.Method() == "resources/read" {
		key = "uri"
	}
	target, _ := strictjson.Unquote(strictjson.Member(req.Params(), key))
	version, _ := strictjson.Unquote(strictjson.Member(strictjson.Member(req.Params(), "_meta"), mcp.MetaVersion))
	if r, ok := req.Responder().(transport.Exchange); ok {
		if err := r.CheckRequest(transport.Request{Version: version, Method: req.Method(), Target: target, HasTarget: target != ""}); err != nil {
			return err
		}
	}
	if version == "" {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "params._meta needs %q and %q; to start a session, send initialize", mcp.MetaVersion, mcp.MetaCapabilities)
	}
	return nil
}

const metaSubscription = "io.modelcontextprotocol/subscriptionId"

// call forwards a request of the client and returns the result.
func (s *session) call(ctx context.Context, req *peer.Request) (json.RawMessage, error) {
	server, err := s.dial()
	if err != nil {
		return nil, err
	}
	c, params := s.begin(req)
	defer s.end(c)
	until, stop := context.WithCancel(ctx)
	defer stop()
	if c.isSubscription {
		defer context.AfterFunc(s.ending, stop)()
	}
	id, result, err := server.Do(until, &peer.Outgoing{Method: req.Method(), Params: params, OnID: func(id jsonrpc.ID) {
		s.mu.Lock()
		defer s.mu.Unlock()
		c.serverID = id.String()
	}})
	if err != nil && until.Err() != nil && !id.IsZero() {
		_ = server.Notify(context.WithoutCancel(ctx), "notifications/cancelled", cancelledParams(until, id))
	}
	switch {
	case err != nil && c.isSubscription && s.ending.Err() != nil:
		result, err = json.RawMessage(`{"resultType":"complete","_meta":{"`+metaSubscription+`":`+req.ID().String()+`}}`), nil
	case errors.Is(err, jsonrpc.ErrClosed) && s.send != nil:
		err = fmt.Errorf("%s: the server has ended the connection; start a new session", req.Method())
	case errors.Is(err, jsonrpc.ErrClosed):
		s.forget(server)
		err = fmt.Errorf("%s: the server has ended the connection; retry the request", req.Method())
	case err == nil && c.isSubscription:
		result = setMeta(result, metaSubscription, []byte(req.ID().String()))
	}
	return result, err
}

// begin adds a call to those in flight, and returns the params for the server.
func (s *session) begin(req *peer.Request) (c *call, params any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c = &call{req: req, isSubscription: req.Method() == "subscriptions/listen"}
	meta := strictjson.Member(req.Params(), "_meta")
	wantsLog := s.send != nil || strictjson.Member(meta, mcp.MetaLogLevel) != nil
	c.takesUnrelated = wantsLog && !c.isSubscription && req.Method() != "initialize"
	s.calls = append(s.calls, c)
	token := strictjson.Member(meta, "progressToken")
	if _, err := jsonrpc.ParseID(token); err != nil {
		return c, paramsOf(req)
	}
	s.lastToken++ // tokens of unrelated clients may be equal
	c.token, c.serverToken = token, strconv.FormatInt(s.lastToken, 10)
	return c, setMeta(req.Params(), "progressToken", []byte(c.serverToken))
}

func (s *session) end(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = slices.DeleteFunc(s.calls, func(other *call) bool { return other == c })
}

// handleServer handles a message of the server.
func (s *session) handleServer(ctx context.Context, server *peer.Conn, req *peer.Request) (any, error) {
	switch {
	case !req.IsNotification():
		req.Release()
		return s.ask(ctx, req)
	case req.Method() == "notifications/cancelled":
		return nil, cancelRequest(server, req)
	}
	return nil, s.notifyClient(req)
}

// notifyClient forwards a notification of the server, unless it belongs to a call that has ended.
func (s *session) notifyClient(req *peer.Request) error {
	subscription := string(strictjson.Member(strictjson.Member(req.Params(), "_meta"), metaSubscription))
	token := string(strictjson.Member(req.Params(), "progressToken"))
	params := paramsOf(req)
	s.mu.Lock()
	defer s.mu.Unlock()
	var to *call
	switch {
	case req.Method() == "notifications/progress":
		if to = s.find(func(c *call) bool { return c.serverToken == token && token != "" }); to == nil {
			return nil
		}
		params = setMember(req.Params(), "progressToken", to.token)
	case subscription != "":
		if to = s.find(func(c *call) bool { return c.isSubscription && c.serverID == subscription }); to == nil {
			return nil
		}
		params = setMeta(req.Params(), metaSubscription, []byte(to.req.ID().String()))
	case req.Method() == "notifications/message":
		to = s.find(takesUnrelated)
	}
	msg, err := jsonrpc.AppendNotification(nil, req.Method(), params)
	if err != nil {
		return err
	}
	return s.sendTo(to, msg)
}

// find returns the oldest call in flight that matches, or nil. mu is held.
func (s *session) find(match func(*call) bool) *call {
	if i := slices.IndexFunc(s.calls, match); i >= 0 {
		return s.calls[i]
	}
	return nil
}

func takesUnrelated(c *call) bool { return c.takesUnrelated }

// sendTo sends a message to the response of a call or, if that is not possible, to the stream of
// messages that belong to no call. mu is held, so that the call does not end meanwhile.
func (s *session) sendTo(c *call, msg []byte) error {
	switch {
	case c != nil && c.req.Responder().Send(msg) == nil, s.send == nil:
		return nil
	}
	return s.send(msg)
}

func (s *session) sendToOldest(msg []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sendTo(s.find(takesUnrelated), msg)
}

// ask forwards a request of the server to the client.
func (s *session) ask(ctx context.Context, req *peer.Request) (any, error) {
	if s.send == nil {
		return nil, jsonrpc.Errorf(jsonrpc.MethodNotFound, "%s: revision %s has no requests from servers", req.Method(), mcp.Latest)
	}
	id, answer, err := s.client.Do(ctx, &peer.Outgoing{
		Method: req.Method(),
		Params: paramsOf(req),
		Via: func(_ context.Context, done func(), _ jsonrpc.ID, msg []byte) error {
			defer done()
			return s.sendToOldest(msg)
		},
	})
	if err != nil && ctx.Err() != nil && !id.IsZero() {
		if msg, err := jsonrpc.AppendNotification(nil, "notifications/cancelled", cancelledParams(ctx, id)); err == nil {
			_ = s.sendToOldest(msg)
		}
	}
	return answer, err
}

// cancelRequest ends the request in flight that a notifications/cancelled of the same peer names.
func cancelRequest(from *peer.Conn, n *peer.Request) error {
	id, err := jsonrpc.ParseID(strictjson.Member(n.Params(), "requestId"))
	if err != nil {
		return fmt.Errorf("requestId: %w", err)
	}
	from.Cancel(id)
	return nil
}

func cancelledParams(ctx context.Context, id jsonrpc.ID) any {
	return map[string]any{"requestId": id, "reason": context.Cause(ctx).Error()}
}

// paramsOf returns the params of a request for another one.
func paramsOf(req *peer.Request) any {
	if req.Params() == nil {
		return nil
	}
	return req.Params()
}

// setMeta returns an object with another value of a member of its _meta.
func setMeta(object json.RawMessage, name string, value []byte) json.RawMessage {
	return setMember(object, "_meta", setMember(strictjson.Member(object, "_meta"), name, value))
}

// setMember returns an object with another value of a member. Without that member, or if it is not
// an object, it is returned unchanged.
func setMember(object json.RawMessage, name string, value []byte) json.RawMessage {
	if strictjson.Member(object, name) == nil {
		return object
	}
	out := []byte{'{'}
	_ = strictjson.Members(object, func(key, old []byte) error {
		if string(key) == name {
			old = value
		}
		out = strictjson.AppendMember(out, string(key), old)
		return nil
	})
	return append(out, '}')
}
