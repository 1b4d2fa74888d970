package mcphttp

import (
	"log/slog"
	"net"
	"net/http"
)

// A guard checks requests before a handler gets them.
type guard struct {
	ServeOptions
	handler http.Handler
	origins *originPolicy
	headers guardHeaders
}

// guardHeaders are header values that are the same for all responses.
type guardHeaders struct {
	noStore, noSniff, close []string
}

// newGuard returns a guard of h at a server that listens on addr, or nil if that is not known yet.
func newGuard(h http.Handler, o ServeOptions, addr net.Addr) (*guard, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	origins, err := newOriginPolicy(o.Origins, o.Hosts, addr)
	if err != nil {
		return nil, err
	}
	origins.authenticated = len(o.Gates) > 0
	return &guard{
		ServeOptions: o, handler: h, origins: origins,
		headers: guardHeaders{[]string{"no-store"}, []string{"nosniff"}, []string{"close"}},
	}, nil
}

// ServeHTTP implements [http.Handler].
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.Logger.Enabled(r.Context(), slog.LevelDebug) {
		g.serveLogged(w, r)
		return
	}
	g.serve(w, r)
}

// serve passes a request to the handler, or refuses it.
func (g *guard) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	if r.Method != http.MethodPost || r.URL.Path != g.Path {
		g.setNoStore(header) // browsers do not cache responses to POST, and the handler's have a Content-Type
	}
	if r.TransferEncoding != nil {
		// There may have been a Content-Length too, which net/http drops: do not trust what follows such a request.
		header["Connection"] = g.headers.close
	}
	if err := g.origins.admit(header, r); err != nil {
		g.refuse(w, r, http.StatusForbidden, g.advise(err))
		return
	}
	if r.URL.Path != g.Path {
		g.serveExtra(w, r)
		return
	}
	if preflight(w, r) {
		return
	}
	if len(g.Gates) > 0 {
		if r = g.authenticate(w, r); r == nil {
			return
		}
	}
	clearReadDeadline(w, r)
	g.handler.ServeHTTP(w, r)
}

// setNoStore keeps browsers from caching a response, and from guessing its type.
func (g *guard) setNoStore(header http.Header) {
	header["Cache-Control"] = g.headers.noStore
	header["X-Content-Type-Options"] = g.headers.noSniff
}

// serveExtra serves a path other than the handler's.
func (g *guard) serveExtra(w http.ResponseWriter, r *http.Request) {
	page := g.Extra[r.URL.Path]
	switch {
	case page != nil:
		if !preflight(w, r) {
			page.ServeHTTP(w, r)
		}
	case g.Health && r.URL.Path == HealthPath:
		serveHealth(w, r)
	default:
		g.refuse(w, r, http.StatusNotFound, g.advise(&PathError{r.URL.Path, g.Path}))
	}
}

// advise returns the message for a refused request, with the remedy.
func (g *guard) advise(err error) string {
	if remedy := g.Remedy(err); remedy != "" {
		return err.Error() + "; " + remedy
	}
	return err.Error()
}

func serveHealth(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Write([]byte("ok\n"))
}
