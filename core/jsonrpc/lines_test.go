package jsonrpc

import (
	"bytes"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestCloseFlushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		writes := 0
		l := NewLines(strings.NewReader(""), writerFunc(func(p []byte) (int, error) {
			time.Sleep(time.Millisecond)
			writes++
			return out.Write(p)
		}), LinesOptions{})
		go func() { _ = l.Send([]byte(`1`)) }()
		synctest.Wait()
		for _, msg := range []string{`2`, `3`} {
			if err := l.Send([]byte(msg)); err != nil {
				t.Error(err)
			}
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if out.String() != "1\n2\n3\n" || writes != 2 {
			t.Errorf(`%d writes of %q; want 2 writes of "1\n2\n3\n"`, writes, out.String())
		}
	})
}

// Close sends the messages that a burst held back.
func TestCloseInTheMidstOfABurst(t *testing.T) {
	var out bytes.Buffer
	l := NewLines(strings.NewReader("1\n2\n"), &out, LinesOptions{})
	if _, err := l.Receive(); err != nil {
		t.Fatal(err)
	}
	if err := l.Send([]byte(`"held"`)); err != nil || out.Len() > 0 {
		t.Errorf("Send: %v, output %q; want no error and no output", err, out.String())
	}
	if err := l.Close(); err != nil || out.String() != "\"held\"\n" {
		t.Errorf(`Close: %v, output %q; want no error and "held" with a newline`, err, out.String())
	}
}

// Close reports no error for streams that are already closed.
func TestCloseAfterOthers(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	lines := NewLines(r, w, LinesOptions{})
	r.Close()
	w.Close()
	if err := lines.Close(); err != nil {
		t.Error(err)
	}
}

// ticketReader returns a line and a blank line for each ticket, and then waits for the next.
type ticketReader struct {
	ticket, waits atomic.Int64
	given         int64
	stop          atomic.Bool
}

func (r *ticketReader) Read(p []byte) (int, error) {
	r.waits.Store(r.given) // the reader blocks from here on
	for r.ticket.Load() == r.given {
		if r.stop.Load() {
			return 0, io.EOF
		}
		runtime.Gosched()
	}
	r.given++
	return copy(p, "1\n\n"), nil
}

// A message that is sent while a burst ends is written.
func TestNothingHeldIsForgotten(t *testing.T) {
	r := &ticketReader{}
	var received, written atomic.Int64
	l := NewLines(r, writerFunc(func(p []byte) (int, error) {
		written.Add(int64(bytes.Count(p, []byte("\n"))))
		return len(p), nil
	}), LinesOptions{})
	var both sync.WaitGroup
	both.Go(func() {
		for n := int64(1); ; n++ {
			if _, err := l.Receive(); err != nil {
				return
			}
			received.Store(n)
			for range n * 7 % 61 {
				runtime.KeepAlive(n) // a short delay, different each time
			}
		}
	})
	both.Go(func() {
		for n := int64(1); ; n++ {
			for received.Load() < n {
				if r.stop.Load() {
					return
				}
				runtime.Gosched()
			}
			for range n * 13 % 211 {
				runtime.KeepAlive(n)
			}
			if err := l.Send([]byte("2")); err != nil {
				t.Error(err)
			}
		}
	})
	defer both.Wait()
	defer r.stop.Store(true)
	const rounds = 30_000
	deadline := time.Now().Add(time.Minute)
	for n := range int64(rounds) {
		r.ticket.Store(n + 1)
		for written.Load() <= n || r.waits.Load() <= n {
			if runtime.Gosched(); time.Now().After(deadline) {
				t.Fatalf("%d messages written and %d reads in round %d, want %d of each", written.Load(), r.waits.Load(), n, n+1)
			}
		}
	}
}
