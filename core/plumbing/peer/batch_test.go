package peer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
)

func TestBatches(t *testing.T) {
	request := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"m","params":[` + id + `]}` }
	const notification = `{"jsonrpc":"2.0","method":"m"}`
	const response = `{"jsonrpc":"2.0","id":77,"result":1}`
	tests := []struct {
		in   string
		want []string
	}{
		{`[` + request(`1`) + `]`, []string{`[1 [1]]`}},
		{` [ ` + request(`1`) + ` , ` + notification + ` , ` + request(`"b"`) + ` ] `, []string{`[1 [1]; "b" ["b"]]`}},
		{`[` + notification + `,` + notification + `]`, nil},
		{`[` + response + `,` + response + `]`, nil},
		{`[` + response + `,` + request(`1`) + `]`, []string{`[1 [1]]`}},
		{`[]`, []string{`- error -32600`}},
		{`[ ]`, []string{`- error -32600`}},
		{`[1]`, []string{`[- error -32600]`}},
		{`[1,2,3]`, []string{`[- error -32600; - error -32600; - error -32600]`}},
		{`[[]]`, []string{`[- error -32600]`}},
		{`[[` + request(`1`) + `],` + request(`2`) + `]`, []string{`[- error -32600; 2 [2]]`}},
		{`[` + request(`1`) + `,{"foo":"boo"},` + request(`2`) + `]`, []string{`[1 [1]; - error -32600; 2 [2]]`}},
		{`[{"jsonrpc":"2.0","id":1,"method":"no"},{"jsonrpc":"2.0","id":2}]`, []string{`[1 error -32601; 2 error -32600]`}},
		{`[` + request(`1`) + `,{"jsonrpc":"2.0","id":2,"method":"m","method":"m"}]`, []string{`[1 [1]; 2 error -32600]`}},
		{`[` + request(`1`) + `,`, []string{`- error -32700`}},
		{`[` + request(`1`) + `]]`, []string{`- error -32700`}},
		{`[` + request(`1`) + `,"` + "\xff" + `"]`, []string{`- error -32700`}},
		{`[` + request(`1`) + `,` + request(`1`) + `]`, []string{`[1 [1]; 1 [1]]`}}, // the first is answered before the second begins
	}
	for _, test := range tests {
		equal(t, talk(t, Options{}, Dialect{Batches: true}, test.in+"\n"+request(`9`)), append(test.want, `9 [9]`)...)
	}
	for _, in := range []string{`[` + request(`1`) + `]`, `[]`, `[` + notification + `]`, `[` + response + `]`, `[1]`} {
		equal(t, talk(t, Options{}, Dialect{}, in+"\n"+request(`9`)), `- error -32600`, `9 [9]`)
		equal(t, talk(t, Options{}, Dialect{NullID: true}, in), `null error -32600`)
	}
	equal(t, talk(t, Options{}, Dialect{Batches: true, NullID: true}, `[1,`+request(`1`)+`]`), `[null error -32600; 1 [1]]`)
}

func TestBatchIsNotTooLong(t *testing.T) {
	const maxBatch = 1000
	list := func(n int) string { return "[" + strings.Repeat("1,", n-1) + "1]" }
	got := talk(t, Options{}, Dialect{Batches: true}, list(maxBatch)+"\n"+list(maxBatch+1)+"\n"+list(500_000))
	if len(got) != 3 {
		t.Fatalf("got %d answers, want 3: %q", len(got), got)
	}
	if n := strings.Count(got[0], "- error -32600"); n != maxBatch {
		t.Fatalf("the batch is answered with %d errors -32600, want %d", n, maxBatch)
	}
	equal(t, got[1:], `- error -32600`, `- error -32600`)
}

// sleepy waits as many seconds as its params say, or until its context ends.
func sleepy(ctx context.Context, req *Request) (any, error) {
	req.Release()
	var n time.Duration
	if _, err := fmt.Sscanf(string(req.Params()), "[%d]", &n); err != nil {
		return nil, err
	}
	select {
	case <-time.After(n * time.Second):
		return []time.Duration{n}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func sleep(id string, seconds int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"sleep","params":[%d]}`, id, seconds)
}

func TestBatchKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Options{Handle: sleepy})
		p.conn.SetDialect(Dialect{Batches: true})
		start := time.Now()
		p.send(`[`+sleep("1", 3)+`,`+sleep("2", 1)+`,7,`+sleep("3", 2)+`]`, sleep("4", 1))
		p.expect(`4 [1]`)
		p.expect(`[1 [3]; 2 [1]; - error -32600; 3 [2]]`)
		if d := time.Since(start); d != 3*time.Second {
			t.Errorf("Run took %v, want %v", d, 3*time.Second)
		}
		p.end()
	})
}

func TestBatchOmitsCancelledRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Options{Handle: sleepy})
		p.conn.SetDialect(Dialect{Batches: true})
		p.send(`[` + sleep("1", 3) + `,` + sleep(`"x"`, 1) + `,` + sleep("3", 2) + `]`)
		synctest.Wait()
		if !p.conn.Cancel(jsonrpc.IntID(3)) {
			t.Error("Cancel(3) = false, want true: the call in the batch is in flight")
		}
		p.expect(`[1 [3]; "x" [1]]`)
		p.send(`[` + sleep("1", 3) + `,` + sleep("2", 3) + `]`)
		synctest.Wait()
		p.conn.Cancel(jsonrpc.IntID(1))
		p.conn.Cancel(jsonrpc.IntID(2))
		p.expectNothing()
		p.end()
	})
}

func TestBatchWithADuplicateID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Options{Handle: sleepy})
		p.conn.SetDialect(Dialect{Batches: true})
		p.send(`[`+sleep("1", 2)+`,`+sleep("1", 1)+`]`, sleep("1", 1))
		p.expect(`- error -32600`, `[1 [2]; - error -32600]`)
		p.end()
	})
}

func TestBatchOfResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Options{})
		p.conn.SetDialect(Dialect{Batches: true})
		results := make(chan string, 3)
		for i := range 3 {
			go func() {
				var n int
				err := p.conn.Call(t.Context(), "m", []int{i}, &n)
				results <- fmt.Sprint(n, err)
			}()
			p.expect(fmt.Sprintf(`%d "m" [%d]`, i+1, i))
			synctest.Wait()
		}
		p.send(`[{"jsonrpc":"2.0","id":2,"result":20},{"jsonrpc":"2.0","id":3,"result":1,"error":1},{"jsonrpc":"2.0","id":1,"result":10}]`)
		p.expectNothing()
		got := []string{<-results, <-results, <-results}
		all := strings.Join(got, "; ")
		if !strings.Contains(all, "20 <nil>") || !strings.Contains(all, "10 <nil>") || !strings.Contains(all, "0 invalid answer to m: a response cannot hold both") {
			t.Errorf(`got %s; want "20 <nil>", "10 <nil>" and "0 invalid answer to m: a response cannot hold both" in it`, all)
		}
		p.end()
	})
}

func TestBatchWhoseHandlerCallsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p *peer
		p = newPeer(t, Options{Handle: func(ctx context.Context, req *Request) (any, error) {
			if !req.InBatch() {
				t.Errorf("InBatch() of %s = false, want true", req.Method())
			}
			if req.Method() == "back" {
				var n int
				if err := p.conn.Call(ctx, "you", nil, &n); err != nil {
					return nil, err
				}
				return []int{n}, nil
			}
			return echo(ctx, req)
		}})
		p.conn.SetDialect(Dialect{Batches: true})
		p.send(`[{"jsonrpc":"2.0","id":1,"method":"back"},{"jsonrpc":"2.0","id":2,"method":"back"},{"jsonrpc":"2.0","id":3,"method":"m"}]`)
		for range 2 { // both calls, in any order
			if line, err := p.wire.Receive(); err != nil || !strings.HasSuffix(gist(t, line), ` "you" `) {
				t.Fatalf(`got %s, %v; want no error and a message with the params "you"`, line, err)
			}
		}
		p.send(`{"jsonrpc":"2.0","id":2,"result":8}`, `{"jsonrpc":"2.0","id":1,"result":9}`)
		p.expect(`[1 [9]; 2 [8]; 3 {}]`)
		p.end()
	})
}

// A handler that appends to its params must not overwrite those of the next request.
func TestBatchElementsDoNotShareMemory(t *testing.T) {
	handle := func(_ context.Context, req *Request) (any, error) {
		own := string(req.Params())
		_ = append(req.Params(), strings.Repeat("x", 51)...)
		return []string{own}, nil
	}
	in := `[{"jsonrpc":"2.0","id":1,"method":"m","params":[1]},{"jsonrpc":"2.0","id":2,"method":"m","params":[2]}]`
	equal(t, talk(t, Options{Handle: handle}, Dialect{Batches: true}, in), `[1 ["[1]"]; 2 ["[2]"]]`)
}

func TestBatchWhoseAnswerCannotBeSent(t *testing.T) {
	broken := errors.New("broken pipe")
	in := `[{"jsonrpc":"2.0","id":1,"method":"m"},{"jsonrpc":"2.0","id":2,"method":"m"}]` + "\n"
	err := serveUntil(t, in, failingWriter{broken}, Dialect{Batches: true})
	if !errors.Is(err, broken) {
		t.Errorf("Run: got %v, want %v", err, broken)
	}
}

// slowTransport takes a second to send.
type slowTransport struct{ jsonrpc.Transport }

func (s slowTransport) Send(msg []byte) error {
	time.Sleep(time.Second)
	return s.Transport.Send(msg)
}

// A batch is answered as a whole, even if the connection begins to end before it is complete.
func TestBatchAtTheEndOfTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := jsonrpc.Pipe()
		conn := NewConn(slowTransport{theirs}, Options{Handle: func(context.Context, *Request) (any, error) {
			time.Sleep(time.Second)
			return struct{}{}, nil
		}})
		conn.SetDialect(Dialect{Batches: true})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- conn.Run(ctx) }()
		_ = ours.Send([]byte(`[{"jsonrpc":"2.0","id":1,"method":"m"},{"jsonrpc":"2.0","method":"m"},{"jsonrpc":"2.0","id":2,"method":"m"}]`))
		synctest.Wait()
		stop()
		if line, err := ours.Receive(); err != nil || gist(t, line) != `[1 {}; 2 {}]` {
			t.Errorf("got %s, %v; want no error and the answers [1 {}; 2 {}]", line, err)
		}
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}
