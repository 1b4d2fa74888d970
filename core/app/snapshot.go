package app

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"sync"
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

// fingerprint identifies the code that decides the state of a feature; empty if it is unknown.
func (a *App) fingerprint(f *feature) string { return a.fingerprints()[f] }

// findFingerprints returns the fingerprints of all features. If any feature has a Map, which
// decides the events that the others get, they all have the fingerprint of all features.
func (a *App) findFingerprints() map[*feature]string {
	program := sync.OnceValue(func() string {
		fingerprint, err := programFingerprint()
		if err != nil {
			a.o.Logger.Warn("snapshots disabled", "error", err)
		}
		return fingerprint
	})
	all, hasMap := map[*feature]string{}, false
	var text []byte
	for _, f := range a.features {
		if a.o.Fingerprint != nil {
			all[f] = a.o.Fingerprint(f.Name)
		}
		if all[f] == "" {
			all[f] = program()
		}
		hasMap = hasMap || f.Map != nil
		text = fmt.Appendln(text, f.Name, all[f])
	}
	if hasMap {
		combined := checksum(text)[:32]
		if slices.Contains(slices.Collect(maps.Values(all)), "") {
			combined = ""
		}
		for f := range all {
			all[f] = combined
		}
	}
	return all
}

// programFingerprint returns the hash of the running program's file, which changes with the code of
// the features and their dependencies.
func programFingerprint() (string, error) {
	// On Linux this is the running program, even if the file was replaced.
	path, err := "/proc/self/exe", error(nil)
	if runtime.GOOS != "linux" {
		path, err = os.Executable()
	}
	if err != nil {
		return "", err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read the program: %w", err)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("read the program: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

func checksum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
