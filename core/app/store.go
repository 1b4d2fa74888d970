package app

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// A Store holds the log, and documents: small named values such as the position of a worker.
// Several processes can open the same store. A Store is safe for concurrent use. Package storetest
// tests implementations.
type Store interface {
	// Records yields, in order, the records after a sequence number that were committed when the
	// iteration began. It stops at an error. The caller owns the bytes of a record. Records, Last,
	// Get, Names and Documents never wait for a Write.
	Records(ctx context.Context, after int64) iter.Seq2[Record, error]

	// Last returns the sequence number of the last record; 0 if there is none.
	Last(ctx context.Context) (int64, error)

	// Stamp returns a value that changes when another Store commits, but not when this one does. It
	// is cheap.
	Stamp(ctx context.Context) (int64, error)

	// Get returns a document; nil if it does not exist. Names returns the names that start with a
	// prefix, sorted.
	Get(ctx context.Context, name string) ([]byte, error)
	Names(ctx context.Context, prefix string) ([]string, error)

	// Documents yields the documents whose names start with a prefix and, unless after is empty,
	// are greater than after, in the order of their names. It reads them in pages, so later ones
	// may be newer.
	Documents(ctx context.Context, prefix, after string) iter.Seq2[Document, error]

	// Write calls f while no other writer, in any process, writes to the store. It returns when the
	// changes of f are durable. If Write returns an error, or f panics, nothing is changed. The
	// exception is [ErrOutcomeUnknown]: the changes may have been committed. Write stops waiting
	// for its turn when ctx ends, and ignores ctx once f is called.
	Write(ctx context.Context, f func(Tx) error) error

	// View calls f with the store as it is at one moment. Writers do not wait for f.
	View(ctx context.Context, f func(View) error) error

	// Scrub removes the content that was replaced or deleted before from the files of the store.
	// Writers wait.
	Scrub(ctx context.Context) error

	Close() error
}

// An OpenMode is what opening a store does if the log does not exist.
type OpenMode int

const (
	OpenExisting OpenMode = iota // fail, with an error that matches [fs.ErrNotExist]
	OpenOrCreate                 // create it
)

// A Notifier is a Store that learns of commits. Changed returns a channel with a buffer of one,
// which receives a value soon after another Store has committed. Values can be missing or
// superfluous.
type Notifier interface {
	Changed() <-chan struct{}
}

// A Monitor is a Store that notices when another Store of the same log ends, because it is closed
// or its process ends. Session identifies this Store; it is empty if others cannot notice its end.
// Ended returns those sessions of other Stores that have ended. A session that has only lost its
// connections may be among them until it has reconnected.
type Monitor interface {
	Session() string
	Ended(ctx context.Context, sessions []string) ([]string, error)
}

// A View reads the records and documents of a store, like the methods of [Store] of the same names.
// It is valid until f returns, and not safe for concurrent use. Its methods can be called during an
// iteration.
type View interface {
	Records(after int64) iter.Seq2[Record, error]
	Get(name string) ([]byte, error)
	Names(prefix string) ([]string, error)
	Documents(prefix, after string) iter.Seq2[Document, error]
}

// A Document is a named value in a store.
type Document struct {
	Name  string
	Value []byte
}

// A Tx reads and writes a store during a Write. It sees its own changes.
type Tx interface {
	View
	Last() (int64, error)
	Stamp() (int64, error)
	// Find returns the records with these idempotency keys, by key.
	Find(keys ...string) (map[string]Record, error)

	// Append adds records. The first must follow the last one of the log.
	Append(records ...Record) error

	// Replace replaces the records that have the same numbers. Their keys must be empty or
	// unchanged.
	Replace(records ...Record) error

	Put(name string, value []byte) error // nil removes the document
}

// ErrOutcomeUnknown means that a write may or may not have been committed.
var ErrOutcomeUnknown = errors.New("commit outcome unknown")

// ErrConflict means that a sequence number or key already exists: another writer has bypassed the
// store's lock.
var ErrConflict = errors.New("another writer has changed the log")

// ErrUnavailable means that a store cannot be reached, or that it was locked for too long.
var ErrUnavailable = errors.New("the data is not available")

// ErrFull means that a store has no space.
var ErrFull = errors.New("the disk with the data is full; free some space")

// A Pinger is a Store whose reads wait for a while if it cannot be reached. Ping does not.
type Pinger interface {
	Ping(ctx context.Context) error
}

// A StoreError is an error of a store. Its text is for operators: it can name hosts, users and
// files.
type StoreError struct{ Err error }

func (e *StoreError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the store.
func (e *StoreError) Unwrap() error { return e.Err }

// ForClient returns the text for a remote client. It names the request, under which the log has the
// whole error. Package mcp calls it, see OperatorError there.
func (e *StoreError) ForClient(request string) string {
	text, remedy := "the data is not available right now", "retry later"
	switch {
	case errors.Is(e.Err, ErrOutcomeUnknown):
		text, remedy = "the command may or may not have been executed", "retry it with the same idempotency key"
	case errors.Is(e.Err, ErrFull):
		text = "the server has no space for more data"
	}
	return fmt.Sprintf("%s (request ID: %s); %s", text, request, remedy)
}
