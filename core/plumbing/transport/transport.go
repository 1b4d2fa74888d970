// Package transport is plumbing for petrock's own transports and generators; servers do not need
// it. It is the interface between package mcp and a transport that receives each message
// separately, such as package mcphttp: an [Exchange] answers a request and describes its origin,
// and [HeaderArguments] finds the arguments that HTTP headers repeat.
package transport

import (
	"encoding/json"
	"time"

	"github.com/petrock/petrock/core/plumbing/peer"
)

// An Exchange answers a message of mcp.Session.Receive over the transport that the message came
// from, and describes where it came from. The transport implements it. Several goroutines may use
// it until Respond has been called.
type Exchange interface {
	peer.Responder

	// CheckRequest compares a request of revision 2026-07-28 with data of the transport, such as
	// HTTP headers. An error refuses the request before its handler is called.
	CheckRequest(r Request) error

	// Reserve counts n bytes of memory for the session until it ends, or for the request if it has
	// no session. A negative n releases memory earlier. An error refuses the request.
	Reserve(n int) error

	// Origin returns where the request comes from.
	Origin() Origin

	// Suspend lets the client disconnect and fetch the response after retry, if the transport and
	// the client support that. Otherwise it does nothing.
	Suspend(retry time.Duration)
}

// An Origin describes where a request comes from, as the transport knows it.
type Origin struct {
	Caller      string // name or address of the client, for the log
	Session     string // as the log shows it, which does not give access to it; may be empty
	Traceparent string // header of W3C Trace Context, as the client sent it; may be empty
	Version     string // the revision that the transport names, such as in a header; may be empty
}

// A Request is a request of revision 2026-07-28 as its params describe it, for
// [Exchange].CheckRequest.
type Request struct {
	Version   string // the revision that _meta names; empty if it names none
	Method    string
	Target    string // the name of the tool or prompt, or the URI of the resource
	HasTarget bool   // the params name the target, as a string
	Arguments json.RawMessage
	Headers   []HeaderArgument // the arguments that HTTP headers repeat
}

// A StatelessError is the error of a request of revision 2026-07-28. Over HTTP, it determines the
// status code.
type StatelessError struct {
	Err       error
	Malformed bool // the revision or the capabilities in _meta are missing or invalid
}

func (e *StatelessError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *StatelessError) Unwrap() error { return e.Err }
