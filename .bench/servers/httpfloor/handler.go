package main

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/petrock/petrock/bench/internal/canned"
)

// maxBody is the longest message that is taken.
const maxBody = 64 << 10

// A buffer is what one answer needs.
type buffer struct{ in, out []byte }

// newHandler answers canned bytes over net/http, with a length. The body is read into a buffer that
// is used again, and looked through for the id alone: a server on net/http can hardly do less.
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
