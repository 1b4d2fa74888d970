package eventlog

import (
	"errors"
	"fmt"
)

// ErrOutcomeUnknown means that a write may or may not have been committed.
var ErrOutcomeUnknown = errors.New("commit outcome unknown")

// ErrConflict means that a sequence number or key already exists: another writer has bypassed the
// store's lock.
var ErrConflict = errors.New("another writer has changed the log")

// ErrUnavailable means that a store cannot be reached, or that it was locked for too long.
var ErrUnavailable = errors.New("the data is not available")

// ErrFull means that a store has no space.
var ErrFull = errors.New("the disk with the data is full; free some space")

// An Error is an error of a store. Its text is for operators: it can name hosts, users and
// files.
type Error struct{ Err error }

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the error of the store.
func (e *Error) Unwrap() error { return e.Err }

// ForClient returns the text for a remote client. It names the request, under which the log has the
// whole error. Package mcp calls it, see OperatorError there.
func (e *Error) ForClient(request string) string {
	text, remedy := "the data is not available right now", "retry later"
	switch {
	case errors.Is(e.Err, ErrOutcomeUnknown):
		text, remedy = "the command may or may not have been executed", "retry it with the same idempotency key"
	case errors.Is(e.Err, ErrFull):
		text = "the server has no space for more data"
	}
	return fmt.Sprintf("%s (request ID: %s); %s", text, request, remedy)
}
