package mcp

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/petrock/petrock/core/jsonrpc"
)

// ServeStdio serves the client that started this process, over standard input and
// output, until the client closes the input or the process is told to stop by an
// interrupt or SIGTERM. Calls in flight then get the grace to finish; a second
// signal ends the process at once. The error is nil for either end.
//
// Standard output carries messages of the protocol alone: from here to the end of the
// process, whatever else is printed there goes to standard error, and whoever
// reads standard input finds it empty. See package quiet for what is printed before.
func (s *Server) ServeStdio(ctx context.Context) error {
	in, out, err := takeStdio()
	if err != nil {
		return fmt.Errorf("taking standard input and output: %w", err)
	}
	return s.ServeProcess(ctx, in, out)
}

// ServeProcess is [Server.ServeStdio] on other ends than standard input and
// output, which it leaves alone.
func (s *Server) ServeProcess(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	defer outliveClient()()
	return s.Serve(ctx, jsonrpc.NewLines(in, out, jsonrpc.LinesOptions{MaxMessage: s.maxMessage}))
}
