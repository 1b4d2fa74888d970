package devserver

import (
	"context"
	"strings"
	"sync"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/generators"
)

// A child is a server that was started for a few calls.
type child struct {
	*client.Client
	errOut *tail
}

// start starts a server in a folder, and goes through the handshake with it.
func start(ctx context.Context, program, dir string) (*child, error) {
	c := &child{errOut: &tail{}}
	var err error
	c.Client, err = client.Start(ctx, client.Command{Program: program, Args: []string{"mcp"}, Dir: dir, Stderr: c.errOut}, client.Options{
		Info:       mcp.Implementation{Name: "petrock", Version: generators.Version},
		Revision:   mcp.LatestHandshake, // whose results have nothing in them but what was asked for
		Timeout:    2 * callLimit,       // the context's limit comes first
		MaxMessage: 4 << 20,
	})
	return c, err
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
