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
	unused chan struct{}    // see busy; nil if no goroutine waits
}

// newQuota returns a quota of which each client may use a share, in percent, but at least minimum.
func newQuota(unit string, total int64, share int, minimum int64) *quota {
	return &quota{unit: unit, total: total, perClient: min(total, max(total*int64(share)/100, minimum)), usedBy: map[string]int64{}}
}

// take reserves n for a client if at least room is left, or returns a [*limitError]. With a room
// that is less than n, the item may exceed the limits; with 0 it always succeeds.
func (q *quota) take(client string, n, room int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case room > 0 && q.used+room > q.total:
		return q.exceeded("the server", q.total, http.StatusServiceUnavailable)
	case room > 0 && q.usedBy[client]+room > q.perClient:
		return q.exceeded("this client", q.perClient, http.StatusTooManyRequests)
	}
	q.used += n
	if q.usedBy[client] += n; q.usedBy[client] == 0 {
		delete(q.usedBy, client)
	}
	if q.used == 0 && q.unused != nil {
		close(q.unused)
		q.unused = nil
	}
	return nil
}

func (q *quota) release(client string, n int64) { _ = q.take(client, -n, 0) }

// busy returns a channel that is closed once nothing is used, or nil if nothing is used now. Only
// one goroutine may wait.
func (q *quota) busy() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.used > 0 {
		q.unused = make(chan struct{})
	}
	return q.unused
}

// An account is what a session or a request uses of a quota until it ends.
type account struct {
	quota  *quota
	client string

	mu     sync.Mutex
	held   int64
	closed bool
}

// take reserves n of the quota for the client of the account, see [quota.take]. A negative n
// releases it.
func (a *account) take(n, room int64) error {
	err := a.quota.take(a.client, n, room)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err != nil:
	case a.closed:
		a.quota.release(a.client, n)
	default:
		a.held += n
	}
	return err
}

// close releases everything.
func (a *account) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	if a.held != 0 {
		a.quota.release(a.client, a.held)
	}
}

// A limitError means that the server cannot do more for a client (status 429) or for all (503).
// Both mean that the request has not been executed: clients and proxies may repeat it.
type limitError struct {
	message string
	status  int
}

func (q *quota) exceeded(holder string, limit int64, status int) error {
	return &limitError{fmt.Sprintf("%s has reached its limit of %d %s", holder, limit, q.unit), status}
}

func (e *limitError) Error() string { return e.message }

// Unwrap returns the error for the client, a [*jsonrpc.Error].
func (e *limitError) Unwrap() error {
	return jsonrpc.Errorf(jsonrpc.InternalError, "%s; retry later", e.message)
}
