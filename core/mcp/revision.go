package mcp

import (
	"slices"

	"github.com/petrock/petrock/core/jsonrpc"
)

// A Revision is a version of the protocol, named by its date. Revisions compare
// as strings: a later one is greater.
type Revision string

// The revisions. Up to 2025-11-25 client and server begin with a handshake, and what they
// agree on holds for their session; from 2026-07-28 on every request stands for itself.
const (
	Revision20241105 Revision = "2024-11-05"
	Revision20250326 Revision = "2025-03-26"
	Revision20250618 Revision = "2025-06-18"
	Revision20251125 Revision = "2025-11-25"
	Revision20260728 Revision = "2026-07-28"
)

const (
	// Latest is the newest revision.
	Latest = Revision20260728
	// LatestHandshake is the newest revision that begins with a handshake.
	LatestHandshake = Revision20251125
)

// HandshakeRevisions returns the revisions that begin with a handshake, oldest first.
func HandshakeRevisions() []Revision {
	return []Revision{Revision20241105, Revision20250326, Revision20250618, Revision20251125}
}

// Revisions returns all revisions that are served, newest first.
func Revisions() []Revision {
	all := append(HandshakeRevisions(), Revision20260728)
	slices.Reverse(all)
	return all
}

// stateless reports whether requests of the revision stand for themselves.
func (r Revision) stateless() bool { return r > LatestHandshake }

// negotiate answers a client's wish: with the same revision if it has a handshake, else
// with our newest that has one.
func negotiate(wish Revision) Revision {
	if slices.Contains(HandshakeRevisions(), wish) {
		return wish
	}
	return LatestHandshake
}

// dialect is how messages of a revision are read and written.
func (r Revision) dialect() jsonrpc.Dialect {
	return jsonrpc.Dialect{
		Batches: r == Revision20250326,
		NullID:  r < Revision20251125,
	}
}
