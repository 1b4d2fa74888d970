package mcptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/strictjson"
)

// Options are the choices for [ConnectWith]. The zero value is what [Connect] uses.
type Options struct {
	Revision     mcp.Revision       // to speak; "" means the newest that has a handshake
	Capabilities mcp.Capabilities   // to declare
	Info         mcp.Implementation // who the client says it is

	// Handle answers what the server asks; nil refuses it.
	Handle func(ctx context.Context, method string, params json.RawMessage) (any, error)
}

// A Client is a session with a server under test.
type Client struct {
	// Revision is what client and server have agreed on.
	Revision mcp.Revision
	// Server is who the server says it is.
	Server mcp.Implementation
	// Capabilities are what the server says it can do.
	Capabilities mcp.Capabilities
	// Instructions are what the server tells the model.
	Instructions string

	t             testing.TB
	ctx           context.Context
	conn          *jsonrpc.Conn
	notifications *inbox
	stateless     *stateless // nil in a session
	witness       *witness   // of what the server logs; nil if it is somebody else's
}

// Serve starts a session with a new server, on which it has called each of register. An error of
// one of them fails the test. What the server logs is part of the test's output.
func Serve(t testing.TB, register ...func(*mcp.Server) error) *Client {
	t.Helper()
	witness := newWitness(t.Output())
	s := mcp.NewServer(mcp.Implementation{Name: "test", Version: "0"}, mcp.Options{Logger: slog.New(witness)})
	for _, r := range register {
		if err := r(s); err != nil {
			t.Fatal(err)
		}
	}
	c := Connect(t, s)
	c.witness = witness
	return c
}

// Connect starts a session with s, ready for calls.
func Connect(t testing.TB, s *mcp.Server) *Client {
	t.Helper()
	return ConnectWith(t, s, Options{})
}

// ConnectWith is [Connect] as a particular client.
func ConnectWith(t testing.TB, s *mcp.Server, o Options) *Client {
	t.Helper()
	if o.Revision == "" {
		o.Revision = mcp.LatestHandshake
	}
	if o.Capabilities == nil {
		o.Capabilities = mcp.Capabilities{}
	}
	if o.Info.Name == "" {
		o.Info = mcp.Implementation{Name: "mcptest", Version: "1"}
	}
	c := &Client{t: t, ctx: t.Context(), notifications: newInbox()}
	c.start(s, o)
	if o.Revision > mcp.LatestHandshake {
		c.stateless = newStateless(o)
		c.discover()
		return c
	}
	c.handshake(o)
	return c
}

// handshake begins a session.
func (c *Client) handshake(o Options) {
	c.t.Helper()
	var agreed struct {
		ProtocolVersion mcp.Revision       `json:"protocolVersion"`
		ServerInfo      mcp.Implementation `json:"serverInfo"`
		Capabilities    mcp.Capabilities   `json:"capabilities"`
		Instructions    string             `json:"instructions"`
	}
	c.must("initialize", map[string]any{
		"protocolVersion": o.Revision,
		"capabilities":    o.Capabilities,
		"clientInfo":      o.Info,
	}, &agreed)
	c.Revision, c.Server = agreed.ProtocolVersion, agreed.ServerInfo
	c.Capabilities, c.Instructions = agreed.Capabilities, agreed.Instructions
	c.Notify("notifications/initialized", nil)
}

// start sets both ends going and sees to it that they end with the test.
func (c *Client) start(s *mcp.Server, o Options) {
	ours, theirs := jsonrpc.Pipe()
	c.conn = jsonrpc.NewConn(ours, jsonrpc.Options{
		Logger: slog.New(slog.DiscardHandler),
		Handle: func(ctx context.Context, req *jsonrpc.Request) (any, error) {
			if req.IsNotification() {
				c.notifications.put(Notification{req.Method, req.Params})
				return nil, nil
			}
			if o.Handle == nil {
				return nil, jsonrpc.Errorf(jsonrpc.MethodNotFound, "this client does not answer %s", req.Method)
			}
			req.Release()
			return o.Handle(ctx, req.Method, req.Params)
		},
	})
	ctx := context.WithoutCancel(c.ctx)
	served, closed := make(chan error, 1), make(chan error, 1)
	go func() { served <- s.Serve(ctx, theirs) }()
	go func() { closed <- c.conn.Run(ctx) }()
	c.t.Cleanup(func() {
		if err := ours.Close(); err != nil {
			c.t.Errorf("closing the session: %v", err)
		}
		// What the server had still to say, such as that a list has changed, it cannot say any more.
		if err := <-served; err != nil && !errors.Is(err, jsonrpc.ErrClosed) {
			c.t.Errorf("serving the session: %v", err)
		}
		<-closed
	})
}

// Call sends any request and decodes its result into result, which may be nil. An
// error of the server is a [*jsonrpc.Error]; that of a call which panicked also says what and where, if the
// server is one of [Serve].
func (c *Client) Call(method string, params, result any) error {
	return c.CallContext(c.ctx, method, params, result)
}

// CallContext is [Client.Call]; when ctx ends, it tells the server to cancel the request.
func (c *Client) CallContext(ctx context.Context, method string, params, result any) error {
	id, err := c.call(ctx, method, params, result)
	if said := c.witness.take(); said != "" && err != nil {
		err = fmt.Errorf("%w: %s", err, said)
	}
	if ctx.Err() != nil && !id.IsZero() {
		c.Notify("notifications/cancelled", map[string]any{"requestId": id, "reason": fmt.Sprint(context.Cause(ctx))})
	}
	return err
}

func (c *Client) call(ctx context.Context, method string, params, result any) (jsonrpc.ID, error) {
	if c.stateless == nil {
		return c.conn.CallID(ctx, method, params, result)
	}
	raw, id, err := c.stateless.call(ctx, c, method, params)
	if err != nil || result == nil {
		return id, err
	}
	return id, strictjson.Unmarshal(raw, result)
}

// Notify sends any notification.
func (c *Client) Notify(method string, params any) {
	c.t.Helper()
	if err := c.conn.Notify(c.ctx, method, params); err != nil {
		c.t.Fatal(err)
	}
}

// must is [Client.Call] for a request that has to succeed.
func (c *Client) must(method string, params, result any) {
	c.t.Helper()
	if err := c.Call(method, params, result); err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
}
