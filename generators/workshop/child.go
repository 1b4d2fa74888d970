package workshop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/generators"
)

// A child is a server that was started for a few calls.
type child struct {
	cmd    *exec.Cmd
	in     io.Closer // its standard input
	out    io.Closer // its standard output, from this end
	conn   *jsonrpc.Conn
	errOut *tail
	ended  chan struct{} // closed when it has
}

// start starts a server in a folder, and goes through the handshake with it. When the context ends, so
// does the server.
func start(ctx context.Context, program, dir string) (*child, error) {
	c := &child{errOut: &tail{}, ended: make(chan struct{})}
	c.cmd = exec.CommandContext(ctx, program, "mcp")
	c.cmd.Dir, c.cmd.Stderr = dir, c.errOut
	c.cmd.Cancel = func() error { return c.cmd.Process.Signal(os.Interrupt) }
	c.cmd.WaitDelay = 2 * time.Second
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	c.in = in
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = out
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	c.conn = jsonrpc.NewConn(jsonrpc.NewLines(out, in, jsonrpc.LinesOptions{MaxMessage: 4 << 20}), jsonrpc.Options{
		Logger: slog.New(slog.DiscardHandler),
		Grace:  -1,
		Handle: func(_ context.Context, req *jsonrpc.Request) (any, error) {
			if req.IsNotification() {
				return nil, nil
			}
			return nil, jsonrpc.Errorf(jsonrpc.MethodNotFound, "the workshop answers no questions: %s", req.Method)
		},
	})
	go func() {
		c.conn.Run(context.WithoutCancel(ctx)) // until the server closes its output
		c.cmd.Wait()                           // how it ended is in its state
		close(c.ended)
	}()
	err = c.call(ctx, "initialize", map[string]any{
		"protocolVersion": mcp.LatestHandshake,
		"capabilities":    map[string]any{},
		"clientInfo":      mcp.Implementation{Name: "petrock", Version: generators.Version},
	}, nil)
	if err == nil {
		err = c.conn.Notify(ctx, "notifications/initialized", nil)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// call asks the server something. If the server ends instead of answering, the error says how.
func (c *child) call(ctx context.Context, method string, params, result any) error {
	err := c.conn.Call(ctx, method, params, result)
	if err == nil || isAnswer(err) {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case <-c.ended:
		return fmt.Errorf("the server ended before it answered %s (%s)%s", method, c.cmd.ProcessState, c.errOut.quoted())
	case <-time.After(time.Second):
	}
	return fmt.Errorf("%s: %w%s", method, err, c.errOut.quoted())
}

// isAnswer reports whether an error is one that the server has sent.
func isAnswer(err error) bool {
	var answered *jsonrpc.Error
	return errors.As(err, &answered)
}

// close ends the server: its input first, and then, if it does not mind that, the server.
func (c *child) close() {
	c.in.Close()
	select {
	case <-c.ended:
		return
	case <-time.After(2 * time.Second):
	}
	c.cmd.Process.Kill()
	c.out.Close() // which its own children may still hold
	<-c.ended
}

// A tail keeps the last of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
	cut  bool
}

// Write takes all, and keeps the last of it.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	const most = 8 << 10
	t.text = append(t.text, p...)
	if over := len(t.text) - most; over > 0 {
		t.text, t.cut = append(t.text[:0], t.text[over:]...), true
	}
	return len(p), nil
}

// quoted is what was kept, as the end of a sentence.
func (t *tail) quoted() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.text), "\ufffd"))
	switch {
	case text == "":
		return ""
	case t.cut:
		text = "… " + text
	}
	return "\nIts standard error:\n" + text
}
