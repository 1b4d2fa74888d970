package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/petrock/petrock/core/auth"
)

// enter asks the gates who makes a request, and returns it with their identity; or it answers, and returns nil.
func (d *door) enter(w http.ResponseWriter, r *http.Request) *http.Request {
	for _, gate := range d.Gates {
		id, err := gate.Enter(r)
		var refusal *auth.Refusal
		switch {
		case errors.As(err, &refusal):
			d.challenge(w, r, refusal.Why, refusal.Message)
			return nil
		case err != nil:
			d.Logger.Error("telling who calls", "error", err)
			w.Header().Set("Retry-After", "5")
			d.refuse(w, r, http.StatusServiceUnavailable, "it cannot be told now who you are; try again")
			return nil
		case id != nil:
			return r.WithContext(auth.With(r.Context(), id))
		}
	}
	var wants []string
	for _, gate := range d.Gates {
		wants = append(wants, gate.Wants())
	}
	send := "send " + strings.Join(wants, ", or ")
	if r.Header["Authorization"] != nil || r.Header["X-Api-Token"] != nil {
		d.challenge(w, r, "invalid_token", "what was sent to say who you are is not good here; "+send)
	} else {
		d.challenge(w, r, "", "say who you are: "+send)
	}
	return nil
}

// challenge refuses a request for a reason of RFC 6750, or for none, with the challenges of all gates.
func (d *door) challenge(w http.ResponseWriter, r *http.Request, why, message string) {
	for _, gate := range d.Gates {
		w.Header().Add("WWW-Authenticate", gate.Challenge(why, nil))
	}
	status := http.StatusUnauthorized
	switch why {
	case "invalid_request":
		status = http.StatusBadRequest
	case "insufficient_scope":
		status = http.StatusForbidden
	}
	d.refuse(w, r, status, message)
}

// refuse answers a request that goes no further. The body is an error of JSON-RPC that belongs to no call.
func (d *door) refuse(w http.ResponseWriter, r *http.Request, status int, message string) {
	d.Logger.Debug("refused", "method", r.Method, "status", status, "why", message, "from", r.RemoteAddr)
	text, _ := json.Marshal(message) // a string, which cannot fail
	d.guard(w.Header())
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write([]byte(`{"jsonrpc":"2.0","error":{"code":-32600,"message":` + string(text) + `}}`))
}
