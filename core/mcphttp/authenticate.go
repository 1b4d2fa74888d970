package mcphttp

import (
	"errors"
	"net/http"
	"strings"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/jsonrpc"
)

// authenticate returns the request with the identity of its caller. If no gate accepts it, authenticate responds and
// returns nil.
func (g *guard) authenticate(w http.ResponseWriter, r *http.Request) *http.Request {
	for _, gate := range g.Gates {
		id, err := gate.Enter(r)
		if refusal, ok := errors.AsType[*auth.Refusal](err); ok {
			g.challenge(w, r, refusal.Why, refusal.Message)
			return nil
		}
		if err != nil {
			g.Logger.Error("authenticate", "error", err)
			w.Header().Set("Retry-After", "5")
			g.refuse(w, r, http.StatusServiceUnavailable, "credentials cannot be checked now; retry later")
			return nil
		}
		if id != nil {
			return r.WithContext(auth.With(r.Context(), id))
		}
	}
	var wants []string
	for _, gate := range g.Gates {
		wants = append(wants, gate.Wants())
	}
	send := "send " + strings.Join(wants, ", or ")
	if r.Header["Authorization"] != nil || r.Header["X-Api-Token"] != nil {
		g.challenge(w, r, "invalid_token", "invalid credentials; "+send)
	} else {
		g.challenge(w, r, "", "authentication required; "+send)
	}
	return nil
}

// challenge refuses a request with the challenges of all gates. why is an error code of RFC 6750, or "".
func (g *guard) challenge(w http.ResponseWriter, r *http.Request, why, message string) {
	for _, gate := range g.Gates {
		w.Header().Add("WWW-Authenticate", gate.Challenge(why, nil))
	}
	status := http.StatusUnauthorized
	switch why {
	case "invalid_request":
		status = http.StatusBadRequest
	case "insufficient_scope":
		status = http.StatusForbidden
	}
	g.refuse(w, r, status, message)
}

// refuse responds with an error of JSON-RPC that belongs to no call.
func (g *guard) refuse(w http.ResponseWriter, r *http.Request, status int, message string) {
	g.Logger.Debug("refused", "method", r.Method, "status", status, "why", message, "from", r.RemoteAddr)
	g.setNoStore(w.Header())
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(jsonrpc.AppendError(nil, jsonrpc.ID{}, jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s", message)))
}
