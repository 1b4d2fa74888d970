package mcp

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/petrock/petrock/core/jsonrpc"
)

// A registry holds the components of one kind under their names. Lists are in
// the order of the names, whatever the order of registration.
type registry[T any] struct {
	mu    sync.RWMutex
	items map[string]T
	names []string // sorted
}

// add refuses a name that is taken.
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

// remove reports whether there was something to remove.
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

// page returns up to most items from cursor on, and the cursor of the next page, if
// there is one. A cursor holds the last name of the page before, so that
// what comes and goes between two pages makes no item appear twice.
func (r *registry[T]) page(cursor *string, most int) (items []T, next string, err error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	from := 0
	if cursor != nil {
		last, err := parseCursor(*cursor)
		if err != nil {
			return nil, "", err
		}
		at, found := slices.BinarySearch(r.names, last)
		if from = at; found {
			from++
		}
	}
	to := min(from+most, len(r.names))
	items = make([]T, 0, to-from) // never nil: lists are required
	for _, name := range r.names[from:to] {
		items = append(items, r.items[name])
	}
	if to < len(r.names) {
		next = makeCursor(r.names[to-1])
	}
	return items, next, nil
}

// cursorMark tells our cursors from anything else that decodes.
const cursorMark = "after:"

func makeCursor(last string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(cursorMark + last))
}

func parseCursor(cursor string) (last string, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	last, ours := strings.CutPrefix(string(raw), cursorMark)
	if err != nil || !ours {
		return "", jsonrpc.Errorf(jsonrpc.InvalidParams, "unknown cursor %q: use the nextCursor of the page before, or none", short(cursor))
	}
	return last, nil
}
