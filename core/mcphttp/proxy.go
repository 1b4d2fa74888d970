package web

import (
	"net/http"
	"strings"

	"github.com/petrock/petrock/core/auth"
)

// Client tells clients apart at a server that something stands in front of, for limits that each has of its own: by who they are, or
// else by the last address in X-Forwarded-For, which is where what stands in front was called from. What a client wrote there
// itself is before it. Where there is neither, all are one.
func Client(r *http.Request) string {
	if id := auth.From(r.Context()); id != nil {
		return id.Principal()
	}
	lines := r.Header["X-Forwarded-For"]
	if len(lines) == 0 {
		return ""
	}
	line := lines[len(lines)-1]
	return strings.TrimSpace(line[strings.LastIndexByte(line, ',')+1:])
}
