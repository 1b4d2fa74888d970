package mcp

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/petrock/petrock/core/jsonrpc"
)

// ServeStdio serves the client that started this process, over standard input and output, until the
// client closes the input, or on an interrupt or SIGTERM; it then returns nil. Calls in flight may
// finish within the grace. A second signal ends the process at once.
//
// out is os.Stdout or, in a program that imports package stdout, the file that it kept. From here
// on, what else is printed to os.Stdout goes to standard error, and os.Stdin is empty.
func (s *Server) ServeStdio(ctx context.Context, out *os.File) error {
	in, err := takeStdin()
	if err == nil && out == os.Stdout {
		out, err = takeStdout()
	}
	if err != nil {
		return fmt.Errorf("taking standard input and output: %w", err)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	outliveClient()
	return s.Serve(ctx, jsonrpc.NewLines(in, out, jsonrpc.LinesOptions{MaxMessage: s.o.MaxMessage}))
}
