package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
)

// A Transport carries requests and notifications to a server, for [Connect]. Package clienthttp has
// one. A stream of messages does not need it: see [Over].
type Transport interface {
	// Open starts the connection of the link. It is called once, before the other methods. If it
	// fails, Close is called.
	Open(ctx context.Context, l Link) error

	// Via returns the function that sends a request, see [jsonrpc.Outgoing]. For initialize, the
	// function sets the ID of the session, if it has one.
	Via(s *Session, c Call) func(ctx context.Context, done func(), id jsonrpc.ID, msg []byte) error

	// Notify sends a notification.
	Notify(ctx context.Context, s *Session, method string, params any) error

	// Begin is called when a session has begun, with or without an ID, before its first request.
	Begin(ctx context.Context, s *Session)

	// End ends a session that the client does not use.
	End(s *Session)

	// MayTakeLong is called when the function for a notification may take long: later messages
	// need not wait for it.
	MayTakeLong(notification *jsonrpc.Request)

	// FilterTools returns the tools that can be called over this transport.
	FilterTools(s *Session, all []mcp.Tool) []mcp.Tool

	// Explain adds to an error of the connection what the transport knows about its cause.
	Explain(err error) error

	// Close ends the connection, and the session that was begun last.
	Close() error
}

// A Session is what a [Transport] knows about a session.
type Session struct {
	Revision mcp.Revision // "" for initialize
	ID       string       // "" if the session has none
}

// IsStateless reports whether the revision has no handshake and no sessions.
func (s *Session) IsStateless() bool { return isStateless(s.Revision) }

// A Call is what a [Transport] knows about a request.
type Call struct {
	Method    string
	Name      string // the tool, prompt or resource; "" if there is none
	Arguments any    // of a tool or a prompt; nil if there are none
}

// A Link connects a [Transport] to its client.
type Link struct {
	Client  *Client
	Conn    *jsonrpc.Conn   // handles the messages of the server; the transport starts and closes it
	Options Options         // with all defaults
	Life    context.Context // ends when the client is closed
}

// Errors by which a [Transport] says why there is no answer in MCP. It returns errors that match one
// of them by [errors.Is].
var (
	ErrDenied      = errors.New("the client lacks permission")
	ErrRefused     = errors.New("the server refused the message") // it may know other revisions only
	ErrLostSession = errors.New("the server has lost the session")
)

// Connect connects over a transport. ctx limits connecting only.
func Connect(ctx context.Context, t Transport, o Options) (*Client, error) {
	return newClient(o).connect(ctx, t, noStream{}, nil)
}

// noStream is for connections whose messages a [Transport] sends and receives.
type noStream struct{}

func (noStream) Send([]byte) error        { return jsonrpc.ErrClosed }
func (noStream) Receive() ([]byte, error) { return nil, jsonrpc.ErrClosed }
func (noStream) Close() error             { return nil }

// streamTransport is the transport over a stream of messages.
type streamTransport struct {
	c      *Client
	stream jsonrpc.Transport
	served <-chan error // the result of a server in this process; nil for others
}

func (t *streamTransport) Open(_ context.Context, l Link) error {
	t.c = l.Client
	go func() {
		_ = l.Conn.Run(context.Background()) // requests fail, and Explain says why
	}()
	return nil
}

func (t *streamTransport) Via(*Session, Call) func(context.Context, func(), jsonrpc.ID, []byte) error {
	return nil
}

func (t *streamTransport) Notify(ctx context.Context, _ *Session, method string, params any) error {
	return t.c.conn.Notify(ctx, method, params)
}

func (t *streamTransport) Begin(context.Context, *Session) {}

func (t *streamTransport) End(*Session) {}

func (t *streamTransport) MayTakeLong(notification *jsonrpc.Request) { notification.MayTakeLong() }

func (t *streamTransport) FilterTools(_ *Session, all []mcp.Tool) []mcp.Tool { return all }

func (t *streamTransport) Explain(err error) error { return err }

func (t *streamTransport) Close() error {
	err := t.stream.Close()
	<-t.c.conn.Done()
	if t.served != nil {
		err = errors.Join(err, <-t.served)
	}
	if err != nil && !errors.Is(err, jsonrpc.ErrClosed) {
		return fmt.Errorf("close connection: %w", err)
	}
	return nil
}
