package main

import (
	"context"
	"time"
)

// quietPoll is how long the machine is watched at a time, to see whether it is quiet.
const quietPoll = 500 * time.Millisecond

// A quiet repeats what other processes have disturbed.
type quiet struct {
	left time.Duration // that may yet be spent on waiting and on measuring again
}

// run runs a step of a round, again and again until the machine was quiet meanwhile or
// there is no time left for that. It also returns what others used during the last run.
func (q *quiet) run(ctx context.Context, step func() (*results, error)) (*results, share, error) {
	for {
		begun := time.Now()
		before, err := readCPUUsage()
		if err != nil {
			return nil, share{}, err
		}
		r, err := step()
		if err != nil {
			return nil, share{}, err
		}
		after, err := readCPUUsage()
		if err != nil {
			return nil, share{}, err
		}
		others := after.others(before)
		if others.of() < muchByOthers || q.left <= 0 {
			return r, others, nil
		}
		if err := waitForQuiet(ctx, begun.Add(q.left)); err != nil {
			return nil, share{}, err
		}
		q.left -= time.Since(begun)
	}
}

// waitForQuiet waits until the machine is quiet, or until the given time.
func waitForQuiet(ctx context.Context, until time.Time) error {
	for time.Now().Before(until) {
		before, err := readCPUUsage()
		if err != nil {
			return err
		}
		select {
		case <-time.After(quietPoll):
		case <-ctx.Done():
			return ctx.Err()
		}
		after, err := readCPUUsage()
		if err != nil || after.others(before).of() < muchByOthers {
			return err
		}
	}
	return nil
}
