package mcp

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// listParams are the params of all list methods.
type listParams struct {
	Cursor *string `json:"cursor"`
}

// A listResult is one page of a list. It encodes itself from the cached descriptions, so a list
// costs a copy of its text (BenchmarkListTools).
type listResult struct {
	field    string
	items    []component
	next     string // the cursor of the next page; "" on the last
	revision Revision
}

// AppendJSON implements [jsonrpc.Appender].
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

// list is the method that lists the registry, in the order of names. A cursor holds the last name
// of the previous page, so that no item appears twice or is missing if others are added and removed
// between pages. A cursor needs no state in the server.
func (r *registry[T]) list(_ context.Context, c *Call, p *listParams) (any, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	from := 0
	if p.Cursor != nil {
		raw, err := base64.RawURLEncoding.DecodeString(*p.Cursor)
		last, ours := strings.CutPrefix(string(raw), cursorMark)
		if err != nil || !ours {
			return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "unknown cursor %q; use the nextCursor of the previous page, or omit it", short(*p.Cursor))
		}
		at, found := slices.BinarySearch(r.names, last)
		if from = at; found {
			from++
		}
	}
	o := &c.via.server.o
	c.cache = o.ListCache
	page := listResult{field: r.field, revision: c.Revision}
	page.items = make([]component, 0, min(o.PageSize, len(r.names)-from))
	last := ""
	for _, name := range r.names[from:] {
		item := r.items[name]
		if !c.canSee(item) {
			continue
		}
		if len(page.items) == o.PageSize {
			page.next = base64.RawURLEncoding.EncodeToString([]byte(cursorMark + last))
			break
		}
		page.items, last = append(page.items, item), name
	}
	return page, nil
}

// cursorMark distinguishes our cursors from other base64.
const cursorMark = "after:"
