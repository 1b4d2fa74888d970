// Siege attacks a server, which may open 1,024 files, with 250 hostile connections of each kind,
// while a friendly client calls it. It exits with 1 if a call of the friendly client fails, if the
// 99th percentile of its calls is above a limit, if the server uses more than 300 MB, or if the
// server has not released its resources a minute after the attacks. An attack with a high
// percentile is repeated twice, because machines are noisy. Then the median of the three counts.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Limits of the siege.
const (
	maxMemory = 300 << 20
	recovery  = time.Minute
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	duration := flag.Duration("time", time.Minute, "duration of each attack")
	conns := flag.Int("conns", 250, "number of hostile connections of each attack")
	maxP99 := flag.Duration("p99", 250*time.Millisecond, "limit of the 99th percentile of the friendly client's calls")
	only := flag.String("only", "", "comma-separated `attacks` to run (default all)")
	flag.Parse()
	if err := run(ctx, *duration, *conns, *maxP99, *only); err != nil {
		fmt.Fprintln(os.Stderr, "siege:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, duration time.Duration, conns int, maxP99 time.Duration, only string) error {
	s, err := start(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	// A warm-up, so that one-time costs do not count.
	if err := s.callFor(ctx, time.Second).fault(); err != nil {
		return fmt.Errorf("before any attack: %w", err)
	}
	before, err := s.usage()
	if err != nil {
		return err
	}
	fmt.Printf("%-34s %8s %8s %8s %8s %8s %6s\n", "attack", "calls", "p50", "p99", "max", "memory", "files")
	failed := 0
	for _, attack := range attacks() {
		if only != "" && !strings.Contains(","+only+",", ","+attack.name+",") {
			continue
		}
		if err := s.withstands(ctx, attack, duration, conns, maxP99); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			failed++
			fmt.Printf("  MISSED: %v\n", err)
		}
	}
	after, err := s.waitRecovered(ctx, before)
	fmt.Printf("before the attacks: %v\nafter the attacks:  %v\n", before, after)
	if err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d attacks disturbed the friendly client", failed)
	}
	return nil
}

// withstands attacks the server while the friendly client calls it, prints what the client saw, and
// returns an error if a limit was exceeded.
func (s *server) withstands(ctx context.Context, attack attack, duration time.Duration, conns int, maxP99 time.Duration) error {
	var percentiles []time.Duration
	for {
		under, cancel := context.WithTimeout(ctx, duration)
		ended := s.attack(under, attack, conns)
		seen := s.callFor(under, duration)
		cancel()
		<-ended
		if ctx.Err() != nil {
			return ctx.Err()
		}
		fmt.Printf("%-34s %v\n", attack.name, seen)
		if err := seen.fault(); err != nil {
			return err
		}
		percentiles = append(percentiles, seen.at(99))
		if len(percentiles) == 1 && percentiles[0] <= maxP99 {
			return nil
		}
		if len(percentiles) == 3 {
			slices.Sort(percentiles)
			if median := percentiles[1]; median > maxP99 {
				return fmt.Errorf("the 99th percentile is %v", median)
			}
			return nil
		}
	}
}
