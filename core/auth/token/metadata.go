package token

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// WellKnown is the path below which clients look for the metadata of a server.
const WellKnown = "/.well-known/oauth-protected-resource"

// A document is the metadata of a server, as RFC 9728 has it.
type document struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported,omitempty"`
	Methods  []string `json:"bearer_methods_supported"`
}

// describe is the metadata as it is served.
func describe(o Options) ([]byte, error) {
	d := document{Resource: o.Resource, Servers: o.Issuers, Methods: []string{"header"}}
	for _, scope := range slices.Concat(o.Required, o.Scopes) {
		// Whether a client gets a token that lasts is between it and the issuer.
		if scope != "offline_access" && !slices.Contains(d.Scopes, scope) {
			d.Scopes = append(d.Scopes, scope)
		}
	}
	text, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("writing the metadata of %s: %w", o.Resource, err)
	}
	return text, nil
}

// pageOf is the path of the metadata of a resource.
func pageOf(resource *url.URL) string {
	return WellKnown + strings.TrimSuffix(resource.Path, "/")
}

// metadataURL is where clients find the metadata.
func (g *Gate) metadataURL() string {
	u, err := url.Parse(g.resource)
	if err != nil {
		return "" // New has read it
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: g.page}).String()
}

// Metadata is the page that tells clients who gives tokens out for this server, and its path. Clients that do not find it
// there look at [WellKnown] itself.
func (g *Gate) Metadata() (path string, h http.Handler) {
	return g.page, http.HandlerFunc(g.serveMetadata)
}

// serveMetadata answers with the metadata, which is no secret: scripts of any origin may read it.
func (g *Gate) serveMetadata(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Access-Control-Allow-Origin", "*")
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions: // what browsers ask first, if a script sends a header such as MCP-Protocol-Version
		head.Set("Access-Control-Allow-Methods", "GET, HEAD")
		head.Set("Access-Control-Allow-Headers", "*")
		head.Set("Access-Control-Max-Age", "86400")
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		head.Set("Allow", "GET, HEAD, OPTIONS")
		http.Error(w, "this page is for reading", http.StatusMethodNotAllowed)
		return
	}
	head.Set("Content-Type", "application/json")
	head.Set("Cache-Control", "public, max-age=3600")
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Content-Length", strconv.Itoa(len(g.metadata)))
	if r.Method == http.MethodGet {
		w.Write(g.metadata)
	}
}
