package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/storetest"
)

// If a process dies between its commit and the end of the count, stamps count as changed.
func TestCountedByHalf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	dying, living := open(t, path), open(t, path)
	stamp := func() int64 {
		t.Helper()
		n, err := living.Stamp(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	settled := stamp()
	if again := stamp(); again != settled {
		t.Fatalf("without a change the stamp is %d, want %d as before", again, settled)
	}
	if err := dying.count.begin(); err != nil {
		t.Fatal(err)
	}
	if err := dying.insert([]eventlog.Record{storetest.Record(1)}); err != nil {
		t.Fatal(err)
	}
	seen := map[int64]bool{settled: true}
	for range 3 { // and it is dead
		if n := stamp(); seen[n] {
			t.Errorf("got the stamp %d twice, want a new one", n)
		} else {
			seen[n] = true
		}
	}
	if err := living.Write(t.Context(), func(tx eventlog.Tx) error { return tx.Put("a", []byte("b")) }); err != nil {
		t.Fatal(err)
	}
	after := stamp()
	if seen[after] || stamp() != after {
		t.Errorf("after a write of its own, the stamp is %d and then %d, and was %d at first, want %v", after, stamp(), settled, after)
	}
	if last, err := living.Last(t.Context()); err != nil || last != 1 {
		t.Errorf("the last record is %d, %v, want 1", last, err)
	}
	dying.count.mu.Unlock() // for Close
}
