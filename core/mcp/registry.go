package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// A registry holds the components of one kind, in the order of their names.
type registry[T component] struct {
	noun  string // for errors, such as "resource template"
	kind  string // the capability, such as "resources"
	mu    sync.RWMutex
	items map[string]T
	names []string // sorted
}

func (r *registry[T]) add(name string, item T) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, taken := slices.BinarySearch(r.names, name)
	if taken {
		return errors.New("already exists; remove it first to replace it")
	}
	if r.items == nil {
		r.items = make(map[string]T)
	}
	r.names = slices.Insert(r.names, at, name)
	r.items[name] = item
	return nil
}

// remove reports whether the component existed.
func (r *registry[T]) remove(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := slices.BinarySearch(r.names, name)
	if ok {
		r.names = slices.Delete(r.names, at, at+1)
		delete(r.items, name)
	}
	return ok
}

func (r *registry[T]) get(name string) (T, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	item, ok := r.items[name]
	return item, ok
}

// find returns the first item, in the order of names, that match accepts.
func (r *registry[T]) find(match func(T) bool) (item T, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, name := range r.names {
		if item := r.items[name]; match(item) {
			return item, true
		}
	}
	return item, false
}

// page returns up to limit items after cursor that c can see, and the cursor of the next page or "".
// A cursor holds the last name of the previous page, so that no item appears twice.
func (r *registry[T]) page(c *Call, cursor *string, limit int) (items []component, next string, err error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	from := 0
	if cursor != nil {
		raw, err := base64.RawURLEncoding.DecodeString(*cursor)
		last, ours := strings.CutPrefix(string(raw), cursorMark)
		if err != nil || !ours {
			return nil, "", jsonrpc.Errorf(jsonrpc.InvalidParams, "unknown cursor %q; use the nextCursor of the previous page, or omit it", short(*cursor))
		}
		at, found := slices.BinarySearch(r.names, last)
		if from = at; found {
			from++
		}
	}
	items = make([]component, 0, min(limit, len(r.names)-from)) // never nil: lists are required
	last := ""
	for _, name := range r.names[from:] {
		item := r.items[name]
		if !c.canSee(item) {
			continue
		}
		if len(items) == limit {
			next = base64.RawURLEncoding.EncodeToString([]byte(cursorMark + last))
			break
		}
		items, last = append(items, item), name
	}
	return items, next, nil
}

// cursorMark distinguishes our cursors from other base64.
const cursorMark = "after:"

// A component is a tool, resource, resource template or prompt.
type component interface {
	describe(Revision) any // the description for clients
	cached() *descriptionCache
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

// A descriptionCache holds the encoded descriptions of a component, by revision.
type descriptionCache struct {
	local     bool // hidden from remote clients
	completes bool // suggests values for its arguments

	mu sync.Mutex
	of map[Revision]json.RawMessage
}

func (d *descriptionCache) cached() *descriptionCache { return d }

// canSee reports whether a component is visible to the client of the call.
func (c *Call) canSee(item component) bool { return !c.via.remote || !item.cached().local }

func appendDescription(dst []byte, item component, r Revision) ([]byte, error) {
	d := item.cached()
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

// listMethod returns the method that lists a registry. field is the member that holds the entries.
func (s *Server) listMethod(
	field string, page func(c *Call, cursor *string, limit int) ([]component, string, error),
) func(context.Context, *Call, *listParams) (any, error) {
	return func(_ context.Context, c *Call, p *listParams) (any, error) {
		items, next, err := page(c, p.Cursor, s.o.PageSize)
		if err != nil {
			return nil, err
		}
		c.cache = s.o.ListCache
		return listResult{field, items, next, c.Revision}, nil
	}
}

type listResult struct {
	field    string
	items    []component
	next     string // the cursor of the next page; "" on the last
	revision Revision
}

func (l listResult) AppendJSON(dst []byte) ([]byte, error) {
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

func (l listResult) MarshalJSON() ([]byte, error) { return l.AppendJSON(nil) }
