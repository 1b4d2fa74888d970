package peer

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
)

func BenchmarkRequest(b *testing.B) {
	for _, size := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("params=%d", size), func(b *testing.B) {
			line := []byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"text":"` + strings.Repeat("x", size) + `"}}` + "\n")
			in, requests := io.Pipe()
			answers, out := io.Pipe()
			conn := NewConn(jsonrpc.NewLines(in, out, jsonrpc.LinesOptions{}), Options{Handle: echo})
			done := make(chan error, 1)
			go func() { done <- conn.Run(context.Background()) }()
			buf := make([]byte, 64<<10)
			b.ReportAllocs()
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				if _, err := requests.Write(line); err != nil {
					b.Fatal(err)
				}
				if _, err := answers.Read(buf); err != nil {
					b.Fatal(err)
				}
			}
			requests.Close()
			if err := <-done; err != nil {
				b.Fatal(err)
			}
		})
	}
}

func BenchmarkBurst(b *testing.B) {
	const n = 1000
	var in strings.Builder
	for i := range n {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"m","params":{"a":1}}`+"\n", i)
	}
	for _, way := range []struct {
		name  string
		begin func(*Request)
	}{
		{"ordered", func(*Request) {}},
		{"declared", (*Request).allowConcurrent},
		{"released", (*Request).Release},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				conn := NewConn(jsonrpc.NewLines(strings.NewReader(in.String()), io.Discard, jsonrpc.LinesOptions{}), Options{Handle: func(ctx context.Context, req *Request) (any, error) {
					way.begin(req)
					return echo(ctx, req)
				}})
				if err := conn.Run(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/message")
		})
	}
}

// Requests over system pipes, one after the other or sixty-four at a time. The floor is a loop that
// copies its input.
func BenchmarkPipe(b *testing.B) {
	line := `{"jsonrpc":"2.0","id":%d,"method":"m","params":{"a":1}}` + "\n"
	serve := func(begin func(*Request)) func(in, out *os.File) {
		return func(in, out *os.File) {
			conn := NewConn(jsonrpc.NewLines(in, out, jsonrpc.LinesOptions{}), Options{Handle: func(ctx context.Context, req *Request) (any, error) {
				begin(req)
				return echo(ctx, req)
			}})
			_ = conn.Run(context.Background())
		}
	}
	for _, way := range []struct {
		name string
		run  func(in, out *os.File)
	}{
		{"floor", func(in, out *os.File) { _, _ = io.Copy(struct{ io.Writer }{out}, struct{ io.Reader }{in}) }},
		{"declared", serve((*Request).allowConcurrent)},
		{"released", serve((*Request).Release)},
	} {
		for _, n := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/%d", way.name, n), func(b *testing.B) {
				var requests []byte
				for i := range n {
					requests = fmt.Appendf(requests, line, i)
				}
				in, toConn, err := os.Pipe()
				if err != nil {
					b.Fatal(err)
				}
				fromConn, out, err := os.Pipe()
				if err != nil {
					b.Fatal(err)
				}
				done := make(chan struct{})
				go func() { defer close(done); way.run(in, out) }()
				buf := make([]byte, 64<<10)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := toConn.Write(requests); err != nil {
						b.Fatal(err)
					}
					for answers := 0; answers < n; {
						got, err := fromConn.Read(buf)
						if err != nil {
							b.Fatal(err)
						}
						answers += bytes.Count(buf[:got], []byte("\n"))
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/message")
				toConn.Close()
				<-done
				fromConn.Close()
			})
		}
	}
}

// Sixty-four requests at a time, whose handlers wait for a millisecond. A handler that calls Done
// of its context passes the turn at once, another one when the timer notices it.
func BenchmarkWaiting(b *testing.B) {
	const n = 64
	var in strings.Builder
	for i := range n {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"m"}`+"\n", i)
	}
	for _, way := range []struct {
		name string
		wait func(ctx context.Context)
	}{
		{"done", func(ctx context.Context) {
			select {
			case <-ctx.Done():
			case <-time.After(time.Millisecond):
			}
		}},
		{"sleep", func(context.Context) { time.Sleep(time.Millisecond) }},
	} {
		b.Run(way.name, func(b *testing.B) {
			for b.Loop() {
				conn := NewConn(jsonrpc.NewLines(strings.NewReader(in.String()), io.Discard, jsonrpc.LinesOptions{}), Options{Handle: func(ctx context.Context, req *Request) (any, error) {
					req.allowConcurrent()
					way.wait(ctx)
					return nil, nil
				}})
				if err := conn.Run(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
