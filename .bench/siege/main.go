// Siege lets 250 hostile connections of each kind attack a server that may open 1,024 files, while
// another client calls it. It exits with 1 if a call of that client fails, if the 99th percentile of
// its calls is above 250 ms, if the server needs more than 300 MB, or if it still holds something of
// the attack a minute later.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// What must hold.
const (
	maxP99    = 250 * time.Millisecond
	maxMemory = 300 << 20
	recovery  = time.Minute
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	duration := flag.Duration("time", time.Minute, "how long each attack lasts")
	conns := flag.Int("conns", 250, "hostile connections of each kind")
	only := flag.String("only", "", "attacks to run, separated by commas")
	flag.Parse()
	if err := run(ctx, *duration, *conns, *only); err != nil {
		fmt.Fprintln(os.Stderr, "siege:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, duration time.Duration, conns int, only string) error {
	s, err := start(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	// One call of each kind of request, so that what the first one costs is not part of the attack.
	if err := s.visit(ctx, time.Second).fault(); err != nil {
		return fmt.Errorf("before any attack: %w", err)
	}
	before, err := s.holding()
	if err != nil {
		return err
	}
	fmt.Printf("%-34s %8s %8s %8s %8s %8s %6s\n", "attack", "calls", "p50", "p99", "max", "memory", "files")
	failed := 0
	for _, attack := range attacks() {
		if only != "" && !strings.Contains(","+only+",", ","+attack.name+",") {
			continue
		}
		under, cancel := context.WithTimeout(ctx, duration)
		ended := s.attack(under, attack, conns)
		seen := s.visit(under, duration)
		cancel()
		<-ended
		if ctx.Err() != nil {
			return ctx.Err()
		}
		fmt.Printf("%-34s %v\n", attack.name, seen)
		if err := seen.fault(); err != nil {
			failed++
			fmt.Printf("  MISSED: %v\n", err)
		}
	}
	after, err := s.recovered(ctx, before)
	fmt.Printf("at the start: %v\nafter all:    %v\n", before, after)
	if err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d attacks took the server from another client", failed)
	}
	return nil
}
