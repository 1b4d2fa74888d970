// Soak lets many clients at once use one server on petrock's core over HTTP, in both eras of the
// protocol, for minutes. A tenth of them disconnect at random moments, and some read what they get
// at a few bytes a second. No other client may see an error, and when all have gone the server must
// hold no more goroutines and memory than before.
//
//	cd .bench && go run ./soak -time 5m
//
// It needs Linux. See -help for what it can be told.
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

// An options is what the program was told.
type options struct {
	clients int
	time    time.Duration
	seed    uint64
	program string // of the server; it is built if none is given
}

// run is the program. It returns the exit code: 0 if all went well, 1 if not, 2 if the arguments are wrong.
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

// parseOptions reads the arguments. What is wrong with them has been written to errOut
// when it returns an error.
func parseOptions(args []string, errOut io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.IntVar(&o.clients, "clients", 256, "how many clients there are")
	flags.DurationVar(&o.time, "time", 5*time.Minute, "how long they go on, from 1s")
	flags.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()%1e9), "of what the clients do; another one each time")
	flags.StringVar(&o.program, "program", "", "the server to start instead of building it")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	var err error
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("there are no arguments but flags, got %q", flags.Arg(0))
	case o.clients < 16:
		err = fmt.Errorf("-clients must be at least 16, got %d", o.clients)
	case o.time < time.Second:
		err = fmt.Errorf("-time must be at least 1s, got %v", o.time)
	}
	if err != nil {
		fmt.Fprintf(errOut, "soak: %v\nTry -help.\n", err)
	}
	return o, err
}
