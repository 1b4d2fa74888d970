package mcp

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/stdfd"
)

// ServeStdio serves the client that started this process, over standard input and output. It returns
// nil when the client closes the input, or on an interrupt or SIGTERM. Calls in flight may finish
// within the grace period. A second signal ends the process immediately.
//
// out is os.Stdout or, to keep what runs before ServeStdio off the protocol too, the file that
// [stdfd.TakeStdout] returned at the start of main. ServeStdio redirects os.Stdout to standard error and
// empties os.Stdin.
func (s *Server) ServeStdio(ctx context.Context, out *os.File) error {
	in, err := stdfd.TakeStdin()
	if err == nil && out == os.Stdout {
		out, err = stdfd.TakeStdout()
	}
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	// Writes to a client that has gone must fail instead of killing the process, so that calls can end.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return s.Serve(ctx, jsonrpc.NewLines(in, out, jsonrpc.LinesOptions{MaxMessage: s.o.MaxMessage}))
}
