package mcphttp

import (
	"net/http"
	"strings"
	"time"
)

// serveLogged serves a request, and logs it and the status of its response. It logs neither contents nor callers.
func (g *guard) serveLogged(w http.ResponseWriter, r *http.Request) {
	began, shown := time.Now(), []any{"method", r.Method, "path", clip(r.URL.Path)}
	if method := r.Header.Get("Mcp-Method"); method != "" {
		shown = append(shown, "mcp", clip(method))
	}
	log := g.Logger.With(append(shown, "from", r.RemoteAddr)...)
	log.Debug("request")
	recorder := &statusRecorder{ResponseWriter: w}
	defer func() { log.Debug("answered", "status", recorder.status, "took", time.Since(began)) }()
	g.serve(recorder, r)
}

// A statusRecorder records the status of a response: 0 if there was none.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (s *statusRecorder) WriteHeader(status int) {
	if s.status == 0 {
		s.status = status
	}
	s.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (s *statusRecorder) Write(p []byte) (int, error) {
	if s.status == 0 {
		s.status = http.StatusOK
	}
	return s.ResponseWriter.Write(p)
}

// Unwrap is for [http.ResponseController].
func (s *statusRecorder) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// maxShown is how much of what a client sent is repeated to it or logged.
const maxShown = 200

// clip shortens what a client sent.
func clip(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown], "") + "…"
}
