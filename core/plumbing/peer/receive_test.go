package peer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/plumbing/peer"
)

// A recorder is a Responder that records messages.
type recorder struct {
	mu     sync.Mutex
	sent   []string
	answer string
	err    error
	times  int
}

func (o *recorder) Buffer() []byte { return nil }

func (o *recorder) Send(msg []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sent = append(o.sent, string(msg))
	return nil
}

func (o *recorder) Respond(msg []byte, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answer, o.err = string(msg), err
	o.times++
}

// mute is a transport that receives nothing and records sent messages.
type mute struct{ recorder }

func (*mute) Receive() ([]byte, error) { return nil, io.EOF }
func (*mute) Close() error             { return nil }

type takenKey struct{}

// openConn returns a connection for Receive.
func openConn(t *testing.T, o peer.Options) (*peer.Conn, *mute) {
	t.Helper()
	m := &mute{}
	var c *peer.Conn
	o.Handle = func(ctx context.Context, req *peer.Request) (any, error) {
		switch req.Method() {
		case "who":
			return ctx.Value(takenKey{}), nil
		case "fails":
			return nil, jsonrpc.Errorf(-7, "no")
		case "tells":
			err := req.Notify(ctx, "news", map[string]int{"n": 1})
			return struct{}{}, errors.Join(err, c.Notify(ctx, "elsewhere", nil))
		case "calls":
			var answer json.RawMessage
			err := c.Call(ctx, "back", nil, &answer)
			return answer, err
		case "waits":
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("no %s", req.Method())
	}
	c = peer.NewConn(m, o)
	c.Open(context.Background())
	return c, m
}

func parsed(raw []byte) *peer.Request {
	r := new(peer.Request)
	r.Parse(raw)
	return r
}

func receive(c *peer.Conn, ctx context.Context, raw string) *recorder {
	o := &recorder{}
	c.Receive(ctx, parsed([]byte(raw)), o)
	return o
}

func TestReceive(t *testing.T) {
	c, m := openConn(t, peer.Options{})
	ctx := context.WithValue(t.Context(), takenKey{}, "me")
	for raw, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"who"}`:     `{"jsonrpc":"2.0","id":1,"result":"me"}`,
		`{"jsonrpc":"2.0","id":"x","method":"fails"}`: `{"jsonrpc":"2.0","id":"x","error":{"code":-7,"message":"no"}}`,
		`{"jsonrpc":"2.0","id":1}`:                    `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"\"method\" must be a string"}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"who"}]`:   `{"jsonrpc":"2.0","error":{"code":-32600,"message":"batches are not part of this protocol revision; send one message at a time"}}`,
		`{"jsonrpc":"2.0","method":"who"}`:            ``,
		`{"jsonrpc":"2.0","id":5,"result":1}`:         ``,
	} {
		o := receive(c, ctx, raw)
		if o.answer != want {
			t.Errorf("%s is answered with %s, want %s", raw, o.answer, want)
		}
		if answered := o.times == 1; answered != (want != "") {
			t.Errorf("%s is answered %d times, want an answer: %t", raw, o.times, want != "")
		}
		if failed := o.err != nil; failed != strings.Contains(want, "error") {
			t.Errorf("%s gives the error %v for the answer %s", raw, o.err, want)
		}
	}
	o := receive(c, ctx, `{"jsonrpc":"2.0","id":1,"method":"tells"}`)
	if fmt.Sprint(o.sent) != `[{"jsonrpc":"2.0","method":"news","params":{"n":1}}]` || fmt.Sprint(m.sent) != `[{"jsonrpc":"2.0","method":"elsewhere"}]` {
		t.Errorf(`sent to the responder: %s; to the transport: %s; want news with {"n":1} and elsewhere`, o.sent, m.sent)
	}
}

// A goroutine that outlives its request still sees the values of the context, such as the caller.
func TestValuesAfterRequest(t *testing.T) {
	for _, observes := range []bool{false, true} {
		var kept context.Context
		c := peer.NewConn(&mute{}, peer.Options{Handle: func(ctx context.Context, _ *peer.Request) (any, error) {
			if observes {
				_ = ctx.Err()
			}
			kept = ctx
			return struct{}{}, nil
		}})
		c.Open(context.Background())
		receive(c, context.WithValue(t.Context(), takenKey{}, "me"), `{"jsonrpc":"2.0","id":1,"method":"m"}`)
		if got := context.WithoutCancel(kept).Value(takenKey{}); got != "me" {
			t.Errorf("after a request that calls Err (%t), the value of its context = %v, want me", observes, got)
		}
		if kept.Err() == nil || context.Cause(kept) == nil {
			t.Errorf("after a request that calls Err (%t), Err() = %v, Cause = %v, want errors", observes, kept.Err(), context.Cause(kept))
		}
	}
}

func TestReceiveBatch(t *testing.T) {
	c, _ := openConn(t, peer.Options{})
	c.SetDialect(peer.Dialect{Batches: true})
	o := receive(c, t.Context(), `[{"jsonrpc":"2.0","id":1,"method":"fails"},{"jsonrpc":"2.0","method":"who"},7,{"jsonrpc":"2.0","id":2,"method":"who"}]`)
	want := `[{"jsonrpc":"2.0","id":1,"error":{"code":-7,"message":"no"}},{"jsonrpc":"2.0","error":{"code":-32600,"message":"a message must be an object, got a number"}},{"jsonrpc":"2.0","id":2,"result":null}]`
	if o.answer != want || o.err != nil || o.times != 1 {
		t.Errorf("the answer is %s, %v, %d times; want %s, no error, once", o.answer, o.err, o.times, want)
	}
	if o := receive(c, t.Context(), `[{"jsonrpc":"2.0","method":"who"}]`); o.times != 0 {
		t.Errorf("notifications alone: got %d answers, want 0: %s", o.times, o.answer)
	}
}

func TestReceiveMaxInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := openConn(t, peer.Options{MaxInFlight: 2})
		ctx, cancel := context.WithCancel(t.Context())
		waits := func(id int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"waits"}`, id) }
		for id := range 2 {
			go receive(c, ctx, waits(id))
			synctest.Wait()
		}
		if got, want := receive(c, ctx, waits(2)).answer, "too many requests in flight (limit 2)"; !strings.Contains(got, want) {
			t.Errorf("the answer to a third request is %s, want %q in it", got, want)
		}
		cancel()
		synctest.Wait()
		if got, want := receive(c, ctx, `{"jsonrpc":"2.0","id":3,"method":"who"}`).answer, `{"jsonrpc":"2.0","id":3,"result":null}`; got != want {
			t.Errorf("the answer after both requests have ended is %s, want %s", got, want)
		}
	})
}

// A call goes to the responder of its request, and its answer arrives as a separate message.
func TestReceiveCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, m := openConn(t, peer.Options{})
		o := &recorder{}
		go c.Receive(t.Context(), parsed([]byte(`{"jsonrpc":"2.0","id":1,"method":"calls"}`)), o)
		synctest.Wait()
		if fmt.Sprint(o.sent) != `[{"jsonrpc":"2.0","id":1,"method":"back"}]` || len(m.sent) != 0 {
			t.Fatalf("sent to the responder: %s; to the transport: %s; want the call of back and nothing", o.sent, m.sent)
		}
		receive(c, t.Context(), `{"jsonrpc":"2.0","id":1,"result":"there"}`)
		synctest.Wait()
		if o.answer != `{"jsonrpc":"2.0","id":1,"result":"there"}` {
			t.Errorf(`the answer: got %q, want "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"there\"}"`, o.answer)
		}
	})
}

// The context of a request ends when the peer cancels it, with the context of Receive, and with the
// connection.
func TestReceiveEnds(t *testing.T) {
	for name, end := range map[string]func(c *peer.Conn, cancel func()) string{
		"cancelled": func(c *peer.Conn, _ func()) string {
			c.Cancel(jsonrpc.IntID(1))
			return ""
		},
		"gone": func(_ *peer.Conn, cancel func()) string {
			cancel()
			return `"message":"context canceled"`
		},
		"closed": func(c *peer.Conn, _ func()) string {
			skipGrace := make(chan struct{})
			close(skipGrace)
			c.Close(skipGrace)
			return `"message":"the connection is closed"`
		},
		"out of grace": func(c *peer.Conn, _ func()) string {
			began := time.Now()
			c.Close(nil)
			if took := time.Since(began); took != time.Minute {
				return took.String()
			}
			return `"message":"the connection is closed"`
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := openConn(t, peer.Options{Grace: time.Minute})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				o := &recorder{}
				go c.Receive(ctx, parsed([]byte(`{"jsonrpc":"2.0","id":1,"method":"waits"}`)), o)
				synctest.Wait()
				want := end(c, cancel)
				synctest.Wait()
				if o.times != 1 || !strings.Contains(o.answer, want) || (o.answer == "") != (want == "") {
					t.Errorf("the answer is %q, %d times; want %s", o.answer, o.times, want)
				}
			})
		})
	}
}

// Requests in flight must have different ids, unless their peers are unrelated.
func TestReceiveSameID(t *testing.T) {
	for unrelated, want := range map[bool]string{false: "in use", true: `"result":null`} {
		synctest.Test(t, func(t *testing.T) {
			c, _ := openConn(t, peer.Options{UnrelatedPeers: unrelated})
			ctx, cancel := context.WithCancel(t.Context())
			go receive(c, ctx, `{"jsonrpc":"2.0","id":1,"method":"waits"}`)
			synctest.Wait()
			if o := receive(c, ctx, `{"jsonrpc":"2.0","id":1,"method":"who"}`); !strings.Contains(o.answer, want) {
				t.Errorf("unrelated %t: the second: got %q, want it to contain %q", unrelated, o.answer, want)
			}
			cancel()
			synctest.Wait()
		})
	}
}
