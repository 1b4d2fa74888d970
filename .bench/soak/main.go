// Soak calls one server on petrock's core from many clients over HTTP, in both protocol eras, for
// minutes. A tenth of the clients disconnect at random moments, and some read only a few bytes a
// second. No other client may see an error. After all clients have disconnected, the server must
// not use more goroutines and memory than before.
//
//	cd .bench && go run ./soak -time 5m
//
// It requires Linux. Run it with -help for its flags.
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
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// An options holds the values of the flags.
type options struct {
	clients int
	time    time.Duration
	seed    uint64
	program string // the server; "" builds it
}

// run returns the exit code: 0 for success, 1 for failure, 2 for a usage error.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	o, err := parseOptions(args, errOut)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2
	}
	fmt.Fprintf(errOut, "%d clients for %v, seed %d\n", o.clients, o.time, o.seed)
	r, err := soak(ctx, o, errOut)
	if err != nil {
		fmt.Fprintln(errOut, "soak:", err)
		return 1
	}
	r.write(out)
	if faults := r.faults(); len(faults) > 0 {
		for _, fault := range faults {
			fmt.Fprintln(errOut, "soak:", fault)
		}
		return 1
	}
	return 0
}

// parseOptions parses the flags. It writes errors to errOut.
func parseOptions(args []string, errOut io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.IntVar(&o.clients, "clients", 256, "number of clients, at least 16")
	flags.DurationVar(&o.time, "time", 5*time.Minute, "duration, at least 1s")
	flags.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()%1e9), "seed of random choices; the default differs each time")
	flags.StringVar(&o.program, "program", "", "server binary (default: build it)")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	var err error
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.clients < 16:
		err = fmt.Errorf("-clients must be at least 16, got %d", o.clients)
	case o.time < time.Second:
		err = fmt.Errorf("-time must be at least 1s, got %v", o.time)
	}
	if err != nil {
		fmt.Fprintf(errOut, "soak: %v\nRun soak -help for usage.\n", err)
	}
	return o, err
}
