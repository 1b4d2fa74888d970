// Clients measures MCP clients side by side, each calling the one tool of one and the same server: petrock's own, which costs
// the least of those there are, so that it is the clients that are seen. Ours is compared with that of the official Go SDK and that of mcp-go,
// over a process of the server each and over HTTP, with one process for all.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o := options{}
	flag.IntVar(&o.rounds, "rounds", 9, "how often each client has its turn")
	flag.DurationVar(&o.slice, "slice", 400*time.Millisecond, "how long a turn lasts, for each figure")
	flag.IntVar(&o.callers, "callers", 64, "how many call at once")
	short := flag.Bool("short", false, "three rounds of short turns, for a first look")
	check := flag.Bool("check", false, "exit with 1 if a target is missed")
	flag.Parse()
	if *short {
		o.rounds, o.slice = 3, 150*time.Millisecond
	}
	missed, err := run(ctx, o, os.Stdout)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(1)
	case missed > 0 && *check:
		os.Exit(1)
	}
}

// options are what is measured, and for how long.
type options struct {
	rounds  int
	slice   time.Duration
	callers int
}
