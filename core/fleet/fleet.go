package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcpconfig"
)

// Options are the choices for [Start]. The zero value is a good one.
type Options struct {
	// Client is how servers are spoken to. Connect is left to Limit.
	Client client.Options

	// Limit is how long a server may take until it is ready, unless its configuration says so. 0 means 30 seconds.
	Limit time.Duration

	// Stderr is where what a server writes to its standard error goes. Nil is nowhere.
	Stderr func(server string) io.Writer
}

// A Fleet is several servers, each of which is being started, is ready, or is known not to be.
type Fleet struct {
	members []*Member
	byName  map[string]*Member
	settled chan *Member // each once, as they settle
	stop    context.CancelCauseFunc
}

// Start starts all servers at once, and does not wait for any. ctx is for starting them: when it ends, those that are not ready yet
// have an error.
func Start(ctx context.Context, servers []*mcpconfig.Server, o Options) *Fleet {
	if o.Limit <= 0 {
		o.Limit = 30 * time.Second
	}
	f := &Fleet{byName: make(map[string]*Member, len(servers)), settled: make(chan *Member, len(servers))}
	ctx, f.stop = context.WithCancelCause(ctx)
	for _, s := range servers {
		m := &Member{Server: s, settled: make(chan struct{}), turn: make(chan struct{}, 1)}
		f.members = append(f.members, m)
		f.byName[s.Name] = m
		go f.start(ctx, m, o)
	}
	return f
}

// start makes one server ready, within its own limit.
func (f *Fleet) start(ctx context.Context, m *Member, o Options) {
	begin := time.Now()
	m.client, m.err = m.connect(ctx, o)
	m.took = time.Since(begin)
	close(m.settled)
	f.settled <- m // there is room for all
}

func (m *Member) connect(ctx context.Context, o Options) (*client.Client, error) {
	if m.Server.Disabled {
		return nil, ErrDisabled
	}
	limit := o.Limit
	if m.Server.Timeout > 0 {
		limit = m.Server.Timeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it was not ready within %v", limit))
	defer cancel()
	o.Client.ConnectTimeout = limit
	var stderr io.Writer
	if o.Stderr != nil {
		stderr = o.Stderr(m.Name())
	}
	return Connect(ctx, m.Server, o.Client, stderr)
}

// Members are all servers, in the order in which they were given.
func (f *Fleet) Members() []*Member { return f.members }

// Member returns the server of a name, or nil.
func (f *Fleet) Member(name string) *Member { return f.byName[name] }

// Settled goes through the servers as they become ready, or are known not to be, whoever is first. It may be gone through once. It
// ends after the last one, or with ctx.
func (f *Fleet) Settled(ctx context.Context) iter.Seq[*Member] {
	return func(yield func(*Member) bool) {
		for range f.members {
			select {
			case m := <-f.settled:
				if !yield(m) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// Close ends all servers at once, those included that are being started.
func (f *Fleet) Close() error {
	f.stop(errors.New("nobody wants it any more"))
	errs := make([]error, len(f.members))
	var all sync.WaitGroup
	for i, m := range f.members {
		all.Go(func() {
			<-m.settled
			if m.client != nil {
				errs[i] = m.client.Close()
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
