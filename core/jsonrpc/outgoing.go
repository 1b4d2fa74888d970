package jsonrpc

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/petrock/petrock/core/strictjson"
)

// Call sends a request, waits for the answer and decodes its result into result,
// which may be nil. An error of the peer is returned as an [*Error]. If ctx
// ends first, Call returns the cause at once and the answer is dropped when it comes; telling
// the peer is up to the caller, who knows how. A peer that does not read may keep Call
// from sending, and then ctx is looked at only afterwards.
//
// params must encode to an object or an array; nil sends none.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	_, err := c.CallID(ctx, method, params, result)
	return err
}

// CallID is [Conn.Call] and also returns the id that the request was sent with,
// for a protocol that has a way to give up a request.
func (c *Conn) CallID(ctx context.Context, method string, params, result any) (ID, error) {
	raw, err := encodeParams(method, params)
	if err != nil {
		return ID{}, err
	}
	answer := make(chan message, 1)
	id, err := c.enter(answer)
	if err != nil {
		return ID{}, fmt.Errorf("calling %s: %w", method, err)
	}
	defer c.leave(id)
	send := c.send
	if r := c.requestOf(ctx); r != nil {
		r.Release() // before sending: the peer may not read until it has been read from
		if r.out != nil {
			send = r.out.Send
		}
	}
	if err := send(appendRequest(nil, id, method, raw)); err != nil {
		return id, fmt.Errorf("calling %s: %w", method, err)
	}
	select {
	case m, ok := <-answer:
		switch {
		case !ok:
			return id, fmt.Errorf("calling %s: %w", method, ErrClosed)
		case m.err != nil:
			return id, m.err
		case result == nil:
			return id, nil
		}
		if raw, ok := result.(*json.RawMessage); ok {
			*raw = m.result
			return id, nil
		}
		if err := strictjson.Unmarshal(m.result, result); err != nil {
			return id, fmt.Errorf("reading the result of %s: %w", method, err)
		}
		return id, nil
	case <-ctx.Done():
		return id, fmt.Errorf("calling %s: %w", method, context.Cause(ctx))
	}
}

// Notify sends a notification. It returns when the transport has taken it,
// whatever becomes of the context.
func (c *Conn) Notify(_ context.Context, method string, params any) error {
	return notify(c.send, method, params)
}

func notify(send func([]byte) error, method string, params any) error {
	raw, err := encodeParams(method, params)
	if err != nil {
		return err
	}
	if err := send(appendRequest(nil, ID{}, method, raw)); err != nil {
		return fmt.Errorf("notifying %s: %w", method, err)
	}
	return nil
}

func encodeParams(method string, params any) (json.RawMessage, error) {
	if params == nil {
		return nil, nil
	}
	raw, err := appendJSON(nil, params)
	if err != nil {
		return nil, fmt.Errorf("encoding the params of %s: %w", method, err)
	}
	if c := strictjson.First(raw); c != '{' && c != '[' {
		return nil, fmt.Errorf("encoding the params of %s: must be an object or an array, got %s", method, strictjson.Describe(raw))
	}
	return raw, nil
}

// enter makes an id under which answer waits.
func (c *Conn) enter(answer chan<- message) (ID, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ID{}, ErrClosed
	}
	c.lastID++
	id := IntID(c.lastID)
	c.calls[id.key()] = answer
	return id, nil
}

func (c *Conn) leave(id ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, id.key())
}

// deliver hands a response to the call that waits for it.
func (c *Conn) deliver(m message) {
	c.mu.Lock()
	answer, ok := c.calls[m.id.key()]
	delete(c.calls, m.id.key())
	c.mu.Unlock()
	if !ok {
		c.log.Debug("a response that nobody waits for", "id", m.id.String())
		return
	}
	answer <- m
}

// abandonCalls ends the calls that wait: nobody reads their answers any more.
func (c *Conn) abandonCalls() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for key, answer := range c.calls {
		close(answer)
		delete(c.calls, key)
	}
}
