package web

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
)

// A door lets requests through to a handler, or does not.
type door struct {
	Options
	handler http.Handler
	origins *origins
	noStore []string // values of headers that are always the same
	noSniff []string
	close   []string
}

// newDoor returns a door to h, at a server that listens on addr.
func newDoor(h http.Handler, o Options, addr net.Addr) (*door, error) {
	if err := o.checkPlain(); err != nil {
		return nil, err
	}
	origins, err := newOrigins(o.Origins, o.Hosts, addr)
	if err != nil {
		return nil, err
	}
	origins.open = len(o.Gates) == 0
	return &door{
		Options: o, handler: h, origins: origins,
		noStore: []string{"no-store"}, noSniff: []string{"nosniff"}, close: []string{"close"},
	}, nil
}

// ServeHTTP implements [http.Handler].
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if d.Logger.Enabled(r.Context(), slog.LevelDebug) {
		d.logged(w, r)
		return
	}
	d.serve(w, r)
}

// serve lets a request through, or refuses it.
func (d *door) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	if r.Method != http.MethodPost || r.URL.Path != d.Path {
		d.guard(header) // an answer of the handler to a POST is kept by nobody, and says what it is
	}
	if r.TransferEncoding != nil {
		// There may have been a Content-Length too, which net/http leaves out: what comes after such a request is not to be trusted.
		header["Connection"] = d.close
	}
	if !d.origins.host(r.Host) {
		d.refuse(w, r, http.StatusForbidden, unlisted("the Host %q is not served here", r.Host, d.HostFlag))
		return
	}
	sent := r.Header["Origin"]
	if len(sent) > 0 {
		if len(sent) > 1 || !d.origins.origin(sent[0], r.Host) {
			d.refuse(w, r, http.StatusForbidden, unlisted("pages of the Origin %q may not call", sent[0], d.OriginFlag))
			return
		}
		header["Access-Control-Allow-Origin"] = sent
		header["Access-Control-Expose-Headers"] = []string{exposed}
		header["Vary"] = []string{"Origin"}
	}
	if r.URL.Path != d.Path {
		d.serveExtra(w, r)
		return
	}
	if len(sent) > 0 && preflight(w, r) {
		return
	}
	if len(d.Gates) > 0 {
		if r = d.enter(w, r); r == nil {
			return
		}
	}
	timeBody(w, r)
	d.handler.ServeHTTP(w, r)
}

// guard keeps browsers from keeping an answer, and from taking it for something else.
func (d *door) guard(header http.Header) {
	header["Cache-Control"] = d.noStore
	header["X-Content-Type-Options"] = d.noSniff
}

// serveExtra serves what is beside the handler, and refuses what is not there.
func (d *door) serveExtra(w http.ResponseWriter, r *http.Request) {
	page := d.Extra[r.URL.Path]
	switch {
	case page != nil:
		if !preflight(w, r) {
			page.ServeHTTP(w, r)
		}
	case d.Health && r.URL.Path == healthPath:
		health(w, r)
	default:
		message := "there is nothing here; the endpoint is " + d.Path
		if r.URL.Path == healthPath && d.HealthFlag != "" {
			message = healthPath + " is there if the server is started with " + d.HealthFlag
		}
		d.refuse(w, r, http.StatusNotFound, message)
	}
}

// unlisted says in the words of format that the value of a header is not listed, and with which flag it would be.
func unlisted(format, value, flag string) string {
	message := fmt.Sprintf(format, clip(value))
	if flag != "" {
		message += "; who runs the server can allow it with " + flag
	}
	return message
}

// health says that the server is there.
func health(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Write([]byte("ok\n"))
}
