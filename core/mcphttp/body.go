package web

import (
	"io"
	"net/http"
	"time"
)

// timeBody takes the time limit for reading away from a request whose body has been read, so that its answer may take as long
// as it likes. Until then the limit is that of the server, for the header and the body together.
func timeBody(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		http.NewResponseController(w).SetReadDeadline(time.Time{})
		return
	}
	r.Body = &body{r.Body, w}
}

// A body takes the time limit away when it is at its end.
type body struct {
	io.ReadCloser
	w http.ResponseWriter
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF && b.w != nil {
		http.NewResponseController(b.w).SetReadDeadline(time.Time{}) // without one it goes on as it is
		b.w = nil
	}
	return n, err
}
