package eventlog

import (
	"context"
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

// A TypeView is a [View] that finds records by type and version. Without an index, which would slow
// down writers, Types and OfType read the log.
type TypeView interface {
	View

	// Types returns the types and versions of the records after a sequence number.
	Types(after int64) ([]TypeCount, error)

	// OfType yields the numbers of the records of a type and version, in order. The view must not
	// be used meanwhile.
	OfType(eventType string, version int) iter.Seq2[int64, error]

	// Record returns the record with a number.
	Record(seq int64) (Record, error)
}

// A TypeCount is the number of records of a type and version.
type TypeCount struct {
	Type    string `json:"type"`
	Version int    `json:"version"`
	Count   int64  `json:"count"`
	First   int64  `json:"first"` // sequence number of the first one
	Last    int64  `json:"last"`
}

// An OpenMode is what opening a store does if the log does not exist.
type OpenMode int

const (
	OpenExisting OpenMode = iota // fail, with an error that matches fs.ErrNotExist
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

// A Pinger is a Store whose reads wait for a while if it cannot be reached. Ping does not.
type Pinger interface {
	Ping(ctx context.Context) error
}
