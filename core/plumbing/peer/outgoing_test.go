package peer

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
)

// A call waits until its timeout, which ResetIdleTimeout extends.
func TestCallTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := Options{Handle: func(ctx context.Context, req *Request) (any, error) {
			req.Release()
			<-ctx.Done()
			return nil, nil
		}}
		left, _ := link(t, Options{}, block)
		for _, test := range []struct {
			idle, most time.Duration
			touched    int // times, a second apart
			want       time.Duration
			says       string
		}{
			{idle: 2 * time.Second, want: 2 * time.Second, says: "no answer to m within 2s"},
			{most: 3 * time.Second, want: 3 * time.Second, says: "no answer to m within 3s"},
			{idle: 2 * time.Second, most: 5 * time.Second, want: 2 * time.Second, says: "no answer to m within 2s"},
			{idle: 2 * time.Second, touched: 5, want: 7 * time.Second, says: "no answer to m within 2s"},
			{idle: 2 * time.Second, most: 4 * time.Second, touched: 9, want: 4 * time.Second, says: "no answer to m within 4s"},
		} {
			o := &Outgoing{Method: "m", IdleTimeout: test.idle, MaxTimeout: test.most}
			began := time.Now()
			done := make(chan struct{})
			go func() {
				defer close(done)
				for range test.touched {
					time.Sleep(time.Second)
					left.ResetIdleTimeout(o)
				}
			}()
			_, _, err := left.Do(t.Context(), o)
			var late *TimeoutError
			if !errors.As(err, &late) || !late.Timeout() || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%+v: got the error %v (%T), want a timeout that is context.DeadlineExceeded", test, err, err)
			}
			if err == nil || err.Error() != test.says {
				t.Errorf("%+v: got the error %v, want %s", test, err, test.says)
			}
			if took := time.Since(began); took != test.want {
				t.Errorf("%+v: it took %v, want %v", test, took, test.want)
			}
			<-done
		}
	})
}

// Via may wait for the answer. Its context ends when the answer arrives by Receive.
func TestCallVia(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := NewConn(nowhere{}, Options{})
		conn.Open(t.Context())
		answer := func(id jsonrpc.ID) *Request {
			r := new(Request)
			r.Parse([]byte(`{"jsonrpc":"2.0","id":` + id.String() + `,"result":"fine"}`))
			return r
		}
		for name, via := range map[string]func(context.Context, func(), jsonrpc.ID, []byte) error{
			"at once": func(ctx context.Context, done func(), id jsonrpc.ID, msg []byte) error {
				conn.Deliver(&answer(id).Message)
				if ctx.Err() != nil {
					t.Errorf("the context of the call has ended: %v", ctx.Err())
				}
				done()
				return nil
			},
			"later": func(_ context.Context, done func(), id jsonrpc.ID, msg []byte) error {
				go func() {
					time.Sleep(time.Second)
					conn.Receive(context.Background(), answer(id), nil)
				}()
				done()
				return nil
			},
			"from elsewhere": func(ctx context.Context, done func(), id jsonrpc.ID, msg []byte) error {
				defer done()
				go conn.Receive(context.Background(), answer(id), nil)
				<-ctx.Done()
				return ctx.Err()
			},
			"before an error": func(_ context.Context, done func(), id jsonrpc.ID, msg []byte) error {
				conn.Deliver(&answer(id).Message)
				done()
				return errors.New("cut")
			},
		} {
			if _, raw, err := conn.Do(t.Context(), &Outgoing{Method: "m", Via: via, IdleTimeout: time.Minute}); err != nil || string(raw) != `"fine"` {
				t.Errorf(`%s: got %s, %v; want "fine" and no error`, name, raw, err)
			}
		}
		wait := func(ctx context.Context, done func(), _ jsonrpc.ID, _ []byte) error {
			defer done()
			<-ctx.Done()
			return context.Cause(ctx)
		}
		if _, _, err := conn.Do(t.Context(), &Outgoing{Method: "m", Via: wait, IdleTimeout: time.Second}); err == nil || err.Error() != "no answer to m within 1s" {
			t.Errorf(`too late: %v; want the error "no answer to m within 1s"`, err)
		}
		fail := func(_ context.Context, done func(), _ jsonrpc.ID, _ []byte) error {
			done()
			return errors.New("no way")
		}
		if _, _, err := conn.Do(t.Context(), &Outgoing{Method: "m", Via: fail}); err == nil || err.Error() != "call m: no way" {
			t.Errorf(`not sent: %v; want the error "call m: no way"`, err)
		}
		go func() {
			time.Sleep(time.Second)
			conn.FailCalls()
		}()
		if _, _, err := conn.Do(t.Context(), &Outgoing{Method: "m", Via: wait}); !errors.Is(err, jsonrpc.ErrClosed) {
			t.Errorf("abandoned: got %v, want %v", err, jsonrpc.ErrClosed)
		}
		if _, _, err := conn.Do(t.Context(), &Outgoing{Method: "m", Via: wait}); !errors.Is(err, jsonrpc.ErrClosed) {
			t.Errorf("after that: got %v, want %v", err, jsonrpc.ErrClosed)
		}
		skipGrace := make(chan struct{})
		close(skipGrace)
		conn.Close(skipGrace)
		<-conn.Done()
	})
}

type nowhere struct{}

func (nowhere) Send([]byte) error        { return jsonrpc.ErrClosed }
func (nowhere) Receive() ([]byte, error) { return nil, jsonrpc.ErrClosed }
func (nowhere) Close() error             { return nil }

// Invalid data goes to OnInvalid and not to the peer. An invalid answer fails its call.
func TestStray(t *testing.T) {
	var strays []string
	got := talk(t, Options{OnInvalid: func(raw []byte, err *jsonrpc.Error) { strays = append(strays, string(raw)) }}, Dialect{}, `Listening on port 80
{"jsonrpc":"2.0","id":1,"method":"m"}
[INFO] ready
{"jsonrpc":"1.0","id":2,"method":"m"}
`)
	equal(t, got, "1 {}")
	want := []string{"Listening on port 80", "[INFO] ready", `{"jsonrpc":"1.0","id":2,"method":"m"}`}
	if !slices.Equal(strays, want) {
		t.Errorf("got the stray lines %q, want %q", strays, want)
	}
}
