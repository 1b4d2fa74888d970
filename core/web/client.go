package web

import (
	"net"
	"net/http"
	"strings"

	"github.com/petrock/petrock/core/auth"
)

// Client returns a function that tells clients apart, for limits that each has of its own: by who they are, or else by the address
// that they call from. With inFront that is the last one in X-Forwarded-For, which is what stands in front of the server
// has seen; what a client wrote there itself is before it.
func Client(inFront bool) func(r *http.Request) string {
	return func(r *http.Request) string {
		if id := auth.From(r.Context()); id != nil {
			return id.Principal()
		}
		if lines := r.Header["X-Forwarded-For"]; inFront && len(lines) > 0 {
			line := lines[len(lines)-1]
			return strings.TrimSpace(line[strings.LastIndexByte(line, ',')+1:])
		}
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			return r.RemoteAddr
		}
		return host
	}
}
