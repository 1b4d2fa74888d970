package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// echo answers with the params, and refuses methods that begin with "no".
func echo(_ context.Context, req *Request) (any, error) {
	if strings.HasPrefix(req.Method(), "no") {
		return nil, jsonrpc.Errorf(jsonrpc.MethodNotFound, "no method %q", req.Method())
	}
	if req.Params() == nil {
		return struct{}{}, nil
	}
	return req.Params(), nil
}

// talk runs a connection over input, one message per line, and returns the gist of each line of
// output.
func talk(t testing.TB, o Options, d Dialect, input string) []string {
	t.Helper()
	var out bytes.Buffer
	if o.Handle == nil {
		o.Handle = echo
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	conn := NewConn(jsonrpc.NewLines(strings.NewReader(input), &out, jsonrpc.LinesOptions{}), o)
	conn.SetDialect(d)
	if err := conn.Run(t.Context()); err != nil {
		t.Errorf("Run: %v", err)
	}
	return gists(t, out.String())
}

func gists(t testing.TB, output string) []string {
	t.Helper()
	var all []string
	for line := range strings.Lines(output) {
		all = append(all, gist(t, []byte(strings.TrimSuffix(line, "\n"))))
	}
	return all
}

// gist summarizes a message: its id, or "-" if it has none, and its result, error code or method.
// The gist of a batch lists those of its messages in brackets.
func gist(t testing.TB, line []byte) string {
	t.Helper()
	if len(line) > 0 && line[0] == '[' {
		var list []json.RawMessage
		if err := json.Unmarshal(line, &list); err != nil {
			t.Fatalf("output is not JSON: %v\n%s", err, line)
		}
		var parts []string
		for _, part := range list {
			parts = append(parts, gist(t, part))
		}
		return "[" + strings.Join(parts, "; ") + "]"
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(line, &m); err != nil {
		t.Fatalf("output is not a JSON object: %v\n%s", err, line)
	}
	if string(m["jsonrpc"]) != `"2.0"` {
		t.Fatalf("the output %s is not of JSON-RPC 2.0", line)
	}
	id := "-"
	if raw, ok := m["id"]; ok {
		id = string(raw)
	}
	switch {
	case m["method"] != nil:
		return fmt.Sprintf("%s %s %s", id, m["method"], m["params"])
	case m["result"] != nil && m["error"] == nil:
		return fmt.Sprintf("%s %s", id, m["result"])
	case m["error"] != nil && m["result"] == nil:
		var e jsonrpc.Error
		if err := json.Unmarshal(m["error"], &e); err != nil || e.Message == "" {
			t.Fatalf("an error object without a message, %v: %s", err, line)
		}
		return fmt.Sprintf("%s error %d", id, e.Code)
	}
	t.Fatalf("output is neither call nor answer: %s", line)
	return ""
}

// newHalfPipe is jsonrpc.Pipe, whose first end can be closed in one direction with closeInput.
func newHalfPipe() (ours jsonrpc.Transport, theirs *halfPipe) {
	ours, far := jsonrpc.Pipe()
	return ours, &halfPipe{Transport: far}
}

// A halfPipe is an end of a pipe that counts the messages it sends.
type halfPipe struct {
	jsonrpc.Transport
	sent atomic.Int64
}

const endOfInput = "\x04"

// closeInput ends the input of the other end, which may still send.
func closeInput(ours jsonrpc.Transport) { _ = ours.Send([]byte(endOfInput)) }

func (p *halfPipe) Send(msg []byte) error {
	p.sent.Add(1)
	return p.Transport.Send(msg)
}

func (p *halfPipe) Receive() ([]byte, error) {
	raw, err := p.Transport.Receive()
	if string(raw) == endOfInput {
		return nil, io.EOF
	}
	return raw, err
}

// A peer is the other end of a connection. The test sends and receives its messages.
type peer struct {
	t    testing.TB
	conn *Conn
	wire jsonrpc.Transport
	far  *halfPipe // the connection's end of wire
	got  int64     // messages that expect has received
	stop context.CancelFunc
	done chan error // receives the error of Run
}

// newPeer starts a connection. Call it inside a synctest bubble, and end the connection before the
// bubble ends.
func newPeer(t testing.TB, o Options) *peer {
	if o.Handle == nil {
		o.Handle = echo
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	ours, theirs := newHalfPipe()
	ctx, stop := context.WithCancel(t.Context())
	p := &peer{t, NewConn(theirs, o), ours, theirs, 0, stop, make(chan error, 1)}
	go func() { p.done <- p.conn.Run(ctx) }()
	return p
}

func (p *peer) send(lines ...string) {
	p.t.Helper()
	for _, line := range lines {
		if err := p.wire.Send([]byte(line)); err != nil {
			p.t.Fatalf("sending %s: %v", line, err)
		}
	}
}

// expect waits for messages with these gists, in this order.
func (p *peer) expect(want ...string) {
	p.t.Helper()
	for _, w := range want {
		line, err := p.wire.Receive()
		if err != nil {
			p.t.Fatalf("waiting for %s: %v", w, err)
		}
		p.got++
		if got := gist(p.t, line); got != w {
			p.t.Fatalf("got %s, want %s", got, w)
		}
	}
}

// expectNothing checks that no message arrives until all goroutines are blocked.
func (p *peer) expectNothing() {
	p.t.Helper()
	synctest.Wait()
	if p.far.sent.Load() > p.got {
		msg, _ := p.wire.Receive()
		p.t.Fatalf("got the message %s, want none", msg)
	}
}

// end closes the peer's side. It checks that no further message arrives and that Run returns nil.
func (p *peer) end() {
	p.t.Helper()
	closeInput(p.wire)
	if err := <-p.done; err != nil {
		p.t.Errorf("Run: %v", err)
	}
	if line, err := p.wire.Receive(); !errors.Is(err, io.EOF) {
		p.t.Errorf("said at the end: %s: err = %v, want %v", line, err, io.EOF)
	}
	p.stop()
}

// link runs two connections to each other until the test ends, and returns them.
func link(t testing.TB, a, b Options) (*Conn, *Conn) {
	quiet := slog.New(slog.DiscardHandler)
	a.Logger, b.Logger = quiet, quiet
	one, other := jsonrpc.Pipe()
	left, right := NewConn(one, a), NewConn(other, b)
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = left.Run(ctx) })
	wg.Go(func() { _ = right.Run(ctx) })
	t.Cleanup(func() { stop(); wg.Wait() })
	return left, right
}

// equal compares two lists of gists.
func equal(t testing.TB, got []string, want ...string) {
	t.Helper()
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// serveUntil serves input to w over a reader that never ends, and returns the error of Run.
func serveUntil(t testing.TB, input string, w io.Writer, d Dialect) error {
	t.Helper()
	more, _ := io.Pipe()
	conn := NewConn(jsonrpc.NewLines(&closing{io.MultiReader(strings.NewReader(input), more), more}, w, jsonrpc.LinesOptions{}),
		Options{Handle: echo, Logger: slog.New(slog.DiscardHandler)})
	conn.SetDialect(d)
	return conn.Run(t.Context())
}

type closing struct {
	io.Reader
	io.Closer
}

// Call sends a request and decodes its result into result, which may be nil.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	_, raw, err := c.Do(ctx, &Outgoing{Method: method, Params: params})
	if err != nil || result == nil {
		return err
	}
	return strictjson.Unmarshal(raw, result)
}
