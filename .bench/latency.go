package main

import (
	"context"
	"errors"
	"strings"
	"time"
)

const (
	slowCalls  = 16
	waitMS     = 500 // of slow and busy calls that pings are sent beside
	behindMS   = 20  // of slow calls that a ping follows in the same write
	settle     = 2 * time.Millisecond
	pingPause  = time.Millisecond
	stopWithin = 100 * time.Millisecond
)

// errNotStopped means that a tool's context did not end when its call was cancelled.
var errNotStopped = errors.New("the tool was not stopped")

// A situation is one in which a server should still answer at once.
type situation struct {
	name    string // in JSON
	title   string
	waits   bool // needs slow and busy
	measure func(*client, options) ([]time.Duration, error)
}

var situations = []situation{
	{"idle", "ping, nothing running", false, pingIdle},
	{"slow", "ping beside 16 slow calls", true, pingBesideSlow},
	{"busy", "ping beside a busy call", true, pingBesideBusy},
	{"behind", "ping behind a slow call, same write", true, pingBehindSlow},
	{"cancel", "ping behind a cancellation", true, pingBehindCancel},
	{"stopped", "cancellation to the tool's end", true, cancelToStop},
}

// measureLatency puts a fresh server into a situation. There are no samples if the
// server cannot get into it.
func measureLatency(ctx context.Context, s server, in situation, o options) ([]time.Duration, error) {
	if in.waits && !s.waits() {
		return nil, nil
	}
	c, err := connect(ctx, s, "measuring: "+in.title, patience, in.waits)
	if err != nil {
		return nil, err
	}
	defer c.kill()
	samples, err := in.measure(c, o)
	if errors.Is(err, errNotStopped) {
		return nil, nil
	}
	return samples, err
}

func pingIdle(c *client, o options) ([]time.Duration, error) {
	var samples []time.Duration
	for range o.idlePings {
		d, err := c.roundTrip("", nil)
		if err != nil {
			return nil, err
		}
		samples = append(samples, d)
		time.Sleep(pingPause)
	}
	return samples, nil
}

func pingBesideSlow(c *client, _ options) ([]time.Duration, error) {
	return c.pingBeside("slow", slowCalls)
}

func pingBesideBusy(c *client, _ options) ([]time.Duration, error) {
	return c.pingBeside("busy", 1)
}

// pingBeside starts calls that take long, and pings until the first of them is done.
func (c *client) pingBeside(tool string, n int) ([]time.Duration, error) {
	var messages strings.Builder
	for range n {
		messages.WriteString(waitMessage(c.newID(), tool, waitMS))
	}
	if err := c.send([]byte(messages.String())); err != nil {
		return nil, err
	}
	var samples []time.Duration
	over := false
	for {
		d, err := c.roundTrip("", &over)
		if err != nil {
			return nil, err
		}
		if over { // the ping was not alone with running calls
			return samples, nil
		}
		samples = append(samples, d)
		time.Sleep(pingPause)
	}
}

func pingBehindSlow(c *client, o options) ([]time.Duration, error) {
	var samples []time.Duration
	for range o.behinds {
		id := c.newID()
		over := false
		d, err := c.roundTrip(waitMessage(id, "slow", behindMS), &over)
		if err != nil {
			return nil, err
		}
		samples = append(samples, d)
		if !over {
			if _, err := c.answer(id); err != nil {
				return nil, err
			}
		}
	}
	return samples, nil
}

func pingBehindCancel(c *client, o options) ([]time.Duration, error) {
	var samples []time.Duration
	for range o.cancels {
		id := c.newID()
		if err := c.send([]byte(waitMessage(id, "slow", waitMS))); err != nil {
			return nil, err
		}
		time.Sleep(settle)
		d, err := c.roundTrip(cancelMessage(id), nil)
		if err != nil {
			return nil, err
		}
		samples = append(samples, d)
	}
	return samples, nil
}

// cancelToStop measures how long it takes until the context of a cancelled tool ends.
// The tool says so on standard error.
func cancelToStop(c *client, o options) ([]time.Duration, error) {
	var samples []time.Duration
	for range o.cancels {
		id := c.newID()
		if err := c.send([]byte(waitMessage(id, "slow", waitMS))); err != nil {
			return nil, err
		}
		time.Sleep(settle)
		begun := time.Now()
		if err := c.send([]byte(cancelMessage(id))); err != nil {
			return nil, err
		}
		select {
		case at := <-c.stderr.stopped:
			samples = append(samples, at.Sub(begun))
		case <-time.After(stopWithin):
			return nil, errNotStopped
		}
	}
	return samples, nil
}

// roundTrip sends a ping, behind a message in the same write if there is one, and
// returns how long its answer took. It sets other, if that is not nil, when the answer
// to something else came first.
func (c *client) roundTrip(message string, other *bool) (time.Duration, error) {
	id := c.newID()
	messages := []byte(message + pingMessage(id))
	begun := time.Now()
	if err := c.send(messages); err != nil {
		return 0, err
	}
	for {
		got, _, err := c.anyAnswer()
		if err != nil {
			return 0, err
		}
		if got == id {
			return time.Since(begun), nil
		}
		if other != nil {
			*other = true
		}
	}
}
