package web

import (
	"fmt"
	"net"
	"net/url"
	"strings"
)

// origins are the hosts that a server may be called by, and the origins whose pages may call it.
type origins struct {
	loopback bool            // it listens on a loopback address
	open     bool            // nobody is asked who they are, here
	hosts    map[string]bool // names of this machine and those listed, in lower case, with a port or without
	listed   map[string]bool // origins, in lower case
	all      bool            // all origins
}

// newOrigins returns what holds on a server that listens on addr, which is nil if that is not known yet.
func newOrigins(allowed, hosts []string, addr net.Addr) (*origins, error) {
	o := &origins{loopback: Loopback(addr), hosts: map[string]bool{"localhost": true, "127.0.0.1": true, "[::1]": true}, listed: map[string]bool{}}
	if o.loopback {
		o.hosts[bracket(addr.(*net.TCPAddr).IP)] = true // such as 127.0.0.2
	}
	for _, host := range hosts {
		name, _, ok := splitHost(host)
		if !ok || strings.ContainsAny(name, "/?#@ *") {
			return nil, fmt.Errorf("the host %q is not a name or address, with a port or without, such as mcp.example.com or 192.168.1.5:8181", host)
		}
		o.hosts[strings.ToLower(host)] = true
	}
	for _, origin := range allowed {
		switch {
		case origin == "*":
			o.all = true
		case origin == "null":
			o.listed[origin] = true
		default:
			u, err := url.Parse(origin)
			if err != nil || u.Scheme == "" || u.Host == "" || !strings.EqualFold(u.Scheme+"://"+u.Host, origin) {
				return nil, fmt.Errorf("%q is not an origin; it is a scheme and a host, with a port or without, such as https://app.example.com or http://localhost:5173", origin)
			}
			o.listed[withoutDefaultPort(strings.ToLower(origin))] = true
		}
	}
	return o, nil
}

// host reports whether a server may be called by the name in a Host header. Away from loopback addresses any name is good: who
// calls is asked there, or in front, where the name may be another.
func (o *origins) host(host string) bool {
	return !o.loopback || o.known(host)
}

// known reports whether a host is one of this machine or one that is listed.
func (o *origins) known(host string) bool {
	if o.hosts[host] {
		return true
	}
	name, _, ok := splitHost(host)
	if !ok {
		return false
	}
	return o.hosts[name] || o.hosts[strings.ToLower(name)] || o.hosts[strings.ToLower(host)]
}

// origin reports whether pages of an origin may call a server by the name host, which has been checked. Pages of the host itself may; where
// nobody is asked who they are, only of one that is known, as every page can have its own name lead here.
func (o *origins) origin(origin, host string) bool {
	if o.all {
		return true
	}
	origin = strings.ToLower(origin)
	if o.listed[origin] {
		return true
	}
	scheme, from, ok := strings.Cut(origin, "://")
	if !ok || scheme != "http" && scheme != "https" {
		return false
	}
	name, _, ok := splitHost(from)
	if !ok {
		return false
	}
	if o.loopback && (name == "localhost" || name == "127.0.0.1" || name == "[::1]") {
		return true
	}
	if o.open && !o.known(host) {
		return false
	}
	return withoutDefaultPort(origin) == withoutDefaultPort(scheme+"://"+strings.ToLower(host))
}

// splitHost takes a host apart that may have a port. An address of IPv6 is in brackets and stays in them.
func splitHost(host string) (name, port string, ok bool) {
	end := strings.LastIndexByte(host, ':')
	if end < 0 || strings.HasSuffix(host, "]") {
		return host, "", isName(host)
	}
	name, port = host[:end], host[end+1:]
	if len(port) == 0 || len(port) > 5 {
		return "", "", false
	}
	for _, c := range []byte(port) {
		if c < '0' || c > '9' {
			return "", "", false
		}
	}
	return name, port, isName(name)
}

// isName reports whether a text can be a host without a port.
func isName(text string) bool {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		return ok && net.ParseIP(inner) != nil && strings.Contains(inner, ":")
	}
	return text != "" && !strings.ContainsAny(text, ":[]")
}

// bracket is an address as it stands in a Host header.
func bracket(ip net.IP) string {
	if ip.To4() == nil {
		return "[" + ip.String() + "]"
	}
	return ip.String()
}

// withoutDefaultPort is an origin as browsers send it.
func withoutDefaultPort(origin string) string {
	if strings.HasPrefix(origin, "https://") {
		return strings.TrimSuffix(origin, ":443")
	}
	if strings.HasPrefix(origin, "http://") {
		return strings.TrimSuffix(origin, ":80")
	}
	return origin
}
