package mcphttp

import (
	"net/http"
	"strings"

	"github.com/petrock/petrock/core/auth"
)

// ForwardedClient identifies the clients of a server behind a proxy, see [Options].Client: by the identity of the caller,
// or else by the last address in X-Forwarded-For, which the proxy appended. Clients may forge the addresses before it.
func ForwardedClient(r *http.Request) string {
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
