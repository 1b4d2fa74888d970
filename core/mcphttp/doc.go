// Package mcphttp serves MCP over streamable HTTP.
//
//	handler := mcphttp.NewHandler(server, mcphttp.Options{})
//	err := mcphttp.Serve(ctx, handler, mcphttp.ServeOptions{Addr: "127.0.0.1:8181"})
//
// A [Handler] is an [http.Handler] over the sessions of a server of package mcp. [Serve] listens, and checks each request
// before the handler gets it, in this order: Host and Origin (403), path (404), credentials (401).
//
// On a loopback address, where web pages can make browsers of the same machine send requests, Host and Origin must be
// names of this machine or listed in the options. On other addresses any Host is accepted; an Origin must be listed or be
// that of the Host, which must itself be listed if there are no gates. Accepted origins get CORS headers. Cookies are
// not used.
//
// Any other address than a loopback one requires a gate, or a proxy that handles TLS and authentication. Serve has no
// TLS. It speaks HTTP/1.1 with the limits of net/http: a header above the limit gets status 431, a slow header ends the
// connection, and reading a slow body fails with [os.ErrDeadlineExceeded]. Responses have no time limit.
package mcphttp
