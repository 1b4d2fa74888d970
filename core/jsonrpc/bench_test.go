package jsonrpc

import (
	"strings"
	"testing"
)

func BenchmarkParse(b *testing.B) {
	line := []byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"text":"` + strings.Repeat("x", 200) + `"}}`)
	b.ReportAllocs()
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		var m Message
		if m.Parse(line); m.Fault() != nil {
			b.Fatal(m.Fault())
		}
	}
}

func BenchmarkScanner(b *testing.B) {
	line := []byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"text":"` + strings.Repeat("x", 64<<10) + `"}}`)
	b.ReportAllocs()
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		var s envelopeScanner
		s.feed(line)
	}
}
