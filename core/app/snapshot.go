package app

import (
	"crypto/sha256"
	"fmt"
	"time"
)

// A snapshot is the state of a feature after an event, as chunks of its stream, see package
// statestream, and a head, which is stored last. Documents of earlier attempts, without a head, are
// never used, and the next snapshot of the feature removes them:
//
//	snapshot/FEATURE/FINGERPRINT/head             the head
//	snapshot/FEATURE/FINGERPRINT/ATTEMPT/000000   the first chunk
//
// A document is a line with the checksum of its name and its content, and the content.

// A snapshotHead is the head of a snapshot.
type snapshotHead struct {
	Seq         int64         `json:"seq"` // of the last event in it
	ID          string        `json:"id"`  // of that event
	Fingerprint string        `json:"fingerprint"`
	Amended     string        `json:"amended"` // hash of the amendments that are in it
	Time        time.Time     `json:"time"`
	Attempt     string        `json:"attempt"`
	Chunks      int           `json:"chunks"`
	Took        time.Duration `json:"took"` // how long the state was locked
	Slow        bool          `json:"slow"` // there are no chunks: a replay takes less time
}

const (
	maxChunk    = 1_000_000                            // size of a document, in bytes
	maxContent  = maxChunk - 2*sha256.Size - len("\n") // of a chunk
	maxTogether = 2                                    // chunks in a transaction
	maxBuffer   = 8 * maxChunk                         // size of the chunks in memory
	maxGarbage  = 24 << 20                             // growth of the heap between collections
	maxLocked   = 50 * time.Millisecond                // by a snapshot while the app serves
	drainBudget = 5 * time.Second                      // for the snapshots at the end of Run
)

// snapshotPrefix returns the start of the names of a feature's snapshots.
func snapshotPrefix(f *feature) string { return snapshotsPrefix + f.Name + "/" }

// snapshotsPrefix starts the names of all snapshots.
const snapshotsPrefix = "snapshot/"

// codePrefix returns the start of the names of a feature's snapshots by this code.
func (a *App) codePrefix(f *feature) string { return snapshotPrefix(f) + a.fingerprint(f) + "/" }

// headName ends the name of a head, after the prefix of its code.
const headName = "head"

// chunkName returns the end of the name of a chunk.
func chunkName(attempt string, i int) string { return fmt.Sprintf("%s/%06d", attempt, i) }
