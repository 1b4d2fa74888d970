package mcp

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/petrock/petrock/core/strictjson"
)

// A listed component can tell clients of any revision about itself.
type listed interface {
	describe(Revision) any
	// kept is where its descriptions are kept, encoded.
	kept() *descriptions
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

// descriptions are what clients are told about a component, by revision. It never
// changes, and lists are asked for far more often than components are made.
type descriptions struct {
	mu sync.Mutex
	of map[Revision]json.RawMessage
}

func (d *descriptions) kept() *descriptions { return d }

// appendDescription appends what clients of a revision are told about a component.
func appendDescription(dst []byte, item listed, r Revision) ([]byte, error) {
	d := item.kept()
	d.mu.Lock()
	defer d.mu.Unlock()
	raw, ok := d.of[r]
	if !ok {
		var err error
		if raw, err = encode(item.describe(r)); err != nil {
			return dst, err
		}
		if d.of == nil {
			d.of = make(map[Revision]json.RawMessage)
		}
		d.of[r] = raw
	}
	return append(dst, raw...), nil
}

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
		return listResult[T]{field, items, next, c.Revision}, nil
	}
}

// A listResult is one page of a list.
type listResult[T listed] struct {
	field    string
	items    []T
	next     string // the cursor of the next page; "" if this is the last
	revision Revision
}

// AppendJSON appends the page as JSON.
func (l listResult[T]) AppendJSON(dst []byte) ([]byte, error) {
	dst = strictjson.AppendString(append(dst, '{'), l.field)
	dst = append(dst, ':', '[')
	for i, item := range l.items {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendDescription(dst, item, l.revision); err != nil {
			return dst, err
		}
	}
	dst = append(dst, ']')
	if l.next != "" {
		dst = append(dst, `,"nextCursor":`...)
		dst = strictjson.AppendString(dst, l.next)
	}
	return append(dst, '}'), nil
}

// MarshalJSON implements [json.Marshaler].
func (l listResult[T]) MarshalJSON() ([]byte, error) { return l.AppendJSON(nil) }
