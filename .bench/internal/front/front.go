// Package front serves all servers over HTTP in the same way, and lets the benchmark ask them for
// their use of resources.
package front

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
)

// ServeArgument is the first argument that makes a server listen on a port of 127.0.0.1 that the
// system chooses.
const ServeArgument = "serve"

// StatelessFlag makes a server serve without sessions, if it cannot do both.
const StatelessFlag = "--stateless"

// ListeningPrefix is the prefix of the line with its address that a server writes to standard
// output when it listens.
const ListeningPrefix = "listening on "

// Path is the path of all servers.
const Path = "/mcp"

// Serving reports whether the program was started with [ServeArgument].
func Serving() bool {
	return len(os.Args) > 1 && os.Args[1] == ServeArgument
}

// Ready writes the address of the server to out, its standard output, and starts [ReportUsage].
func Ready(out io.Writer, addr net.Addr) {
	ReportUsage(out)
	fmt.Fprintf(out, "%s%s\n", ListeningPrefix, addr)
}

// Serve serves a handler over HTTP until SIGTERM.
func Serve(h http.Handler) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle(Path, h)
	Ready(os.Stdout, listener.Addr())
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, func() { os.Exit(0) })
	return http.Serve(listener, mux)
}
