package mcphttp

import (
	"net/http"
	"strings"
)

// Pages of other origins may use these.
const (
	corsMethods   = "GET, POST, DELETE"
	corsHeaders   = "Content-Type, Accept, Authorization, X-Api-Token, Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Last-Event-ID"
	corsExposed   = "Mcp-Session-Id, WWW-Authenticate, Retry-After"
	corsMaxAge    = "7200" // seconds
	corsParameter = "Mcp-Param-"
)

// maxParameters limits the headers with arguments of a tool that a page may ask for at once.
const maxParameters = 100

// preflight answers a CORS preflight request, and reports whether r is one. Its origin has been checked.
func preflight(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodOptions || r.Header["Origin"] == nil || r.Header["Access-Control-Request-Method"] == nil {
		return false
	}
	header := w.Header()
	header.Set("Access-Control-Allow-Methods", corsMethods)
	header.Set("Access-Control-Allow-Headers", corsHeaders+corsParameters(r.Header["Access-Control-Request-Headers"]))
	header.Set("Access-Control-Max-Age", corsMaxAge)
	header.Set("Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// corsParameters returns the requested headers that carry arguments of tools, to be appended to a list.
func corsParameters(requested []string) string {
	var found strings.Builder
	n := 0
	for _, line := range requested {
		for name := range strings.SplitSeq(line, ",") {
			name = strings.TrimSpace(name)
			if len(name) <= len(corsParameter) || !strings.EqualFold(name[:len(corsParameter)], corsParameter) || !isToken(name) || n == maxParameters {
				continue
			}
			n++
			found.WriteString(", " + name)
		}
	}
	return found.String()
}

// isToken reports whether text is a token of HTTP, as names of headers are.
func isToken(text string) bool {
	for _, c := range []byte(text) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return text != ""
}
