package mcp

import (
	"context"
	"net/http"
	"time"
)

// HTTPOptions are the choices for [Server.HTTP]. The zero value is a good one.
type HTTPOptions struct {
	MaxBody         int64                        // the largest message taken, in bytes; 0 means as for other transports
	MaxSessions     int                          // how many sessions there may be; 0 means 10,000
	MaxSessionsEach int                          // and of one client; 0 means 1,000
	MaxCalls        int                          // how many requests may be in flight; 0 means 1,000
	SessionIdle     time.Duration                // a session without any word of its client for so long ends; 0 means 30 minutes
	ReplayBuffer    int                          // what is kept of a session's streams for a client that lost one, in bytes; 0 means 1 MiB
	KeepAlive       time.Duration                // how often something goes over a stream that is quiet; 0 means 15 seconds
	Challenge       func(scopes []string) string // the WWW-Authenticate for a caller who lacks scopes; nil means none
	Client          func(r *http.Request) string // whose session it is, for MaxSessionsEach; nil means the address
}

// An HTTPHandler serves MCP over streamable HTTP, in every revision, at whatever path it is asked.
type HTTPHandler struct{}

// HTTP returns a handler that serves s.
func (s *Server) HTTP(o HTTPOptions) *HTTPHandler { return &HTTPHandler{} }

// ServeHTTP implements [http.Handler].
func (h *HTTPHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	http.Error(w, "not yet", http.StatusNotImplemented)
}

// Shutdown ends all sessions and streams: calls in flight may finish until ctx ends, further ones are refused. It returns nil if
// all have finished.
func (h *HTTPHandler) Shutdown(ctx context.Context) error { return nil }

// Suspend lets the client that waits for the call ctx belongs to go away and come back for the answer: its stream ends, and it asks again after retry.
// It does nothing where that is not possible: over other transports, and in revisions other than 2025-11-25.
func Suspend(ctx context.Context, retry time.Duration) {}
