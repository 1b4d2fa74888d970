package peer

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
)

// The timeout of a call includes the time of Via.
func TestCallViaTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := NewConn(nowhere{}, Options{})
		conn.Open(t.Context())
		sent := func(_ context.Context, done func(), _ jsonrpc.ID, _ []byte) error {
			done()
			return nil
		}
		wait := func(ctx context.Context, done func(), _ jsonrpc.ID, _ []byte) error {
			defer done()
			<-ctx.Done()
			return context.Cause(ctx)
		}
		slowly := func(jsonrpc.ID) { time.Sleep(2 * time.Second) }
		for name, o := range map[string]*Outgoing{
			"since it was sent": {Method: "m", Via: sent, IdleTimeout: time.Second},
			"in all":            {Method: "m", Via: sent, MaxTimeout: time.Second},
			"before it is sent": {Method: "m", Via: wait, IdleTimeout: time.Second, OnID: slowly},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if _, _, err := conn.Do(ctx, o); err == nil || err.Error() != "no answer to m within 1s" {
				t.Errorf(`%s: %v; want the error "no answer to m within 1s"`, name, err)
			}
			cancel()
		}
		go func() {
			time.Sleep(time.Second)
			conn.FailCalls()
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, _, err := conn.Do(ctx, &Outgoing{Method: "m", Via: wait, OnID: slowly}); !errors.Is(err, jsonrpc.ErrClosed) {
			t.Errorf("abandoned before it is sent: got %v, want %v", err, jsonrpc.ErrClosed)
		}
		skipGrace := make(chan struct{})
		close(skipGrace)
		conn.Close(skipGrace)
	})
}

// ResetIdleTimeout may be called while the call times out.
func TestResetIdleTimeoutTooLate(t *testing.T) {
	left, _ := link(t, Options{}, Options{Grace: -1, Handle: func(ctx context.Context, req *Request) (any, error) {
		req.Release()
		<-ctx.Done()
		return nil, nil
	}})
	for range 100 {
		o := &Outgoing{Method: "m", IdleTimeout: time.Millisecond, MaxTimeout: 20 * time.Millisecond}
		done := make(chan struct{})
		var touching sync.WaitGroup
		touching.Go(func() {
			for {
				select {
				case <-done:
					return
				case <-time.After(time.Millisecond):
					left.ResetIdleTimeout(o)
				}
			}
		})
		if _, _, err := left.Do(t.Context(), o); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		close(done)
		touching.Wait()
	}
}
