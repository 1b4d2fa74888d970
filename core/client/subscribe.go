package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// Subscribe asks to be told, by [ClientOptions].ResourceUpdated, when a resource changes.
func (c *Client) Subscribe(ctx context.Context, uri string) error { return c.subscribe(ctx, uri, true) }

// Unsubscribe ends what [Client.Subscribe] began.
func (c *Client) Unsubscribe(ctx context.Context, uri string) error {
	return c.subscribe(ctx, uri, false)
}

func (c *Client) subscribe(ctx context.Context, uri string, on bool) error {
	c.mu.Lock()
	same := c.wanted[uri] == on
	if on {
		c.wanted[uri] = true
	} else {
		delete(c.wanted, uri)
	}
	c.mu.Unlock()
	if same {
		return nil
	}
	var err error
	switch a := c.told.Load(); {
	case a.revision.stateless():
		err = c.failed(c.listenAnew(ctx, a))
	case on:
		err = c.Request(ctx, "resources/subscribe", map[string]string{"uri": uri}, nil)
	default:
		err = c.Request(ctx, "resources/unsubscribe", map[string]string{"uri": uri}, nil)
	}
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if on {
			delete(c.wanted, uri)
		} else {
			c.wanted[uri] = true
		}
	}
	return err
}

// SetLevel asks to be told, by [ClientOptions].Logged, what the server logs from a level on.
func (c *Client) SetLevel(ctx context.Context, level Level) error {
	if !slices.Contains(levels(), level) {
		return fmt.Errorf("there is no level %q; there are %q", level, levels())
	}
	c.mu.Lock()
	c.level = level
	c.mu.Unlock()
	return c.failed(c.setLevel(ctx, c.told.Load()))
}

// setLevel tells the server the level. In revisions without sessions each request says it.
func (c *Client) setLevel(ctx context.Context, a *terms) error {
	level := c.logLevel()
	if level == "" || a.revision.stateless() || !a.capabilities.Has("logging") {
		return nil
	}
	_, err := c.ask(ctx, a, &outgoing{method: "logging/setLevel", members: func(dst []byte) ([]byte, error) {
		return appendMember(dst, "level", strictjson.AppendString(nil, string(level))), nil
	}})
	return err
}

func (c *Client) logLevel() Level {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.level
}

// newCard is what each request of a revision without sessions says of the client.
func (c *Client) newCard() ([]byte, error) {
	capabilities, err := c.capabilities(Latest)
	if err != nil {
		return nil, err
	}
	info, err := c.o.Info.AppendJSON(nil)
	if err != nil {
		return nil, fmt.Errorf("encoding who the client is: %w", err)
	}
	card := appendMember(nil, metaVersion, strictjson.AppendString(nil, string(Latest)))
	card = appendMember(card, metaCapabilities, capabilities)
	return appendMember(card, metaClientInfo, info), nil
}

// A listening is a request that brings changes as long as it lasts.
type listening struct {
	filter notificationFilter
	end    context.CancelFunc
	id     jsonrpc.ID
	placed chan struct{} // closed when it is the client's
}

// ackPatience is how long a server may take to say what it will tell of.
const ackPatience = 5 * time.Second

// wants is what to be told of, as far as the server tells of it.
func (c *Client) wants(a *terms) notificationFilter {
	c.mu.Lock()
	uris := slices.Sorted(maps.Keys(c.wanted))
	c.mu.Unlock()
	all := c.o.Notified != nil
	return notificationFilter{
		Tools:     (all || c.o.ToolsChanged != nil) && tells(a, "tools", "listChanged"),
		Prompts:   (all || c.o.PromptsChanged != nil) && tells(a, "prompts", "listChanged"),
		Resources: (all || c.o.ResourcesChanged != nil) && tells(a, "resources", "listChanged"),
		URIs:      uris,
	}
}

// tells reports whether a server has declared a part of a capability.
func tells(a *terms, capability, part string) bool {
	return string(memberOf(a.capabilities[capability], part)) == "true"
}

// listenAnew asks to be told of what is wanted now, in place of what was before. In sessions resources that were subscribed to are
// subscribed to again.
func (c *Client) listenAnew(ctx context.Context, a *terms) error {
	if !a.revision.stateless() {
		for _, uri := range c.wants(a).URIs {
			_, err := c.ask(ctx, a, &outgoing{method: "resources/subscribe", members: func(dst []byte) ([]byte, error) {
				return appendMember(dst, "uri", strictjson.AppendString(nil, uri)), nil
			}})
			if err != nil {
				c.o.Logger.Warn("subscribing again", "uri", uri, "error", err)
			}
		}
		return nil
	}
	select {
	case c.relisten <- struct{}{}: // what is wanted last is asked for last
		defer func() { <-c.relisten }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	filter := c.wants(a)
	var next *listening
	var err error
	if filter.Tools || filter.Prompts || filter.Resources || len(filter.URIs) > 0 {
		if next, err = c.startListening(ctx, a, filter); err != nil {
			return err
		}
	}
	c.mu.Lock()
	old := c.listen
	c.listen = next
	c.mu.Unlock()
	if next != nil {
		close(next.placed)
	}
	if old != nil {
		old.end()
	}
	return nil
}

// startListening sends subscriptions/listen and returns when the server has said what it will tell of.
func (c *Client) startListening(ctx context.Context, a *terms, filter notificationFilter) (*listening, error) {
	raw, err := strictjson.Marshal(filter)
	if err != nil {
		return nil, err
	}
	l := &listening{filter: filter, placed: make(chan struct{})}
	life, end := context.WithCancel(c.life)
	l.end = end
	ended := make(chan error, 1)
	acknowledged := make(chan struct{})
	r := &outgoing{method: "subscriptions/listen", members: func(dst []byte) ([]byte, error) {
		return appendMember(dst, "notifications", raw), nil
	}}
	r.onID = func(id jsonrpc.ID) {
		c.mu.Lock()
		defer c.mu.Unlock()
		l.id = id
		c.acks[id.String()] = acknowledged
	}
	go func() {
		_, err := c.ask(life, a, r)
		c.mu.Lock()
		delete(c.acks, l.id.String())
		c.mu.Unlock()
		ended <- err
		select {
		case <-l.placed:
			c.listenedOut(life, a, l, err)
		case <-life.Done():
		}
	}()
	timer := time.NewTimer(ackPatience)
	defer timer.Stop()
	select {
	case <-acknowledged:
		return l, nil
	case err := <-ended:
		select {
		case <-acknowledged:
			return l, nil // and ended since
		default:
		}
		end()
		if err == nil {
			err = errors.New("the server ended subscriptions/listen at once")
		}
		return nil, err
	case <-timer.C:
		end()
		return nil, &jsonrpc.TimeoutError{Method: "subscriptions/listen", After: ackPatience}
	case <-ctx.Done():
		end()
		return nil, context.Cause(ctx)
	}
}

// acknowledged takes note that the server will tell of what was asked for.
func (c *Client) acknowledged(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ack, ok := c.acks[id.String()]; ok {
		close(ack)
		delete(c.acks, id.String())
	}
}

// unlisten ends the listening of that id, which the server has ended.
func (c *Client) unlisten(id jsonrpc.ID) {
	c.mu.Lock()
	l := c.listen
	c.mu.Unlock()
	if l != nil && l.id == id {
		l.end()
	}
}

// listenedOut begins anew, after a while, what ended without our having ended it.
func (c *Client) listenedOut(life context.Context, a *terms, l *listening, err error) {
	for wait := time.Second; life.Err() == nil; wait = min(2*wait, time.Minute) {
		c.mu.Lock()
		current := c.listen == l
		c.mu.Unlock()
		if !current {
			return
		}
		c.o.Logger.Warn("being told of changes has ended", "error", err, "again in", wait)
		select {
		case <-time.After(wait):
		case <-life.Done():
			return
		case <-c.conn.Done():
			return
		}
		ctx, cancel := context.WithTimeout(life, ackPatience)
		err = c.listenAnew(ctx, a)
		cancel()
		if err == nil {
			return
		}
	}
}
