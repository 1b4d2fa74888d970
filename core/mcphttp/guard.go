package mcphttp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// A guard checks requests before the service gets them.
type guard struct {
	ServeOptions
	service
	at       site
	draining atomic.Bool // the server stops soon
}

// ServeHTTP implements [http.Handler].
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	c := connOf(r)
	switch {
	case c == nil:
	case r.Body == nil || r.Body == http.NoBody:
		c.setPhase(phaseHandler)
	default:
		c.setPhase(phaseBody)
		r.Body = &timedBody{r.Body, c}
	}
	// POST responses need neither header: they are not cached, and the handler sets their
	// Content-Type.
	if r.Method != http.MethodPost || r.URL.Path != g.Path {
		setNoStore(header)
	}
	if r.TransferEncoding != nil || g.draining.Load() {
		// net/http drops a Content-Length that was sent with a TransferEncoding, so the end of this
		// request is ambiguous: do not read another request from the connection.
		header.Set("Connection", "close")
	}
	if reason, option := g.origins.admit(header, r, g.at); reason != "" {
		g.refuse(w, r, http.StatusForbidden, reason+g.remedy(option))
		return
	}
	if c != nil && c.overLimit {
		header.Set("Connection", "close")
		if !g.Health || !isHealthPath(r.URL.Path) {
			g.refuse(w, r, http.StatusServiceUnavailable, fmt.Sprintf("the server has reached its limit of %d connections; retry later", g.MaxConns))
			return
		}
	}
	if r.URL.Path != g.Path {
		g.serveOtherPath(w, r)
		return
	}
	if preflight(w, r) {
		return
	}
	if len(g.Gates) > 0 {
		if r = g.authenticate(w, r); r == nil {
			return
		}
	}
	if c != nil {
		c.served.Store(true)
	}
	g.Handler.ServeHTTP(w, r)
}

// setNoStore keeps browsers from caching a response, and from guessing its type.
func setNoStore(header http.Header) {
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
}

func (g *guard) serveOtherPath(w http.ResponseWriter, r *http.Request) {
	page, path := g.Extra[r.URL.Path], r.URL.Path
	switch {
	case page != nil:
		if !preflight(w, r) {
			page.ServeHTTP(w, r)
		}
	case g.Health && isHealthPath(path):
		g.serveHealth(w, r)
	default:
		reason := fmt.Sprintf("%s does not exist; the endpoint is %s", clip(path), g.Path)
		if isHealthPath(path) {
			reason += g.remedy("Health")
		}
		g.refuse(w, r, http.StatusNotFound, reason)
	}
}

// remedy returns how to allow a request, as the end of an error message.
func (g *guard) remedy(option string) string {
	if g.Remedy == nil {
		return ""
	}
	return "; " + g.Remedy(option)
}

func isHealthPath(path string) bool { return path == HealthPath || path == ReadyPath }

func (g *guard) serveHealth(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if r.URL.Path == HealthPath {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Write([]byte("ok\n"))
		return
	}
	answer := struct {
		Status  string   `json:"status"`
		Reasons []string `json:"reasons,omitempty"`
	}{Status: "ready"}
	status := http.StatusOK
	unready, degraded := g.Readiness()
	if g.draining.Load() {
		unready = append(slices.Clip(unready), "draining")
	}
	switch {
	case len(unready) > 0:
		answer.Status, status = "unavailable", http.StatusServiceUnavailable
	case len(degraded) > 0:
		answer.Status = "degraded"
		if r.URL.Query().Has("strict") {
			status = http.StatusServiceUnavailable
		}
	}
	answer.Reasons = slices.Concat(unready, degraded)
	text, _ := strictjson.Marshal(answer) // strings always encode
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(text, '\n'))
}

// authenticate returns the request with the identity of its caller. If no gate accepts it,
// authenticate responds and returns nil.
func (g *guard) authenticate(w http.ResponseWriter, r *http.Request) *http.Request {
	for _, gate := range g.Gates {
		id, err := gate.Authenticate(r)
		if refusal, ok := errors.AsType[*auth.Refusal](err); ok {
			g.challenge(w, r, refusal.Code, refusal.Message)
			return nil
		}
		if err != nil {
			g.Logger.Error("authenticate", "error", err)
			g.refuse(w, r, http.StatusServiceUnavailable, "check credentials: temporary failure; retry later")
			return nil
		}
		if id != nil {
			return r.WithContext(auth.With(r.Context(), id))
		}
	}
	var accepted []string
	for _, gate := range g.Gates {
		accepted = append(accepted, gate.Credentials())
	}
	send := "send " + strings.Join(accepted, ", or ")
	if r.Header["Authorization"] != nil || r.Header["X-Api-Token"] != nil {
		g.challenge(w, r, "invalid_token", "invalid credentials; "+send)
	} else {
		g.challenge(w, r, "", "authentication required; "+send)
	}
	return nil
}

// challenge refuses a request with the challenges of all gates. code is an error code of RFC 6750,
// or "".
func (g *guard) challenge(w http.ResponseWriter, r *http.Request, code, message string) {
	for _, gate := range g.Gates {
		w.Header().Add("WWW-Authenticate", gate.Challenge(code, nil))
	}
	status := http.StatusUnauthorized
	switch code {
	case "invalid_request":
		status = http.StatusBadRequest
	case "insufficient_scope":
		status = http.StatusForbidden
	}
	g.refuse(w, r, status, message)
}

// refuse responds with a JSON-RPC error without an id, and closes the connection.
func (g *guard) refuse(w http.ResponseWriter, r *http.Request, status int, message string) {
	client := ""
	if g.BehindProxy {
		client = ForwardedClient(r)
	}
	setNoStore(w.Header())
	w.Header().Set("Connection", "close") // makes repeated attempts expensive for the client
	refuse(g.Logger, w, r, client, invalid(status, jsonrpc.ID{}, "%s", message))
}

// A timedBody stops the body timeout of its connection when it has been read.
type timedBody struct {
	io.ReadCloser
	conn *conn
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.conn.phase.CompareAndSwap(phaseBody, phaseHandler) // unless the client closed its side
	}
	return n, err
}
