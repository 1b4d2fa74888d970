package mcphttp

import (
	"context"
	"net"
)

// Listen listens on a TCP address such as 127.0.0.1:8181, or on a free port if the port is 0. If a host name has several
// addresses, Listen uses one of them. "" means [DefaultAddr]; package net would listen on every address.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	if addr == "" {
		addr = DefaultAddr
	}
	to, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: "tcp " + addr, Err: err}
	}
	return new(net.ListenConfig).Listen(ctx, "tcp", to.String())
}

// IsLoopback reports whether only programs on this machine can connect to addr.
func IsLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
