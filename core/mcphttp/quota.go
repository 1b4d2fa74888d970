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
}

// newQuota returns a quota of which each client may use a share, in percent, but at least minimum.
func newQuota(unit string, total int64, share int, minimum int64) *quota {
	return &quota{unit: unit, total: total, perClient: min(total, max(total*int64(share)/100, minimum)), usedBy: map[string]int64{}}
}

// take reserves n for a client if at least room is left, or returns a [*limitError]. A room that is
// less than n admits an item that may exceed the limits, which are not exceeded yet.
func (q *quota) take(client string, n, room int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case room > 0 && q.used+room > q.total:
		return q.exceeded("the server", q.total, false)
	case room > 0 && q.usedBy[client]+room > q.perClient:
		return q.exceeded("this client", q.perClient, true)
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

func (q *quota) isUsed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.used > 0
}

// count adds n to the use of a client. mu is held.
func (q *quota) count(client string, n int64) {
	q.used += n
	if used := q.usedBy[client] + n; used != 0 {
		q.usedBy[client] = used
	} else {
		delete(q.usedBy, client)
	}
}

// An account is what a session or a request uses of a quota until it ends.
type account struct {
	quota  *quota
	client string

	mu     sync.Mutex
	held   int64
	closed bool
}

// take is that of the quota. A negative n releases.
func (a *account) take(n, room int64) error { return a.record(n, a.quota.take(a.client, n, room)) }

// takeUnlimited is that of the quota.
func (a *account) takeUnlimited(n int64) (exceeded bool) {
	exceeded = a.quota.takeUnlimited(a.client, n)
	_ = a.record(n, nil)
	return exceeded
}

// record counts n if err is nil, and returns err.
func (a *account) record(n int64, err error) error {
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

// A limitError means that the server cannot do more, for a client or for all.
type limitError struct {
	message   string
	perClient bool
}

func (q *quota) exceeded(holder string, limit int64, perClient bool) error {
	return &limitError{fmt.Sprintf("%s has reached its limit of %d %s; retry later", holder, limit, q.unit), perClient}
}

func (e *limitError) Error() string { return e.message }

func (e *limitError) status() int {
	if e.perClient {
		return http.StatusTooManyRequests
	}
	return http.StatusServiceUnavailable
}

// Unwrap returns the error as a [*jsonrpc.Error].
func (e *limitError) Unwrap() error { return jsonrpc.Errorf(jsonrpc.InternalError, "%s", e.message) }
