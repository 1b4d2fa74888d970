package mcp

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// While a client does not read, its changes hold one goroutine, however many there are. None is
// lost.
func TestChangesHoldOneGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waiting, most, sent atomic.Int32
		reads := make(chan struct{})
		c := newChanges(func(string) bool { return true }, func(string, string) {
			most.Store(max(most.Load(), waiting.Add(1)))
			<-reads
			waiting.Add(-1)
			sent.Add(1)
		})
		c.begin()
		for range 10 {
			c.noteList("tools")
			time.Sleep(time.Second)
		}
		if n := most.Load(); n != 1 {
			t.Errorf("%d goroutines waited for the client, want 1", n)
		}
		close(reads)
		time.Sleep(time.Second)
		if n := sent.Load(); n != 2 {
			t.Errorf("the client got %d notifications, want 2: the first, and one for the other changes", n)
		}
		c.close()
	})
}
