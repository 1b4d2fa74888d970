// Package live runs a project's server and its dev server behind one MCP connection, and replaces the
// server after each change.
package live

import (
	"context"
	"errors"
	"io"

	"github.com/petrock/petrock/core/jsonrpc"
)

// Options configure a [Supervisor].
type Options struct {
	Root      string    // folder of the project
	Name      string    // of the project; its server is cmd/Name
	NoPetrock bool      // leave petrock's tools out
	NoNet     bool      // passed to the dev server
	NoExec    bool      // passed to the dev server
	Args      []string  // further arguments of the server, after mcp
	Log       io.Writer // lines for the person at the terminal

	// DevServer connects to a dev server. The default builds and runs the project's.
	DevServer func(ctx context.Context) (jsonrpc.Transport, error)
}

// A Supervisor is not built yet.
type Supervisor struct{}

// New returns a supervisor.
func New(Options) (*Supervisor, error) { return &Supervisor{}, nil }

// Serve returns an error.
func (s *Supervisor) Serve(context.Context, jsonrpc.Transport) error {
	return errors.New("not built yet")
}

// Close does nothing.
func (s *Supervisor) Close() error { return nil }
