package peer

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
)

// The end of a request's context is visible to contexts derived before and after it, and to callers
// of Done and Err before and after it.
func TestEndOfTheContext(t *testing.T) {
	ends := []struct {
		name  string
		end   func(p *peer, pass chan struct{})
		cause error
	}{
		{"cancelled", func(p *peer, _ chan struct{}) { p.conn.Cancel(jsonrpc.IntID(1)) }, ErrCancelled},
		{"handled", func(_ *peer, pass chan struct{}) { pass <- struct{}{} }, context.Canceled},
		{"closed", func(p *peer, _ chan struct{}) { p.stop(); time.Sleep(5500 * time.Millisecond) }, jsonrpc.ErrClosed},
	}
	none := func() {}
	looks := map[string]func(context.Context) (context.Context, context.CancelFunc){
		"itself": func(ctx context.Context) (context.Context, context.CancelFunc) { return ctx, none },
		"WithValue": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithValue(ctx, key{}, 1), none
		},
		"WithCancel": context.WithCancel,
		"WithTimeout": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Hour)
		},
	}
	for _, end := range ends {
		for name, derive := range looks {
			for _, before := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, %s, before %t", end.name, name, before), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						given := make(chan context.Context, 1)
						pass := make(chan struct{})
						p := newPeer(t, Options{Handle: func(ctx context.Context, req *Request) (any, error) {
							req.Release()
							if before {
								var cancel context.CancelFunc
								ctx, cancel = derive(ctx)
								defer cancel()
								if ctx.Err() != nil || context.Cause(ctx) != nil {
									t.Errorf("the context has already ended: Err() = %v, Cause = %v, want nil and nil", ctx.Err(), context.Cause(ctx))
								}
							}
							given <- ctx
							<-pass
							return struct{}{}, nil
						}})
						p.send(`{"jsonrpc":"2.0","id":1,"method":"m"}`)
						ctx := <-given
						ended := make(chan struct{})
						if before {
							context.AfterFunc(ctx, func() { close(ended) })
						}
						end.end(p, pass)
						synctest.Wait()
						if !before {
							// Read the cause first, without calling Done or Err.
							if err := context.Cause(ctx); !errors.Is(err, end.cause) {
								t.Errorf("the cause is %v, want %v", err, end.cause)
							}
							var cancel context.CancelFunc
							ctx, cancel = derive(ctx)
							defer cancel()
							context.AfterFunc(ctx, func() { close(ended) })
						}
						<-ended
						<-ctx.Done()
						if ctx.Err() == nil || !errors.Is(context.Cause(ctx), end.cause) {
							t.Errorf("the context ended with %v and the cause %v; want an error and the cause %v", ctx.Err(), context.Cause(ctx), end.cause)
						}
						close(pass)
						p.stop()
						<-p.done
					})
				})
			}
		}
	}
}

// Package context recognizes the context as its own type: deriving from it takes no goroutine.
func TestDerivingTakesNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Options{Handle: func(ctx context.Context, _ *Request) (any, error) {
			before := runtime.NumGoroutine()
			for range 10 {
				defer context.AfterFunc(ctx, func() {})()
				_, cancel := context.WithTimeout(ctx, time.Hour)
				defer cancel()
			}
			if n := runtime.NumGoroutine() - before; n > 5 {
				return nil, fmt.Errorf("%d goroutines", n)
			}
			return struct{}{}, nil
		}})
		p.send(`{"jsonrpc":"2.0","id":1,"method":"m"}`)
		p.expect(`1 {}`)
		p.end()
	})
}

// A finished request leaves nothing in the connection's context, whether Done was called or not.
func TestContextsAreReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept context.Context
		p := newPeer(t, Options{Handle: func(ctx context.Context, req *Request) (any, error) {
			if req.Method() == "look" {
				_ = ctx.Err()
			}
			kept = ctx
			return struct{}{}, nil
		}})
		for _, method := range []string{"look", "look away"} {
			p.send(`{"jsonrpc":"2.0","id":1,"method":"` + method + `"}`)
			p.expect(`1 {}`)
			synctest.Wait()
			if kept.Err() == nil {
				t.Errorf("the context of %s has not ended: Err() = nil, want an error", method)
			}
			if got := kept.Value(requestKey{}).(*Request).Method(); got != method {
				t.Errorf("the context of %s has the request %s", method, got)
			}
		}
		p.end()
	})
}

// Err, Cancel, Release and the end of the handler run concurrently, for the race detector.
func TestContextRaces(t *testing.T) {
	ours, theirs := newHalfPipe()
	var conn *Conn
	var left sync.WaitGroup
	conn = NewConn(theirs, Options{Handle: func(ctx context.Context, req *Request) (any, error) {
		for _, f := range []func(){
			req.allowConcurrent,
			req.Release,
			func() { conn.Cancel(req.ID()) },
			func() { <-ctx.Done() },
			func() { _ = ctx.Err() },
			func() { _ = context.Cause(ctx); ctx.Value(key{}) },
			func() { ctx, cancel := context.WithCancel(ctx); defer cancel(); <-ctx.Done() },
		} {
			left.Go(f)
		}
		return struct{}{}, nil
	}})
	done := make(chan error, 1)
	go func() { done <- conn.Run(t.Context()) }()
	for i := range 300 {
		if err := ours.Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"m"}`, i)); err != nil {
			t.Fatal(err)
		}
	}
	closeInput(ours)
	if err := <-done; err != nil {
		t.Error(err)
	}
	left.Wait() // every call of Err has seen the end
}
