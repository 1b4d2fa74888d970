package main

import (
	"context"
	"fmt"
	"time"

	"github.com/petrock/petrock/bench/internal/wire"
	"github.com/petrock/petrock/bench/internal/work"
)

// A client is a conversation with a server.
type client struct {
	*process
	ready  time.Duration // from the start of the process to the list of tools
	nextID int           // for what is not taken from calls
}

// connect starts a server and brings it to where it has listed its tools. With wait, it
// has slow and busy too. The caller must call stop or kill.
func connect(ctx context.Context, s server, doing string, limit time.Duration, wait bool) (*client, error) {
	var args []string
	tools := 1
	if wait {
		args, tools = []string{work.WaitFlag}, 3
	}
	p, err := startProcess(ctx, s, doing, limit, args...)
	if err != nil {
		return nil, err
	}
	c := &client{process: p, nextID: firstID}
	if err := c.shakeHands(tools); err != nil {
		c.kill()
		return nil, err
	}
	return c, nil
}

func (c *client) shakeHands(tools int) error {
	if err := c.send([]byte(initialize)); err != nil {
		return err
	}
	if _, err := c.answer(initializeID); err != nil {
		return err
	}
	if err := c.send([]byte(list)); err != nil {
		return err
	}
	line, err := c.answer(listID)
	c.ready = time.Since(c.begun)
	if err != nil {
		return err
	}
	return c.wrong(checkList(line, tools))
}

// answer reads until the answer with the given id comes, and passes over the rest.
func (c *client) answer(id int) ([]byte, error) {
	for {
		got, line, err := c.anyAnswer()
		if err != nil || got == id {
			return line, err
		}
	}
}

// anyAnswer reads the next answer, and passes over notifications.
func (c *client) anyAnswer() (id int, line []byte, err error) {
	for {
		line, err := c.line()
		if err != nil {
			return 0, nil, err
		}
		begin, end, ok := wire.ID(line)
		if !ok {
			continue
		}
		if id, ok := wire.Number(line[begin:end]); ok {
			return id, line, nil
		}
		return 0, nil, c.wrong(fmt.Errorf("an id that was never sent: %s", line))
	}
}

// newID returns an id that was not used yet.
func (c *client) newID() int {
	c.nextID++
	return c.nextID - 1
}

// wrong says who answered wrongly, and when. It returns nil for nil.
func (c *client) wrong(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w (while %s)", c.server.name, err, c.doing)
}
