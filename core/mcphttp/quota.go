package mcphttp

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/petrock/petrock/core/jsonrpc"
)

// A quota limits something for all clients together, and for each.
type quota struct {
	what      string // for messages, such as "calls in flight"
	all, each int64

	mu   sync.Mutex
	used int64
	by   map[string]int64 // by client
}

// newQuota returns a quota of which a client may have a share, in percent, and at least least.
func newQuota(what string, all int64, share int, least int64) *quota {
	return &quota{what: what, all: all, each: min(all, max(all*int64(share)/100, least)), by: map[string]int64{}}
}

// take counts n more for a client, or returns a [*limitError].
func (q *quota) take(client string, n int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.used+n > q.all:
		return &limitError{q.what, q.all, false}
	case q.by[client]+n > q.each:
		return &limitError{q.what, q.each, true}
	}
	q.count(client, n)
	return nil
}

// takeOne is take for something that may be larger than the limits if the client has little else.
func (q *quota) takeOne(client string, n int64) error {
	err := q.take(client, n)
	if err == nil {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.by[client] > q.each/4 || q.used > q.all {
		return err
	}
	q.count(client, n)
	return nil
}

// give counts n less for a client.
func (q *quota) give(client string, n int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.count(client, -n)
}

// add counts n more for a client whatever the limit is, and reports whether it is exceeded.
func (q *quota) add(client string, n int64) (exceeded bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.count(client, n)
	return q.by[client] > q.each || q.used > q.all
}

func (q *quota) inUse() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.used > 0
}

func (q *quota) count(client string, n int64) {
	q.used += n
	if left := q.by[client] + n; left != 0 {
		q.by[client] = left
	} else {
		delete(q.by, client)
	}
}

// A limitError says that a quota is used up.
type limitError struct {
	what  string
	limit int64
	each  bool // it is that of one client
}

func (e *limitError) Error() string {
	who := "the server"
	if e.each {
		who = "this client"
	}
	return fmt.Sprintf("%s has reached its limit of %d %s: retry later", who, e.limit, e.what)
}

func (e *limitError) status() int {
	if e.each {
		return http.StatusTooManyRequests
	}
	return http.StatusServiceUnavailable
}

// Unwrap makes the error one of JSON-RPC.
func (e *limitError) Unwrap() error { return jsonrpc.Errorf(jsonrpc.InternalError, "%s", e.Error()) }
