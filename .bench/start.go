package main

import (
	"context"
	"os"
	"time"
)

// A start is how one server came up.
type start struct {
	ready time.Duration // until the list of tools was there
	cpu   time.Duration // that the process used in all, to its end
}

// measureStart starts a server, lets it list its tools, and ends it.
func measureStart(ctx context.Context, s server) (start, error) {
	c, err := connect(ctx, s, "starting", patience, false)
	if err != nil {
		return start{}, err
	}
	state, err := c.stop()
	if err != nil {
		return start{}, err
	}
	return start{ready: c.ready, cpu: cpuTime(state)}, nil
}

// cpuTime is the time that a process has computed, its own and the system's for it.
func cpuTime(state *os.ProcessState) time.Duration {
	return state.UserTime() + state.SystemTime()
}
