package mcp

import (
	"context"

	"github.com/petrock/petrock/core/strictjson"
)

// A listed component can tell clients of any revision about itself.
type listed interface {
	describe(Revision) any
}

func (t *tool) describe(r Revision) any {
	shown := t.Tool.forRevision(r)
	if r < Revision20260728 && t.output != nil && !t.output.RootIsObject() {
		shown.OutputSchema = nil
	}
	return shown
}

func (r *resource) describe(v Revision) any { return r.Resource.forRevision(v) }
func (t *template) describe(r Revision) any { return t.ResourceTemplate.forRevision(r) }
func (p *prompt) describe(r Revision) any   { return p.Prompt.forRevision(r) }

type listParams struct {
	Cursor *string `json:"cursor"`
}

// lister returns the method that lists a registry; field is where in its result the entries are.
func lister[T listed](s *Server, from *registry[T], field string) func(context.Context, *Call, *listParams) (any, error) {
	return func(_ context.Context, c *Call, p *listParams) (any, error) {
		items, next, err := from.page(p.Cursor, s.pageSize)
		if err != nil {
			return nil, err
		}
		c.cache = s.lists
		entries := make([]any, len(items)) // never nil: the field is required
		for i, item := range items {
			entries[i] = item.describe(c.Revision)
		}
		return listResult{field, entries, next}, nil
	}
}

// A listResult is one page of a list.
type listResult struct {
	field   string
	entries []any
	next    string // the cursor of the next page; "" if this is the last
}

// MarshalJSON implements [json.Marshaler].
func (l listResult) MarshalJSON() ([]byte, error) {
	entries, err := strictjson.Marshal(l.entries)
	if err != nil {
		return nil, err
	}
	out := append([]byte{'{'}, strictjson.AppendString(nil, l.field)...)
	out = append(append(out, ':'), entries...)
	if l.next != "" {
		out = append(out, `,"nextCursor":`...)
		out = strictjson.AppendString(out, l.next)
	}
	return append(out, '}'), nil
}
