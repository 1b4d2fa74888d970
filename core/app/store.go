package app

import (
	"context"
	"errors"
	"iter"
)

// A Store keeps the log, and documents beside it: small named values such as how far a worker is. Several processes
// may have one store open, each with a Store of its own, which several goroutines may use. Package storetest
// has the tests that every store passes.
type Store interface {
	// Records yields the records after a sequence number that were committed when it began, in
	// order. An error ends it. A record's bytes are the caller's. Records, Last, Get and Names never wait for a Write.
	Records(ctx context.Context, after int64) iter.Seq2[Record, error]

	// Last is the sequence number of the last record; 0 if there is none.
	Last(ctx context.Context) (int64, error)

	// Stamp is cheap. It differs from an earlier one if something was committed in between by anybody but this
	// Store itself.
	Stamp(ctx context.Context) (int64, error)

	// Get is a document, nil if there is none. Names are the names of all that begin with a prefix, sorted.
	Get(ctx context.Context, name string) ([]byte, error)
	Names(ctx context.Context, prefix string) ([]string, error)

	// Write calls f while nobody else, in any process, writes to the store, and returns when all that f has
	// done is durable. If f returns an error or panics, or the error of Write is not nil, nothing was done; but after
	// an [ErrUnsure] it may have been. Waiting for its turn ends with ctx; once f is called, ctx is not looked at.
	Write(ctx context.Context, f func(Tx) error) error

	Close() error
}

// A Tx is what a store offers while it is written to. It sees what it has done itself.
type Tx interface {
	Records(after int64) iter.Seq2[Record, error]
	Stamp() (int64, error)
	Find(key string) (r Record, ok bool, err error) // the record with a key

	// Append adds records, the first of which follows the last one of the log.
	Append(records ...Record) error

	Get(name string) ([]byte, error)
	Put(name string, value []byte) error // nil removes it
}

// ErrUnsure is in the error of a write of which nobody knows whether it was done.
var ErrUnsure = errors.New("it may have been written all the same")

// ErrTaken is in the error of a write that would have added a record with a sequence number or a key that is
// there already: somebody has written past the store.
var ErrTaken = errors.New("the log has gone on meanwhile")
