package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcpconfig"
)

// ErrDisabled says that the configuration switches a server off.
var ErrDisabled = errors.New("it is disabled in the configuration")

// A Member is one server of a fleet.
type Member struct {
	Server *mcpconfig.Server

	settled chan struct{} // closed when the rest is known
	client  *client.Client
	err     error
	took    time.Duration

	turn   chan struct{} // has room for whoever looks at what follows
	tools  []mcp.Tool
	listed bool
}

// Name is what the configuration calls the server.
func (m *Member) Name() string { return m.Server.Name }

// Settled is closed when the server is ready, or is known not to be.
func (m *Member) Settled() <-chan struct{} { return m.settled }

// Client waits until the server has settled, and returns the client that speaks to it, or why there is none.
func (m *Member) Client(ctx context.Context) (*client.Client, error) {
	select {
	case <-m.settled:
		return m.client, m.err
	default:
	}
	select {
	case <-m.settled:
		return m.client, m.err
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the server %s: %w", m.Name(), context.Cause(ctx))
	}
}

// Took is how long the server took to settle; 0 before.
func (m *Member) Took() time.Duration {
	select {
	case <-m.settled:
		return m.took
	default:
		return 0
	}
}

// Tools waits until the server has settled, and lists its tools but for those that the configuration switches off. They are asked
// for once; [Member.Refresh] has them asked for again.
func (m *Member) Tools(ctx context.Context) ([]mcp.Tool, error) {
	client, err := m.Client(ctx)
	if err != nil {
		return nil, err
	}
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the tools of %s: %w", m.Name(), context.Cause(ctx))
	}
	if m.listed {
		return slices.Clone(m.tools), nil
	}
	tools, err := client.Tools(ctx)
	if err != nil {
		return nil, err
	}
	m.tools = slices.DeleteFunc(tools, func(t mcp.Tool) bool { return !Allows(m.Server, t.Name) })
	m.listed = true
	return slices.Clone(m.tools), nil
}

// Refresh forgets which tools the server has.
func (m *Member) Refresh() {
	m.turn <- struct{}{}
	defer func() { <-m.turn }()
	m.tools, m.listed = nil, false
}

// Allows reports whether the configuration of a server lets a tool be used.
func Allows(s *mcpconfig.Server, tool string) bool {
	if slices.Contains(s.DisabledTools, tool) {
		return false
	}
	return len(s.EnabledTools) == 0 || slices.Contains(s.EnabledTools, tool)
}
