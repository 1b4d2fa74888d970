// Package front puts the servers on HTTP, all in the same way, and lets the benchmark ask
// them what they hold.
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

// ServeArgument is the first argument of a server that is to speak HTTP, on a port of
// 127.0.0.1 that the system chooses.
const ServeArgument = "serve"

// StatelessFlag follows it for a server that must be told that there will be no sessions.
const StatelessFlag = "--stateless"

// Listening is what the line begins with that a server writes to its standard output once it
// listens. Its address follows.
const Listening = "listening on "

// Path is where the servers are found.
const Path = "/mcp"

// Serving tells whether the program was started with [ServeArgument].
func Serving() bool {
	return len(os.Args) > 1 && os.Args[1] == ServeArgument
}

// Ready says on out, the server's standard output, where it listens, and from then on answers there
// what the benchmark asks.
func Ready(out io.Writer, addr net.Addr) {
	AnswerWhenAsked(out) // which it is ready for when it says so
	fmt.Fprintf(out, "%s%s\n", Listening, addr)
}

// Serve puts a handler on HTTP until the process is told to end.
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
