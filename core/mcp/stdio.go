package mcp

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/petrock/petrock/core/jsonrpc"
)

// ServeStdio serves the client that started this process, over standard input and output. It returns
// nil when the client closes the input, or on an interrupt or SIGTERM. Calls in flight may finish
// within the grace period. A second signal ends the process immediately.
//
// out is os.Stdout or, in a program that imports package stdout, the file that it saved. ServeStdio
// redirects os.Stdout to standard error and empties os.Stdin.
func (s *Server) ServeStdio(ctx context.Context, out *os.File) error {
	in, err := takeStdin()
	if err == nil && out == os.Stdout {
		out, err = takeStdout()
	}
	if err != nil {
		return fmt.Errorf("redirect standard input and output: %w", err)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	ignoreSIGPIPE()
	return s.Serve(ctx, jsonrpc.NewLines(in, out, jsonrpc.LinesOptions{MaxMessage: s.o.MaxMessage}))
}
