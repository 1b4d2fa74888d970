package burst

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stuckWriter blocks until it is released.
type stuckWriter struct {
	letGo chan struct{}
	once  sync.Once
}

func (w *stuckWriter) Write(p []byte) (int, error) {
	<-w.letGo
	return len(p), nil
}

func (w *stuckWriter) unstick() { w.once.Do(func() { close(w.letGo) }) }

func TestPeerThatDoesNotReadHoldsSendersBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &stuckWriter{letGo: make(chan struct{})}
		l := &Writer{W: w}
		msg := bytes.Repeat([]byte("x"), 10_000)
		var mu sync.Mutex
		sent := 0
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				for range 100 {
					if err := l.Send(msg); err != nil {
						t.Error(err)
					}
					mu.Lock()
					sent++
					mu.Unlock()
				}
			})
		}
		synctest.Wait()
		l.mu.Lock()
		if len(l.waiting) > maxWaiting+len(msg)+1 {
			t.Errorf("%d bytes are waiting, want at most %d", len(l.waiting), maxWaiting+len(msg)+1)
		}
		l.mu.Unlock()
		if sent > 2*(maxWaiting/len(msg)+1) { // one buffer is being written, one waits
			t.Errorf("sent = %v, want at most %v", sent, 2*(maxWaiting/len(msg)+1))
		}
		w.unstick()
		wg.Wait()
		if sent != 2000 {
			t.Errorf("sent = %v, want 2000", sent)
		}
	})
}

func TestCloseWhileSendersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &stuckWriter{letGo: make(chan struct{})}
		l := &Writer{W: w}
		big := bytes.Repeat([]byte("x"), maxWaiting+1)
		failed := make(chan error, 10)
		for range 5 {
			go func() { failed <- l.Send(big) }()
			synctest.Wait()
		}
		start := time.Now()
		if err := l.Close(time.Second); err == nil || time.Since(start) != time.Second {
			t.Errorf("Close: %v after %v; want an error after %v", err, time.Since(start), time.Second)
		}
		// One is being written, one waits in the buffer, and three senders are blocked.
		synctest.Wait()
		if len(failed) != 5 {
			t.Errorf("%d sends failed, want 5: %v", len(failed), failed)
		}
		w.unstick()
		refused := 0
		for range 5 {
			if errors.Is(<-failed, ErrClosed) {
				refused++
			}
		}
		if refused < 3 {
			t.Errorf("refused = %v, want at least 3", refused)
		}
		if err := l.Send([]byte("x")); !errors.Is(err, ErrClosed) {
			t.Errorf("a later send: got %v, want %v", err, ErrClosed)
		}
	})
}

// Close returns the error of a write that no sender waited for.
func TestCloseReportsWriteError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken pipe")
		r, w := io.Pipe()
		l := &Writer{W: w}
		go func() { _ = l.Send([]byte(`1`)) }()
		synctest.Wait()
		if err := l.Send([]byte(`2`)); err != nil {
			t.Error(err)
		}
		_, _ = r.Read(make([]byte, 10))
		r.CloseWithError(broken)
		synctest.Wait()
		if err := l.Close(time.Second); !errors.Is(err, broken) {
			t.Errorf("Close: got %v, want %v", err, broken)
		}
		if err := l.Send([]byte(`3`)); !errors.Is(err, broken) {
			t.Errorf("a later send: got %v, want %v", err, broken)
		}
	})
}
