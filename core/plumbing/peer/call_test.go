package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
)

func TestCallsInBothDirections(t *testing.T) {
	answer := func(who string) Options {
		return Options{Handle: func(_ context.Context, req *Request) (any, error) {
			return map[string]string{who: req.Method()}, nil
		}}
	}
	left, right := link(t, answer("left"), answer("right"))
	var got map[string]string
	if err := left.Call(t.Context(), "a", nil, &got); err != nil || got["right"] != "a" {
		t.Errorf(`left calls: got %v, %v; want right: "a" and no error`, got, err)
	}
	if err := right.Call(t.Context(), "b", []int{1}, &got); err != nil || got["left"] != "b" {
		t.Errorf(`right calls: got %v, %v; want left: "b" and no error`, got, err)
	}
}

func TestConcurrentCallsGetTheirOwnAnswers(t *testing.T) {
	handle := func(ctx context.Context, req *Request) (any, error) {
		req.Release()
		return echo(ctx, req)
	}
	left, right := link(t, Options{Handle: handle}, Options{Handle: handle})
	var wg sync.WaitGroup
	for _, conn := range []*Conn{left, right} {
		for i := range 100 {
			wg.Go(func() {
				var got []int
				if err := conn.Call(t.Context(), "m", []int{i}, &got); err != nil || len(got) != 1 || got[0] != i {
					t.Errorf("call %d: got %v, %v; want [%d] and no error", i, got, err, i)
				}
			})
		}
	}
	wg.Wait()
}

// Each handler calls the other side, down to 0. No handler calls Release.
func TestHandlersMayCallBack(t *testing.T) {
	var left, right *Conn
	down := func(conn **Conn) Options {
		return Options{Handle: func(ctx context.Context, req *Request) (any, error) {
			var n []int
			if err := json.Unmarshal(req.Params(), &n); err != nil {
				return nil, err
			}
			if n[0] == 0 {
				return []int{0}, nil
			}
			var below []int
			if err := (*conn).Call(ctx, "down", []int{n[0] - 1}, &below); err != nil {
				return nil, err
			}
			return []int{below[0] + 1}, nil
		}}
	}
	left, right = link(t, down(&left), down(&right))
	var wg sync.WaitGroup
	for _, conn := range []*Conn{left, right} {
		wg.Go(func() {
			var got []int
			if err := conn.Call(t.Context(), "down", []int{20}, &got); err != nil || got[0] != 20 {
				t.Errorf("got %v, %v; want first 20 and no error", got, err)
			}
		})
	}
	wg.Wait()
}

func TestCallReturnsTheErrorOfThePeer(t *testing.T) {
	left, _ := link(t, Options{}, Options{Handle: func(context.Context, *Request) (any, error) {
		return nil, &jsonrpc.Error{Code: 7, Message: "no luck", Data: json.RawMessage(`{"a":1}`)}
	}})
	err := left.Call(t.Context(), "m", nil, nil)
	var e *jsonrpc.Error
	if !errors.As(err, &e) || e.Code != 7 || e.Message != "no luck" || string(e.Data) != `{"a":1}` {
		t.Errorf(`got %#v; want an *Error with code 7, message "no luck" and data {"a":1}`, err)
	}
	for target, want := range map[error]bool{jsonrpc.Code(7): true, jsonrpc.Code(8): false, &jsonrpc.Error{Code: 7}: true} {
		if got := errors.Is(err, target); got != want {
			t.Errorf("errors.Is(%v, %v) = %t, want %t", err, target, got, want)
		}
	}
}

func TestCallWithoutHandlerIsMethodNotFound(t *testing.T) {
	left, _ := link(t, Options{}, Options{})
	if err := left.Call(t.Context(), "m", nil, nil); !errors.Is(err, jsonrpc.MethodNotFound) {
		t.Errorf("Call without a handler = %v, want %v", err, jsonrpc.MethodNotFound)
	}
}

func TestCallEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		id, _, err := p.conn.Do(ctx, &Outgoing{Method: "m"})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("got %v after %v; want %v after %v", err, time.Since(start), context.DeadlineExceeded, time.Minute)
		}
		p.expect(id.String() + ` "m" `)
		// The late answer is dropped, and the connection stays open.
		p.send(`{"jsonrpc":"2.0","id":`+id.String()+`,"result":1}`, `{"jsonrpc":"2.0","id":5,"method":"m"}`)
		p.expect(`5 {}`)
		p.end()
	})
}

func TestCallOnAClosedConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Options{})
		waiting := make(chan error, 1)
		go func() { waiting <- p.conn.Call(t.Context(), "m", nil, nil) }()
		p.expect(`1 "m" `)
		p.end()
		if err := <-waiting; !errors.Is(err, jsonrpc.ErrClosed) {
			t.Errorf("a call that waited ends with %v, want %v", err, jsonrpc.ErrClosed)
		}
		if err := p.conn.Call(t.Context(), "m", nil, nil); !errors.Is(err, jsonrpc.ErrClosed) {
			t.Errorf("a later call: got %v, want %v", err, jsonrpc.ErrClosed)
		}
		if err := p.conn.Notify(t.Context(), "m", nil); !errors.Is(err, jsonrpc.ErrClosed) {
			t.Errorf("a later notification: got %v, want %v", err, jsonrpc.ErrClosed)
		}
	})
}

// Responses to unknown calls are dropped silently and never reach a handler.
func TestStrayResponsesAreIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Options{})
		p.send(
			`{"jsonrpc":"2.0","id":99,"result":{}}`,
			`{"jsonrpc":"2.0","id":"1","error":{"code":1,"message":"m"}}`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`,
			`{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}`,
			`{"jsonrpc":"2.0","id":null,"result":null}`,
			`{"jsonrpc":"2.0","id":1.5,"result":null}`,
			`{"jsonrpc":"1.0","id":7,"result":null}`,
			`{"jsonrpc":"2.0","id":7,"result":"`+"\xff"+`"}`,
		)
		p.expectNothing()
		p.end()
	})
}

func TestAnswerOfAnotherSpellingIsNotTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Options{})
		done := make(chan int, 1)
		go func() {
			var n int
			if err := p.conn.Call(t.Context(), "m", nil, &n); err != nil {
				t.Error(err)
			}
			done <- n
		}()
		p.expect(`1 "m" `)
		p.send(`{"jsonrpc":"2.0","id":"1","result":1}`, `{"jsonrpc":"2.0","id":1,"result":2}`, `{"jsonrpc":"2.0","id":1,"result":3}`)
		if n := <-done; n != 2 {
			t.Errorf("the result is %d, want 2", n)
		}
		p.end()
	})
}

func TestInvalidResponseFailsTheCall(t *testing.T) {
	for _, response := range []string{
		`{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":"m"}}`,
		`{"id":1,"result":1}`,
		`{"jsonrpc":"1.0","id":1,"result":1}`,
		`{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}`,
		`{"jsonrpc":"2.0","id":1,"result":1,"result":2}`,
		`{"jsonrpc":"2.0","id":1,"result":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`,
		`{"jsonrpc":"2.0","id":1,"error":"bad"}`,
		`{"jsonrpc":"2.0","id":1,"error":null}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":"bad","message":"m"}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"m"}}`,
		`{"jsonrpc":"2.0","id":1,"result":"` + "\xff" + `"}`,
		`{"jsonrpc":"2.0","id":1,"result":nonsense}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPeer(t, Options{})
			failed := make(chan error, 1)
			go func() { failed <- p.conn.Call(t.Context(), "m", nil, nil) }()
			p.expect(`1 "m" `)
			p.send(response)
			p.expectNothing()
			select {
			case err := <-failed:
				if err == nil || err.Error() == "" {
					t.Errorf("%s: got the error %q, want one with a message", response, err)
				}
			default:
				t.Errorf("%s: the call still waits", response)
			}
			p.end()
		})
	}
}

func TestResultThatDoesNotFit(t *testing.T) {
	left, _ := link(t, Options{}, Options{Handle: echo})
	var n struct {
		A int `json:"a"`
	}
	if err := left.Call(t.Context(), "m", map[string]string{"a": "x"}, &n); err == nil || !strings.Contains(err.Error(), "a: must be an integer") {
		t.Errorf(`got %v; want an error containing "a: must be an integer"`, err)
	}
	var raw json.RawMessage
	if err := left.Call(t.Context(), "m", map[string]string{"a": "<x>"}, &raw); err != nil || string(raw) != `{"a":"<x>"}` {
		t.Errorf(`got %s, %v; want {"a":"<x>"} and no error`, raw, err)
	}
}

func TestParamsMustBeStructured(t *testing.T) {
	left, _ := link(t, Options{}, Options{Handle: echo})
	for _, params := range []any{1, "x", true, json.RawMessage("null"), json.RawMessage(""), json.RawMessage("{"), make(chan int)} {
		if err := left.Call(t.Context(), "m", params, nil); err == nil || !strings.Contains(err.Error(), "encode the params of m") {
			t.Errorf(`Call with %v: %v; want an error containing "encode the params of m"`, params, err)
		}
		if err := left.Notify(t.Context(), "m", params); err == nil {
			t.Errorf("Notify(m, %v) = nil, want an error", params)
		}
	}
}

func TestNotifications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		p := newPeer(t, Options{Handle: func(_ context.Context, req *Request) (any, error) {
			if !req.IsNotification() || req.InBatch() || req.ID().String() != "" {
				t.Errorf("%s: notification %t, in a batch %t, id %q; want a notification outside a batch without an id", req.Method(), req.IsNotification(), req.InBatch(), req.ID())
			}
			got = append(got, req.Method()+string(req.Params()))
			return "dropped", errors.New("dropped too")
		}})
		for i := range 3 {
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"m","params":[%d]}`, i))
		}
		p.expectNothing()
		equal(t, got, "m[0]", "m[1]", "m[2]")
		if err := p.conn.Notify(t.Context(), "hello", map[string]int{"a": 1}); err != nil {
			t.Error(err)
		}
		p.expect(`- "hello" {"a":1}`)
		p.end()
	})
}
