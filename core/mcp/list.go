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

// A listResult is one page of a list. It encodes itself from the cached descriptions.
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

// page returns up to limit items after cursor that c can see, and the cursor of the next page or
// "". A cursor holds the last name of the previous page, so that no item appears twice.
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
