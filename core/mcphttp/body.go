package mcphttp

import (
	"io"
	"net/http"
	"time"
)

// clearReadDeadline removes the read deadline of a request once its body has been read: the response may take any time.
func clearReadDeadline(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		http.NewResponseController(w).SetReadDeadline(time.Time{})
		return
	}
	r.Body = &timedBody{r.Body, w}
}

// A timedBody removes the read deadline at its end.
type timedBody struct {
	io.ReadCloser
	w http.ResponseWriter
}

// Read implements [io.Reader].
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF && b.w != nil {
		http.NewResponseController(b.w).SetReadDeadline(time.Time{})
		b.w = nil
	}
	return n, err
}
