package mcphttp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/transport"
	"github.com/petrock/petrock/core/strictjson"
)

// An originPolicy admits or refuses requests by their Host and Origin headers.
type originPolicy struct {
	err        error           // an [*OptionError], for which every request is refused
	hosts      map[string]bool // of this machine and listed, in lower case, with or without a port
	listed     map[string]bool // origins, in lower case; "*" allows all
	sameOrigin bool            // refuse other ports of this machine
}

// A site holds what else, apart from its headers, decides whether to admit a request.
type site struct {
	addr          net.Addr // where the server got the request; nil if not known
	authenticated bool     // callers are authenticated
}

// admit returns why a request must be refused, and the option that would allow it, or "". If an
// admitted request has an Origin, admit adds CORS headers to the header of the response.
func (p *originPolicy) admit(header http.Header, r *http.Request, at site) (reason, option string) {
	if p.err != nil {
		return p.err.Error(), ""
	}
	if !p.allowsHost(r.Host, at) {
		return fmt.Sprintf("host %q is not allowed", clip(r.Host)), "Hosts"
	}
	sent := r.Header["Origin"]
	if len(sent) == 0 {
		return "", ""
	}
	if len(sent) > 1 || !p.allowsOrigin(sent[0], r.Host, at) {
		return fmt.Sprintf("origin %q is not allowed", clip(sent[0])), "Origins"
	}
	header["Access-Control-Allow-Origin"] = sent
	header["Access-Control-Expose-Headers"] = []string{"Mcp-Session-Id, WWW-Authenticate, Retry-After"}
	header["Vary"] = []string{"Origin"}
	return "", ""
}

// allowsHost reports whether a Host header is allowed. On addresses other than loopback any name is
// allowed: the server or a proxy authenticates callers, and a proxy may use another name. Browsers
// cannot connect to Unix sockets.
func (p *originPolicy) allowsHost(host string, at site) bool {
	return loopbackIP(at.addr) == nil || p.knowsHost(host, at)
}

// knowsHost reports whether host is listed or names this machine.
func (p *originPolicy) knowsHost(host string, at site) bool {
	host = strings.ToLower(host)
	name, ok := withoutPort(host)
	if !ok {
		return false
	}
	if p.hosts[name] || p.hosts[host] {
		return true
	}
	ip := loopbackIP(at.addr) // such as 127.0.0.2
	return ip != nil && net.JoinHostPort(ip.String(), "") == name+":"
}

// allowsOrigin reports whether pages of origin may call the server. host is the Host header, which
// allowsHost has accepted. The origin of host itself is allowed. Without authentication the host
// must also be known, because any page can make its own name resolve to this server (DNS
// rebinding).
func (p *originPolicy) allowsOrigin(origin, host string, at site) bool {
	origin = strings.ToLower(origin)
	if p.listed["*"] || p.listed[origin] {
		return true
	}
	scheme, hostPort, ok := strings.Cut(origin, "://")
	if !ok || scheme != "http" && scheme != "https" {
		return false
	}
	name, ok := withoutPort(hostPort)
	if !ok {
		return false
	}
	if !p.sameOrigin && loopbackIP(at.addr) != nil && (name == "localhost" || name == "127.0.0.1" || name == "[::1]") {
		return true
	}
	if !at.authenticated && !p.knowsHost(host, at) {
		return false
	}
	return withoutDefaultPort(origin) == withoutDefaultPort(scheme+"://"+strings.ToLower(host))
}

// loopbackIP returns the IP address of a loopback address, or nil for any other address.
func loopbackIP(addr net.Addr) net.IP {
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
		return tcp.IP
	}
	return nil
}

// withoutPort removes the optional port of a host. IPv6 addresses keep their brackets. It reports
// whether the host is valid.
func withoutPort(host string) (name string, ok bool) {
	end := strings.LastIndexByte(host, ':')
	if end < 0 || strings.HasSuffix(host, "]") {
		return host, isName(host)
	}
	name, port := host[:end], host[end+1:]
	isPort := len(port) > 0 && len(port) <= 5 && strings.Trim(port, "0123456789") == ""
	return name, isPort && isName(name)
}

// isName reports whether text can be a host without a port.
func isName(text string) bool {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		return ok && net.ParseIP(inner) != nil && strings.Contains(inner, ":")
	}
	return text != "" && !strings.ContainsAny(text, ":[]")
}

var defaultPorts = map[string]string{"http": ":80", "https": ":443"}

// withoutDefaultPort returns an origin as browsers send it.
func withoutDefaultPort(origin string) string {
	scheme, _, _ := strings.Cut(origin, "://")
	return strings.TrimSuffix(origin, defaultPorts[scheme])
}

// preflight answers a CORS preflight request, and reports whether r is one. The origin of r must
// have been checked. Its pages may send any header: which ones a tool needs depends on its schema.
func preflight(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodOptions || r.Header["Origin"] == nil || r.Header["Access-Control-Request-Method"] == nil {
		return false
	}
	header := w.Header()
	header.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	header.Set("Access-Control-Allow-Headers", strings.Join(r.Header["Access-Control-Request-Headers"], ", "))
	header.Set("Access-Control-Max-Age", "7200") // seconds
	header.Set("Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// maxShown limits the bytes of client input in errors and log lines.
const maxShown = 200

func clip(text string) string { return strictjson.Clip(text, maxShown) }

// CheckRequest implements [transport.Exchange]. Headers that repeat parts of a request must match
// them, so that proxies can rely on the headers.
func (e *exchange) CheckRequest(c transport.Request) error {
	switch {
	case e.version == "":
		return jsonrpc.Errorf(mcp.HeaderMismatch, "header MCP-Protocol-Version is missing; send MCP-Protocol-Version: %s", mcp.Latest)
	case c.Version == "":
		return nil // the session refuses a request without a revision
	case e.version != c.Version:
		return jsonrpc.Errorf(mcp.HeaderMismatch, "header MCP-Protocol-Version is %q, but the request has revision %q", clip(e.version), clip(c.Version))
	case mcp.Revision(c.Version) != mcp.Latest:
		return nil // the session refuses an unsupported revision
	}
	header := e.r.Header
	if err := checkHeader(header, "Mcp-Method", c.Method, true); err != nil {
		return err
	}
	if got := header["Mcp-Method"][0]; got != c.Method { // this header is never base64
		return jsonrpc.Errorf(mcp.HeaderMismatch, "header Mcp-Method is %q, but the request has %q", clip(got), clip(c.Method))
	}
	switch c.Method {
	case "tools/call", "prompts/get", "resources/read":
		if !c.HasTarget {
			return nil // the method reports the error
		}
		if err := checkHeader(header, "Mcp-Name", c.Target, true); err != nil {
			return err
		}
	}
	for _, a := range c.Headers {
		if err := checkArgument(header, a, a.Value(c.Arguments)); err != nil {
			return err
		}
	}
	return nil
}

// checkHeader checks that a header has the value want or, if wanted is false, is missing.
func checkHeader(header http.Header, name, want string, wanted bool) error {
	values := header[name]
	switch {
	case len(values) > 1:
		return jsonrpc.Errorf(mcp.HeaderMismatch, "header %s was sent %d times", name, len(values))
	case len(values) == 0 && wanted:
		return jsonrpc.Errorf(mcp.HeaderMismatch, "header %s is missing; send %q", name, clip(want))
	case len(values) == 0:
		return nil
	case !wanted:
		return jsonrpc.Errorf(mcp.HeaderMismatch, "header %s is %q, but the request has no such value", name, clip(values[0]))
	}
	got, ok := decodeHeader(values[0])
	if !ok {
		return jsonrpc.Errorf(mcp.HeaderMismatch, "header %s is not valid base64 between =?base64? and ?=", name)
	}
	if got != want {
		return jsonrpc.Errorf(mcp.HeaderMismatch, "header %s is %q, but the request has %q", name, clip(got), clip(want))
	}
	return nil
}

// decodeHeader returns the value of a header, decoded if it is base64 between =?base64? and ?=.
func decodeHeader(value string) (text string, ok bool) {
	inner, hasPrefix := strings.CutPrefix(value, "=?base64?")
	inner, hasSuffix := strings.CutSuffix(inner, "?=")
	if !hasPrefix || !hasSuffix {
		return value, true
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(inner)
	return string(raw), err == nil && utf8.Valid(raw) && !strings.ContainsAny(inner, "\r\n")
}

// checkArgument compares a header with the argument that it repeats. It accepts arguments of the
// wrong type, which the input schema refuses.
func checkArgument(header http.Header, a transport.HeaderArgument, value json.RawMessage) error {
	switch first := strictjson.First(value); {
	case first == 0 || first == 'n':
		return checkHeader(header, a.Header, "", false)
	case a.Type == "string" && first == '"':
		text, _ := strictjson.Unquote(value)
		return checkHeader(header, a.Header, text, true)
	case a.Type == "boolean" && (first == 't' || first == 'f'):
		return checkHeader(header, a.Header, string(value), true)
	case a.Type == "integer" && (first == '-' || first >= '0' && first <= '9'):
		want := string(value)
		if values := header[a.Header]; len(values) == 1 && sameNumber(values[0], want) {
			return nil
		}
		return checkHeader(header, a.Header, want, true)
	}
	return nil
}

// sameNumber reports whether two texts are the same integer, within the range that a float64
// represents exactly.
func sameNumber(a, b string) bool {
	const limit = 1<<53 - 1
	if len(a) > len("-9007199254740991") {
		return false
	}
	x, err := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err == nil && err2 == nil && x == y && x >= -limit && x <= limit && !strings.ContainsAny(a, "xXpP_")
}
