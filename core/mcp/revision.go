package mcp

import (
	"slices"

	"github.com/petrock/petrock/core/jsonrpc"
)

// A Revision is a version of the protocol, named by its date. Revisions compare
// as strings: a later one is greater.
type Revision string

// The revisions in which client and server begin with a handshake.
const (
	Revision20241105 Revision = "2024-11-05"
	Revision20250326 Revision = "2025-03-26"
	Revision20250618 Revision = "2025-06-18"
	Revision20251125 Revision = "2025-11-25"
)

// LatestHandshake is the newest revision that begins with a handshake.
const LatestHandshake = Revision20251125

// HandshakeRevisions returns the revisions that begin with a handshake, oldest first.
func HandshakeRevisions() []Revision {
	return []Revision{Revision20241105, Revision20250326, Revision20250618, Revision20251125}
}

// negotiate answers a client's wish: with the same revision if we speak it, else with our newest.
func negotiate(wish Revision) Revision {
	if slices.Contains(HandshakeRevisions(), wish) {
		return wish
	}
	return LatestHandshake
}

// dialect is how messages of the revision are read and written.
func (r Revision) dialect() jsonrpc.Dialect {
	return jsonrpc.Dialect{
		Batches: r == Revision20250326,
		NullID:  r < Revision20251125,
	}
}
