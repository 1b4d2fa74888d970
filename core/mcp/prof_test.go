package mcp_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/jsonrpc"
)

func BenchmarkBurstOfCalls(b *testing.B) {
	const n = 64
	head := handshake
	var in strings.Builder
	for range n {
		in.WriteString(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add0","arguments":{"a":1.5,"b":2}}}` + "\n")
	}
	s := adders(b, 1)
	r := &loopReader{head: head, body: in.String(), n: b.N/n + 1}
	b.ReportAllocs()
	if err := s.Serve(context.Background(), jsonrpc.NewLines(r, io.Discard, jsonrpc.LinesOptions{})); err != nil {
		b.Fatal(err)
	}
}

type loopReader struct {
	head, body string
	n          int
}

func (l *loopReader) Read(p []byte) (int, error) {
	if l.head != "" {
		n := copy(p, l.head)
		l.head = l.head[n:]
		return n, nil
	}
	if l.n == 0 {
		return 0, io.EOF
	}
	l.n--
	return copy(p, l.body), nil
}
