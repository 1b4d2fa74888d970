package main

import (
	"bytes"
	"context"
	"fmt"
	"time"
)

// A load is what came of calling add for a while.
type load struct {
	calls   int           // answered within elapsed
	elapsed time.Duration // without start and warm-up
	total   int           // calls of the whole process
	cpu     time.Duration // of the whole process, less that of one that makes no calls
	peak    int64         // memory, in bytes
}

// measureLoad calls add on a fresh server for about d, after a quarter of that to warm
// up, with so many calls in flight. As answers come in, as many calls go out, in one
// write for all that one read has brought: what a client does that is busy. With one call
// in flight the answer is decoded before the next call, as a client has to that waits for
// it; with several it is only compared, so that it is the server that has to keep up.
func measureLoad(ctx context.Context, s server, d time.Duration, inFlight int) (load, error) {
	idle, err := measureStart(ctx, s)
	if err != nil {
		return load{}, err
	}
	doing := fmt.Sprintf("calling add with %d in flight", inFlight)
	c, err := connect(ctx, s, doing, d+d/4+patience, false)
	if err != nil {
		return load{}, err
	}
	g := &generator{client: c, calls: newCalls(inFlight), inFlight: inFlight}
	l, err := g.run(d)
	if err != nil {
		c.kill()
		return load{}, err
	}
	if l.peak, err = peakMemory(c.cmd.Process.Pid); err != nil {
		c.kill()
		return load{}, err
	}
	state, err := c.stop()
	if err != nil {
		return load{}, err
	}
	l.cpu, l.total = cpuTime(state)-idle.cpu, g.calls.taken()
	return l, nil
}

// cpuPerCall is the CPU time of a call in µs.
func (l load) cpuPerCall() float64 {
	return microseconds(l.cpu) / float64(l.total)
}

// A generator makes the calls of a load.
type generator struct {
	*client
	calls    *calls
	inFlight int
	pattern  pattern
	answered []bool // by id, from firstID on
	count    int    // of answers
}

func (g *generator) run(d time.Duration) (load, error) {
	if err := g.first(); err != nil {
		return load{}, err
	}
	if err := g.send(g.calls.take(g.inFlight)); err != nil {
		return load{}, err
	}
	if err := g.keepUp(d / 4); err != nil {
		return load{}, err
	}
	before, begun := g.count, time.Now()
	if err := g.keepUp(d); err != nil {
		return load{}, err
	}
	l := load{calls: g.count - before, elapsed: time.Since(begun)}
	for g.count < g.calls.taken() {
		if _, err := g.receive(); err != nil {
			return load{}, err
		}
	}
	return l, nil
}

// first makes one call, whose answer is decoded and becomes the pattern.
func (g *generator) first() error {
	if err := g.send(g.calls.take(1)); err != nil {
		return err
	}
	line, err := g.answer(firstID)
	if err != nil {
		return err
	}
	if g.pattern, err = learn(line, firstID); err != nil {
		return g.wrong(err)
	}
	g.answered = append(g.answered, true)
	g.count++
	return nil
}

// keepUp receives answers for a while, and sends a call for each.
func (g *generator) keepUp(d time.Duration) error {
	for end := time.Now().Add(d); time.Now().Before(end); {
		n, err := g.receive()
		if err != nil {
			return err
		}
		if err := g.send(g.calls.take(n)); err != nil {
			return err
		}
	}
	return nil
}

// receive waits for answers, takes all that have come, and returns how many.
func (g *generator) receive() (int, error) {
	for n := 0; ; {
		line, err := g.line()
		if err != nil {
			return n, err
		}
		id, ok := g.pattern.id(line)
		if ok && g.inFlight == 1 {
			ok = checkAnswer(line, id) == nil
		}
		if !ok {
			if !bytes.Contains(line, []byte(`"method":`)) { // not a notification
				return n, g.wrong(fmt.Errorf("an answer unlike the first one: %s", line))
			}
		} else if err := g.note(id); err != nil {
			return n, g.wrong(err)
		} else {
			n++
		}
		waiting, _ := g.lines.Peek(g.lines.Buffered())
		if n > 0 && bytes.IndexByte(waiting, '\n') < 0 {
			return n, nil
		}
	}
}

// note takes down that an answer has come.
func (g *generator) note(id int) error {
	for len(g.answered) < g.calls.taken() {
		g.answered = append(g.answered, false)
	}
	i := id - firstID
	if i < 0 || i >= len(g.answered) {
		return fmt.Errorf("an answer to %d, which was not asked", id)
	}
	if g.answered[i] {
		return fmt.Errorf("a second answer to %d", id)
	}
	g.answered[i] = true
	g.count++
	return nil
}
