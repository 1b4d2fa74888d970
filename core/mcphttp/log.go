package web

import (
	"net/http"
	"time"
)

// logged serves a request and logs that it came, and what came of it. Nothing of what is in it is logged, nor who sent it.
func (d *door) logged(w http.ResponseWriter, r *http.Request) {
	began, shown := time.Now(), []any{"method", r.Method, "path", clip(r.URL.Path)}
	if method := r.Header.Get("Mcp-Method"); method != "" {
		shown = append(shown, "mcp", clip(method))
	}
	log := d.Logger.With(append(shown, "from", r.RemoteAddr)...)
	log.Debug("request")
	answer := &seen{ResponseWriter: w}
	defer func() { log.Debug("answered", "status", answer.status, "took", time.Since(began)) }()
	d.serve(answer, r)
}

// A seen notes the status of an answer, which is 0 if there was none.
type seen struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (s *seen) WriteHeader(status int) {
	if s.status == 0 {
		s.status = status
	}
	s.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (s *seen) Write(p []byte) (int, error) {
	if s.status == 0 {
		s.status = http.StatusOK
	}
	return s.ResponseWriter.Write(p)
}

// Unwrap is for [http.ResponseController].
func (s *seen) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// maxShown is how much of what somebody sent is shown.
const maxShown = 200

// clip is as much of a text as is shown.
func clip(text string) string { return text[:min(len(text), maxShown)] }
