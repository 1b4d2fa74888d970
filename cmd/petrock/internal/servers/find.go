package servers

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/petrock/petrock/core/mcp"
)

// An Offer is what one server has, or why that is not known.
type Offer struct {
	*Member
	Tools []mcp.Tool
	Err   error
}

// Tools goes through the tools of all servers, those first that are known first: a server that is slow, or does not answer at
// all, is in nobody's way. It ends when each has been heard of, or with ctx.
func (f *Fleet) Tools(ctx context.Context) iter.Seq[Offer] {
	return func(yield func(Offer) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		offers := make(chan Offer, len(f.members))
		for _, m := range f.members {
			go func() {
				tools, err := m.Tools(ctx)
				offers <- Offer{m, tools, err}
			}()
		}
		for range f.members {
			select {
			case offer := <-offers:
				if !yield(offer) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// An UnknownError says that there is no such server or tool, with the names there are.
type UnknownError struct{ text string }

func (e *UnknownError) Error() string { return e.text }

// Find returns a tool by its server and its name. Without a server it is that which has the tool, if one alone does: all have to
// settle for that, within ctx. The error is an [*UnknownError], or that of the server.
func (f *Fleet) Find(ctx context.Context, server, tool string) (*Member, *mcp.Tool, error) {
	if server == "" {
		return f.search(ctx, tool)
	}
	m := f.byName[server]
	if m == nil {
		return nil, nil, &UnknownError{fmt.Sprintf("there is no server %q; there are: %s", server, strings.Join(names(f.members), ", "))}
	}
	tools, err := m.Tools(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("server %s: %w", server, err)
	}
	var there []string
	for _, t := range tools {
		if t.Name == tool {
			return m, &t, nil
		}
		there = append(there, t.Name)
	}
	return nil, nil, &UnknownError{fmt.Sprintf("the server %s has no tool %q; it has: %s", server, tool, strings.Join(there, ", "))}
}

// search looks for a tool at every server.
func (f *Fleet) search(ctx context.Context, tool string) (*Member, *mcp.Tool, error) {
	type hit struct {
		tool *mcp.Tool
		err  error
	}
	hits := make([]hit, len(f.members))
	var all sync.WaitGroup
	for i, m := range f.members {
		all.Go(func() {
			tools, err := m.Tools(ctx)
			if at := slices.IndexFunc(tools, func(t mcp.Tool) bool { return t.Name == tool }); at >= 0 {
				hits[i].tool = &tools[at]
			}
			if !errors.Is(err, ErrDisabled) {
				hits[i].err = err
			}
		})
	}
	all.Wait()
	var has, silent []*Member
	var found *mcp.Tool
	for i, h := range hits {
		if h.tool != nil {
			has, found = append(has, f.members[i]), h.tool
		}
		if h.err != nil {
			silent = append(silent, f.members[i])
		}
	}
	switch {
	case len(has) == 1:
		return has[0], found, nil
	case len(has) > 1:
		return nil, nil, &UnknownError{fmt.Sprintf("several servers have a tool %q; name one of them: %s", tool, strings.Join(names(has), ", "))}
	case len(silent) > 0:
		return nil, nil, &UnknownError{fmt.Sprintf("no server that could be asked has a tool %q; these could not: %s", tool, strings.Join(names(silent), ", "))}
	}
	return nil, nil, &UnknownError{fmt.Sprintf("no server has a tool %q; there are: %s", tool, strings.Join(names(f.members), ", "))}
}

func names(members []*Member) []string {
	var all []string
	for _, m := range members {
		all = append(all, m.Name())
	}
	return all
}
