// Bench measures MCP servers side by side: one on petrock's core, one on the official Go
// SDK, one on mcp-go, and a floor that answers canned bytes, bare and with cobra and
// net/http linked in. Each has the one tool add and runs as a process of its own, over
// pipes.
//
//	cd .bench && go run .
//
// It needs Linux, where it reads the servers' peak memory from /proc. See -help for what
// it can be told, and README.md for what the figures mean.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the program. It returns the exit code: 0 if it measured, 1 if it could not or
// if -strict was given and a target was missed, 2 if the arguments are wrong.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	o, err := parseOptions(args, errOut)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2
	}
	r, err := measure(ctx, o, errOut)
	if err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted; all servers have been stopped")
		}
		fmt.Fprintln(errOut, "bench:", err)
		return 1
	}
	verdicts := judge(r)
	write := writeTables
	if o.json {
		write = writeJSON
	}
	if err := write(out, r, verdicts); err != nil {
		fmt.Fprintln(errOut, "bench: writing the report:", err)
		return 1
	}
	if n := missed(verdicts); o.strict && n > 0 {
		fmt.Fprintf(errOut, "bench: %d of %d targets not met\n", n, len(verdicts))
		return 1
	}
	return 0
}
