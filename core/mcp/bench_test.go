package mcp_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
)

func adders(t testing.TB, n int) *mcp.Server {
	s := newServer(mcp.Options{})
	for i := range n {
		tool := fixture.AddTool()
		tool.Name = fmt.Sprintf("add%d", i)
		if err := mcp.AddTool(s, tool, fixture.Add); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// BenchmarkCall measures a tools/call in memory.
func BenchmarkCall(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprintf("tools=%d", n), func(b *testing.B) {
			call := caller(b, n)
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}

// BenchmarkCallAmongMany reports, as "ratio", the cost of a call with 1,000 tools divided by the
// cost with one tool. It alternates blocks of calls and compares medians, so that other load
// affects both. The target is at most 1.1.
func BenchmarkCallAmongMany(b *testing.B) {
	const block = 200
	one, many := caller(b, 1), caller(b, 1000)
	var costs [2][]time.Duration
	for b.Loop() {
		for i, call := range []func(){one, many} {
			began := time.Now()
			for range block {
				call()
			}
			costs[i] = append(costs[i], time.Since(began))
		}
	}
	median := func(d []time.Duration) float64 {
		slices.Sort(d)
		return float64(d[len(d)/2])
	}
	b.ReportMetric(median(costs[1])/median(costs[0]), "ratio")
	b.ReportMetric(0, "ns/op")
}

// caller returns a function that calls one of n tools.
func caller(b *testing.B, n int) func() {
	client := connectRaw(b, adders(b, n))
	request := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add%d","arguments":{"a":1,"b":2}}}`, n/2)
	return func() {
		client.send(b, request)
		client.receive(b)
	}
}

// BenchmarkBurst measures a tools/call in a burst of 64, as over standard input.
func BenchmarkBurst(b *testing.B) {
	const n = 64
	var calls strings.Builder
	for i := range n {
		fmt.Fprintf(&calls, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"add0","arguments":{"a":1.5,"b":2}}}`+"\n", i)
	}
	server := adders(b, 1)
	in := &repeatedly{first: handshake, then: calls.String(), times: b.N/n + 1}
	b.ReportAllocs()
	if err := server.Serve(context.Background(), jsonrpc.NewLines(in, io.Discard, jsonrpc.LinesOptions{})); err != nil {
		b.Fatal(err)
	}
}

// repeatedly is a reader of one text, followed by repetitions of another.
type repeatedly struct {
	first, then string
	times       int
}

func (r *repeatedly) Read(p []byte) (n int, err error) {
	switch {
	case r.first != "":
		n = copy(p, r.first)
		r.first = r.first[n:]
	case r.times > 0:
		n = copy(p, r.then)
		r.times--
	default:
		err = io.EOF
	}
	return n, err
}

func BenchmarkListTools(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("tools=%d", n), func(b *testing.B) {
			client := connectRaw(b, adders(b, n))
			b.ReportAllocs()
			for b.Loop() {
				client.send(b, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
				client.receive(b)
			}
		})
	}
}

// The memory of a long session does not grow.
func TestLongConversation(t *testing.T) {
	client := connectRaw(t, adders(t, 10))
	use := func() (heap uint64, goroutines int) {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc, runtime.NumGoroutine()
	}
	calls := 0
	call := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add3","arguments":{"a":1,"b":2},"_meta":{"progressToken":1}}}`)
	talk := func(until int) {
		for ; calls < until; calls++ {
			client.send(t, call)
			if answer := client.receive(t); !bytes.Contains(answer, []byte(`"structuredContent":{"sum":3}`)) {
				t.Fatalf("call %d: got %s, want it to contain %s", calls, answer, []byte(`"structuredContent":{"sum":3}`))
			}
		}
	}
	talk(1_000)
	heap, goroutines := use()
	talk(100_000)
	heapAfter, goroutinesAfter := use()
	t.Logf("heap after 1,000 calls: %d KiB, after 100,000: %d KiB; goroutines: %d, %d", heap>>10, heapAfter>>10, goroutines, goroutinesAfter)
	if heapAfter > heap+128<<10 {
		t.Errorf("the heap grew from %d to %d bytes, want at most %d", heap, heapAfter, heap+128<<10)
	}
	// A connection keeps a few goroutines to take turns in reading.
	if goroutinesAfter > goroutines+4 {
		t.Errorf("%d goroutines run afterwards, want at most %d", goroutinesAfter, goroutines+4)
	}
}
