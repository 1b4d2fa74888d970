package auth

import "net/http"

// A Gate tells who makes an HTTP request.
type Gate interface {
	// Enter returns who makes the request. A nil identity without an error means that the request has no credentials that this gate
	// knows; another gate may. An error is a [*Refusal], or a fault of ours that says nothing about the caller.
	Enter(r *http.Request) (*Identity, error)

	// Challenge is the value of WWW-Authenticate for somebody who has shown nothing that is good (a 401) and, with
	// scopes, for somebody who is known and needs more of them (a 403). why is an error code of RFC 6750,
	// such as invalid_token, or "".
	Challenge(why string, scopes []string) string

	// Wants is what a caller is to send, for people: "a key as X-Api-Token". No secret is in it.
	Wants() string
}

// A Refusal is why somebody may not come in.
type Refusal struct {
	Why     string // an error code of RFC 6750: invalid_token, invalid_request or insufficient_scope
	Message string // what the caller is told; no secret is in it
}

func (e *Refusal) Error() string { return e.Message }
