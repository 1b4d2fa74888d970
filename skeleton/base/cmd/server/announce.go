package main

import (
	"maps"
	"net"
	"slices"
	"strings"
)

// announce is what is said when the server listens on addr, line by line: where it is, for whom, and what nobody is asked for. scopes are those that
// tools name.
func (s *servingHTTP) announce(addr net.Addr, scopes map[string][]string) []string {
	lines := []string{"serving " + addressURL(addr)}
	if everyAddress(addr) {
		lines = append(lines, "on every address of this machine")
	}
	lines = append(lines, s.who())
	for _, way := range s.ways {
		lines = append(lines, "a gate is not in use; "+way)
	}
	if text := s.unasked(scopes); text != "" {
		lines = append(lines, text)
	}
	return lines
}

// who says who may come in.
func (s *servingHTTP) who() string {
	switch {
	case len(s.web.Gates) > 0:
		var wants []string
		for _, gate := range s.web.Gates {
			wants = append(wants, gate.Wants())
		}
		return "for those who send " + strings.Join(wants, ", or ")
	case s.web.BehindProxy:
		return "for everybody; who they are is asked in front of it"
	case slices.Contains(s.web.Origins, "*"):
		return "for every program of this machine and every web page that is open on it; set " + keyVariable() + " to ask for a key"
	}
	return "for every program of this machine; with keys in " + keyVariable() + " only for those who have one"
}

// unasked says which tools name scopes that nobody is asked for, as nobody is asked who they are; "" if there are none.
func (s *servingHTTP) unasked(scopes map[string][]string) string {
	maps.DeleteFunc(scopes, func(_ string, needed []string) bool { return len(needed) == 0 })
	if len(s.web.Gates) > 0 || len(scopes) == 0 {
		return ""
	}
	return "everybody has the scopes that tools name, as nobody is asked for a token: " + strings.Join(slices.Sorted(maps.Keys(scopes)), ", ")
}

// everyAddress reports whether addr stands for all addresses of this machine.
func everyAddress(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsUnspecified()
}

// addressURL is where a server that listens on addr is reached from this machine.
func addressURL(addr net.Addr) string {
	if everyAddress(addr) {
		addr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: addr.(*net.TCPAddr).Port}
	}
	return "http://" + addr.String() + "/mcp"
}
