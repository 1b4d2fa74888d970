package web

import (
	"net/http"
	"strings"
)

// What pages of other origins may use.
const (
	methods   = "GET, POST, DELETE"
	headers   = "Content-Type, Accept, Authorization, X-Api-Token, Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Last-Event-ID"
	exposed   = "Mcp-Session-Id, WWW-Authenticate, Retry-After"
	maxAge    = "7200" // seconds
	parameter = "Mcp-Param-"
)

// maxParameters is how many headers with parameters of a tool a page may ask for at once.
const maxParameters = 100

// preflight answers the question of a browser whether a page may send a request, if r is one. The origin has been checked.
func preflight(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodOptions || r.Header["Origin"] == nil || r.Header["Access-Control-Request-Method"] == nil {
		return false
	}
	header := w.Header()
	header.Set("Access-Control-Allow-Methods", methods)
	header.Set("Access-Control-Allow-Headers", headers+parameters(r.Header["Access-Control-Request-Headers"]))
	header.Set("Access-Control-Max-Age", maxAge)
	header.Set("Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// parameters are those of the headers asked for that carry parameters of tools, to be added to a list.
func parameters(asked []string) string {
	var found strings.Builder
	n := 0
	for _, line := range asked {
		for name := range strings.SplitSeq(line, ",") {
			name = strings.TrimSpace(name)
			if len(name) <= len(parameter) || !strings.EqualFold(name[:len(parameter)], parameter) || !isToken(name) || n == maxParameters {
				continue
			}
			n++
			found.WriteString(", " + name)
		}
	}
	return found.String()
}

// isToken reports whether a text is a token of HTTP, as the name of a header is.
func isToken(text string) bool {
	for _, c := range []byte(text) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return text != ""
}
