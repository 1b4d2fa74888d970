package mcphttp

import (
	"errors"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestBadOptions(t *testing.T) {
	for _, test := range []struct {
		options interface{ Check() error }
		want    string
	}{
		{Options{Origins: []string{"app.example.com"}}, "https://app.example.com"},
		{Options{Origins: []string{"https://app.example.com/"}}, "must be a scheme and a host"},
		{Options{Origins: []string{"https://me@app.example.com/x"}}, "must be a scheme and a host"},
		{Options{Origins: []string{"https://*.example.com/?"}}, "must be a scheme and a host"},
		{Options{Origins: []string{""}}, "must be a scheme and a host"},
		{Options{Origins: []string{"https://"}}, "must be a scheme and a host"},
		{Options{Hosts: []string{"https://pc.local"}}, "mcp.example.com"},
		{Options{Hosts: []string{"*"}}, "mcp.example.com"},
		{Options{Hosts: []string{"::1"}}, "mcp.example.com"},
		{Options{Hosts: []string{"pc.local:http"}}, "mcp.example.com"},
		{Options{Hosts: []string{""}}, "mcp.example.com"},
		{ServeOptions{Path: "mcp"}, "must begin with /"},
	} {
		err := test.options.Check()
		if _, ok := errors.AsType[*OptionError](err); !ok || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Check of %+v = %v, want an OptionError with %q", test.options, err, test.want)
		}
	}
	good := Options{Origins: []string{"https://app.example.com:443", "http://[::1]:5173", "vscode-webview://abc", "*", "null"}, Hosts: []string{"pc.local", "[fe80::1]:8181", "192.168.1.5"}}
	if err := good.Check(); err != nil {
		t.Errorf("Check of %+v = %v, want nil", good, err)
	}
}

// The address that the server listens on is an allowed Host.
func TestOwnHost(t *testing.T) {
	for _, test := range []struct {
		addr net.IP
		host string
		want bool
	}{
		{net.IPv4(127, 0, 0, 2), "127.0.0.2:8181", true},
		{net.IPv4(127, 0, 0, 1), "127.0.0.2:8181", false},
		{net.IPv6loopback, "[::1]:8181", true},
		{net.IPv6loopback, "[0:0:0:0:0:0:0:1]:8181", false},
	} {
		o := newOriginPolicy(Options{})
		if got := o.allowsHost(test.host, site{addr: &net.TCPAddr{IP: test.addr}}); got != test.want {
			t.Errorf("allowsHost(%q) at %v = %v, want %v", test.host, test.addr, got, test.want)
		}
	}
}

// FuzzOrigin checks with url.Parse that admitted origins on a loopback address are local or listed.
func FuzzOrigin(f *testing.F) {
	for _, host := range []string{"localhost", "127.0.0.1:80", "[::1]:8181", "pc.local", "PC.LOCAL:8181", "evil.example.com", "localhost@evil", "localhost.evil", "[::1].evil", ""} {
		for _, origin := range []string{"http://localhost:1", "https://[::1]", "https://app.example.com", "http://" + host, "https://" + host, "null", "", "http://localhost@evil", "http://localhost#.evil"} {
			f.Add(host, origin)
		}
	}
	o := newOriginPolicy(Options{Origins: []string{"https://app.example.com"}, Hosts: []string{"pc.local"}})
	if o.err != nil {
		f.Fatal(o.err)
	}
	ours, ports := []string{"localhost", "127.0.0.1", "::1"}, regexp.MustCompile(`^([^\[\]]*|\[.*\])(:[0-9]{1,5})?$`)
	f.Fuzz(func(t *testing.T, host, origin string) {
		hostIn := o.allowsHost(host, site{addr: loopback()})
		if hostIn {
			u, err := url.Parse("http://" + host)
			if err != nil || u.User != nil || u.Path != "" || u.Host != host || !ports.MatchString(host) || !slices.Contains(append(ours, "pc.local"), strings.ToLower(u.Hostname())) {
				t.Errorf("the host %q is allowed, want it refused: parsed as %+v, %v", host, u, err)
			}
		}
		if !hostIn || !o.allowsOrigin(origin, host, site{addr: loopback()}) {
			return
		}
		u, err := url.Parse(origin)
		if err != nil || !strings.EqualFold(u.Scheme+"://"+u.Host, origin) || !ports.MatchString(u.Host) {
			t.Fatalf("the origin %q is allowed, want it refused: parsed as %+v, %v", origin, u, err)
		}
		name := strings.ToLower(u.Hostname())
		switch {
		case u.Scheme != "http" && u.Scheme != "https":
			t.Errorf("the origin %q is let in for its scheme", origin)
		case slices.Contains(ours, name), strings.EqualFold(origin, "https://app.example.com"), name == "pc.local" && strings.Contains(strings.ToLower(host), name):
		default:
			t.Errorf("the origin %q is let in, at the host %q", origin, host)
		}
	})
}
