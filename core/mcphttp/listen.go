package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
)

// Listen listens on a TCP address such as 127.0.0.1:8181; with port 0 on one that is free. If a name has several addresses,
// it is one of them. "" means [DefaultAddr], and not every address, as it does for package net.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	if addr == "" {
		addr = DefaultAddr
	}
	to, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("the address %q cannot be used: %w; an example is %s", addr, err, DefaultAddr)
	}
	host, _, _ := net.SplitHostPort(addr)
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", to.String())
	switch {
	case errors.Is(err, syscall.EADDRINUSE), err != nil && strings.Contains(err.Error(), "Only one usage of each socket address"):
		return nil, fmt.Errorf("another program listens on %s; end it, or choose another port, 0 for any that is free: %s", addr, net.JoinHostPort(host, "0"))
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("listening on %s: %w; ports below 1024 are for administrators, choose a higher one", addr, err)
	case err != nil:
		return nil, fmt.Errorf("listening on %s: %w", addr, err)
	}
	return listener, nil
}

// Loopback reports whether only programs on this machine reach an address.
func Loopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// checkOpen refuses to let everybody in from elsewhere.
func checkOpen(addr net.Addr, o Options) error {
	if Loopback(addr) || o.InFront || len(o.Gates) > 0 {
		return nil
	}
	var ways []string
	if o.KeyVariable != "" {
		ways = append(ways, "set "+o.KeyVariable+" to a key (openssl rand -hex 32 makes one)")
	}
	ways = append(ways, o.Ways...)
	if o.FrontFlag != "" {
		ways = append(ways, "say "+o.FrontFlag+" if TLS and identity are handled in front")
	}
	ways = append(ways, "or listen on "+DefaultAddr+", for this machine alone")
	return fmt.Errorf("listening on %s lets in everybody who reaches it, and nobody is asked who they are; %s", o.Addr, strings.Join(ways, ", "))
}
