package main

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/petrock/petrock/bench/internal/canned"
)

const maxBody = 64 << 10 // bytes

// A buffer holds one request and its response.
type buffer struct{ in, out []byte }

// newHandler returns a handler that sends canned responses. It reads the body into a pooled buffer
// and parses only the id: a server on net/http can hardly do less.
func newHandler() http.Handler {
	buffers := sync.Pool{New: func() any { return &buffer{in: make([]byte, maxBody)} }}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b := buffers.Get().(*buffer)
		defer buffers.Put(b)
		n, err := io.ReadFull(r.Body, b.in[:min(max(r.ContentLength, 0), maxBody)])
		if err != nil && !errors.Is(err, io.EOF) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		stateless := r.Header["Mcp-Method"] != nil
		if stateless {
			b.out = canned.AppendStateless(b.out[:0], b.in[:n])
		} else {
			b.out = canned.Append(b.out[:0], b.in[:n])
		}
		if len(b.out) == 0 {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		header := w.Header()
		header["Content-Type"] = []string{"application/json"}
		header["Content-Length"] = []string{strconv.Itoa(len(b.out))}
		if !stateless && r.Header["Mcp-Session-Id"] == nil {
			header["Mcp-Session-Id"] = []string{"one-for-all"}
		}
		w.Write(b.out)
	})
}
