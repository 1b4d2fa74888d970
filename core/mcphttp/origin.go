package mcphttp

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/petrock/petrock/core/mcp"
)

// An originPolicy admits or refuses requests by their Host and Origin headers.
type originPolicy struct {
	addr          net.Addr        // where the server listens; nil if not known
	authenticated bool            // the server authenticates callers
	hosts         map[string]bool // names of this machine and listed ones, in lower case, with or without a port
	listed        map[string]bool // origins, in lower case
	all           bool            // allow all origins
	sameOrigin    bool            // refuse other ports of this machine
}

func newOriginPolicy(origins, hosts []string, addr net.Addr) (*originPolicy, error) {
	p := &originPolicy{addr: addr, hosts: map[string]bool{"localhost": true, "127.0.0.1": true, "[::1]": true}, listed: map[string]bool{}}
	for _, host := range hosts {
		name, ok := withoutPort(host)
		if !ok || strings.ContainsAny(name, "/?#@ *") {
			return nil, &OptionError{"Hosts", host, "must be a name or address, with or without a port, such as mcp.example.com or 192.168.1.5:8181"}
		}
		p.hosts[strings.ToLower(host)] = true
	}
	for _, origin := range origins {
		switch {
		case origin == "*":
			p.all = true
		case origin == "null":
			p.listed[origin] = true
		default:
			u, err := url.Parse(origin)
			if err != nil || u.Scheme == "" || u.Host == "" || !strings.EqualFold(u.Scheme+"://"+u.Host, origin) {
				return nil, &OptionError{"Origins", origin, "must be a scheme and a host, with or without a port, such as https://app.example.com or http://localhost:5173"}
			}
			p.listed[withoutDefaultPort(strings.ToLower(origin))] = true
		}
	}
	return p, nil
}

// admit returns a [*HostError] or [*OriginError] for a request that must be refused. If an admitted
// request has an Origin, admit adds CORS headers to the header of the response.
func (p *originPolicy) admit(header http.Header, r *http.Request) error {
	if !p.allowsHost(r.Host) {
		return &HostError{r.Host}
	}
	sent := r.Header["Origin"]
	if len(sent) == 0 {
		return nil
	}
	if len(sent) > 1 || !p.allowsOrigin(sent[0], r.Host) {
		return &OriginError{sent[0]}
	}
	header["Access-Control-Allow-Origin"] = sent
	header["Access-Control-Expose-Headers"] = []string{"Mcp-Session-Id, WWW-Authenticate, Retry-After"}
	header["Vary"] = []string{"Origin"}
	return nil
}

// allowsHost reports whether a Host header is allowed. On addresses other than loopback any name is
// allowed: the server or a proxy authenticates callers, and a proxy may use another name.
func (p *originPolicy) allowsHost(host string) bool {
	return !IsLoopback(p.addr) || p.knowsHost(host)
}

// knowsHost reports whether host is listed or names this machine.
func (p *originPolicy) knowsHost(host string) bool {
	host = strings.ToLower(host)
	name, ok := withoutPort(host)
	if ok && IsLoopback(p.addr) && name == bracket(p.addr.(*net.TCPAddr).IP) {
		return true // such as 127.0.0.2
	}
	return ok && (p.hosts[name] || p.hosts[host])
}

// allowsOrigin reports whether pages of origin may call the server. host is the Host header, which
// allowsHost has accepted. The origin of host itself is allowed. Without authentication the host must
// also be known, because any page can make its own name resolve to this server (DNS rebinding).
func (p *originPolicy) allowsOrigin(origin, host string) bool {
	if p.all {
		return true
	}
	origin = strings.ToLower(origin)
	if p.listed[origin] {
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
	if !p.sameOrigin && IsLoopback(p.addr) && (name == "localhost" || name == "127.0.0.1" || name == "[::1]") {
		return true
	}
	if !p.authenticated && !p.knowsHost(host) {
		return false
	}
	return withoutDefaultPort(origin) == withoutDefaultPort(scheme+"://"+strings.ToLower(host))
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

func bracket(ip net.IP) string {
	if ip.To4() == nil {
		return "[" + ip.String() + "]"
	}
	return ip.String()
}

// withoutDefaultPort returns an origin as browsers send it.
func withoutDefaultPort(origin string) string {
	if strings.HasPrefix(origin, "https://") {
		return strings.TrimSuffix(origin, ":443")
	}
	if strings.HasPrefix(origin, "http://") {
		return strings.TrimSuffix(origin, ":80")
	}
	return origin
}

// corsHeaders are the request headers that pages of other origins may send.
const corsHeaders = "Content-Type, Accept, Authorization, X-Api-Token, Mcp-Session-Id, " +
	"MCP-Protocol-Version, Mcp-Method, Mcp-Name, Last-Event-ID"

// paramHeaderPrefix starts the names of headers for tool arguments.
const paramHeaderPrefix = "Mcp-Param-"

// maxParameters limits the Mcp-Param headers of one preflight request.
const maxParameters = 100

// preflight answers a CORS preflight request, and reports whether r is one. The origin of r must
// have been checked.
func preflight(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodOptions || r.Header["Origin"] == nil || r.Header["Access-Control-Request-Method"] == nil {
		return false
	}
	header := w.Header()
	header.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	header.Set("Access-Control-Allow-Headers", corsHeaders+requestedParams(r.Header["Access-Control-Request-Headers"]))
	header.Set("Access-Control-Max-Age", "7200") // seconds
	header.Set("Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// requestedParams returns the requested headers for tool arguments, each after ", ".
func requestedParams(requested []string) string {
	var found strings.Builder
	n := 0
	for _, line := range requested {
		for name := range strings.SplitSeq(line, ",") {
			name = strings.TrimSpace(name)
			if len(name) <= len(paramHeaderPrefix) || !strings.EqualFold(name[:len(paramHeaderPrefix)], paramHeaderPrefix) || !mcp.IsHeaderName(name) || n == maxParameters {
				continue
			}
			n++
			found.WriteString(", " + name)
		}
	}
	return found.String()
}
