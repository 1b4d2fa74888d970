package mcphttp

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/petrock/petrock/core/jsonrpc"
)

// A quota limits the use of a resource by all clients together, and by each client.
type quota struct {
	unit      string // for error messages, such as "calls in flight"
	total     int64
	perClient int64

	mu     sync.Mutex
	used   int64
	usedBy map[string]int64 // by client
	unused chan struct{}    // closed when nothing is used; nil if nothing waits for that
}

// newQuota returns a quota of which each client may use a share, in percent, but at least minimum.
func newQuota(unit string, total int64, share int, minimum int64) *quota {
	return &quota{unit: unit, total: total, perClient: min(total, max(total*int64(share)/100, minimum)), usedBy: map[string]int64{}}
}

// take reserves n for a client, or returns a [*limitError].
func (q *quota) take(client string, n int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.used+n > q.total:
		return &limitError{q.unit, q.total, false}
	case q.usedBy[client]+n > q.perClient:
		return &limitError{q.unit, q.perClient, true}
	}
	q.count(client, n)
	return nil
}

// takeOversized is take for an item that may exceed the limits, as long as the client uses at most
// a quarter of its share for other items, and the total is not exceeded yet.
func (q *quota) takeOversized(client string, n int64) error {
	err := q.take(client, n)
	if err == nil {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.usedBy[client] > q.perClient/4 || q.used > q.total {
		return err
	}
	q.count(client, n)
	return nil
}

func (q *quota) release(client string, n int64) { q.takeUnlimited(client, -n) }

// takeUnlimited reserves n even above the limits, and reports whether a limit is now exceeded.
func (q *quota) takeUnlimited(client string, n int64) (exceeded bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.count(client, n)
	return q.usedBy[client] > q.perClient || q.used > q.total
}

// whenUnused returns a channel that is closed once nothing is used. It may be called once.
func (q *quota) whenUnused() <-chan struct{} {
	unused := make(chan struct{})
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.used == 0 {
		close(unused)
	} else {
		q.unused = unused
	}
	return unused
}

// count adds n to the use of a client. mu is held.
func (q *quota) count(client string, n int64) {
	if q.used += n; q.used == 0 && q.unused != nil {
		close(q.unused)
		q.unused = nil
	}
	if used := q.usedBy[client] + n; used != 0 {
		q.usedBy[client] = used
	} else {
		delete(q.usedBy, client)
	}
}

// A limitError means that a quota is used up.
type limitError struct {
	unit      string
	limit     int64
	perClient bool // the limit of one client, not of the server
}

func (e *limitError) Error() string {
	holder := "the server"
	if e.perClient {
		holder = "this client"
	}
	return fmt.Sprintf("%s has reached its limit of %d %s; retry later", holder, e.limit, e.unit)
}

func (e *limitError) status() int {
	if e.perClient {
		return http.StatusTooManyRequests
	}
	return http.StatusServiceUnavailable
}

// Unwrap returns the error as a [*jsonrpc.Error].
func (e *limitError) Unwrap() error { return jsonrpc.Errorf(jsonrpc.InternalError, "%s", e.Error()) }
