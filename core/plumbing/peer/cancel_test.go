package peer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/petrock/petrock/core/jsonrpc"
)

func parseID(t testing.TB, raw string) jsonrpc.ID {
	t.Helper()
	id, err := jsonrpc.ParseID([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		causes := make(chan error, 1)
		p := newPeer(t, Options{Handle: func(ctx context.Context, req *Request) (any, error) {
			req.Release()
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return "a result", nil
		}})
		for _, test := range []struct{ id, cancel string }{
			{`1`, `1`}, {`"a"`, `"\u0061"`}, {`"\u0061"`, `"a"`}, {`12345678901234567890`, `12345678901234567890`}, {"\"\u2028\"", `"\u2028"`},
		} {
			p.send(`{"jsonrpc":"2.0","id":` + test.id + `,"method":"m"}`)
			synctest.Wait()
			for _, other := range []jsonrpc.ID{{}, jsonrpc.IntID(2), parseID(t, `"1"`), parseID(t, `12345678901234567891`), parseID(t, `"b"`)} {
				if p.conn.Cancel(other) {
					t.Errorf("Cancel(%s) = true, want false: the id in flight is %s", other, test.id)
				}
			}
			if !p.conn.Cancel(parseID(t, test.cancel)) {
				t.Fatalf("Cancel(%s) = false, want true: the id in flight is %s", test.cancel, test.id)
			}
			if err := <-causes; !errors.Is(err, ErrCancelled) {
				t.Errorf("%s: the cause is %v, want %v", test.id, err, ErrCancelled)
			}
			p.expectNothing()
			if p.conn.Cancel(parseID(t, test.id)) {
				t.Errorf("Cancel(%s) = true, want false after the request has been cancelled", test.id)
			}
		}
		p.end()
	})
}

// A request that keeps the turn is in flight like any other.
func TestRequestThatKeepsTheTurnIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stubborn := make(chan struct{})
		var log bytes.Buffer
		p := newPeer(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Handle: func(ctx context.Context, req *Request) (any, error) {
			if req.Method() == "stubborn" {
				<-stubborn
			}
			<-ctx.Done()
			return struct{}{}, nil
		}})
		p.send(`{"jsonrpc":"2.0","id":1,"method":"m"}`)
		synctest.Wait()
		if p.conn.Cancel(jsonrpc.IntID(2)) {
			t.Error("Cancel(2) = true, want false: there is no such request")
		}
		if !p.conn.Cancel(jsonrpc.IntID(1)) {
			t.Error("Cancel(1) = false, want true: the request is in flight")
		}
		p.expectNothing()
		p.send(`{"jsonrpc":"2.0","id":1,"method":"stubborn"}`)
		synctest.Wait()
		p.stop()
		<-p.done
		if !strings.Contains(log.String(), "still running") {
			t.Errorf(`the log is %q, want it to contain "still running"`, log.String())
		}
		close(stubborn)
	})
}

func TestContextEndsWithTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept context.Context
		ours, theirs := jsonrpc.Pipe()
		conn := NewConn(theirs, Options{Handle: func(ctx context.Context, req *Request) (any, error) {
			kept = ctx
			return ctx.Value(key{}), ctx.Err()
		}})
		done := make(chan error, 1)
		go func() { done <- conn.Run(context.WithValue(t.Context(), key{}, "value")) }()
		_ = ours.Send([]byte(`{"jsonrpc":"2.0","id":1,"method":"m"}`))
		if line, _ := ours.Receive(); gist(t, line) != `1 "value"` {
			t.Errorf(`got %s, want 1 "value"`, line)
		}
		synctest.Wait()
		if kept.Err() == nil {
			t.Error("the context has not ended after the handler returned: Err() = nil, want an error")
		}
		ours.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A request has one answer if it was not cancelled, and none if it was.
func TestCancelRacesWithTheAnswer(t *testing.T) {
	ours, theirs := newHalfPipe()
	var begun atomic.Int64
	conn := NewConn(theirs, Options{Handle: func(_ context.Context, req *Request) (any, error) {
		req.Release()
		begun.Add(1)
		return struct{}{}, nil
	}})
	done := make(chan error, 1)
	go func() { done <- conn.Run(t.Context()) }()
	cancelled := map[string]bool{}
	const n = 500
	for i := range n {
		if err := ours.Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"m"}`, i)); err != nil {
			t.Fatal(err)
		}
		for !cancelled[jsonrpc.IntID(int64(i)).String()] && begun.Load() <= int64(i) {
			cancelled[jsonrpc.IntID(int64(i)).String()] = conn.Cancel(jsonrpc.IntID(int64(i)))
			runtime.Gosched()
		}
	}
	closeInput(ours)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	answers := map[string]int{}
	for {
		line, err := ours.Receive()
		if err != nil {
			break
		}
		var id int
		if _, err := fmt.Sscanf(gist(t, line), "%d {}", &id); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		answers[fmt.Sprint(id)]++
	}
	for i := range n {
		id := fmt.Sprint(i)
		want := 1
		if cancelled[id] {
			want = 0
		}
		if answers[id] != want {
			t.Errorf("the request %s is answered %d times, want %d (cancelled: %t)", id, answers[id], want, cancelled[id])
		}
	}
}
