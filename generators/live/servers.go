package live

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/jsonrpc"
)

// fromPeer handles a message of a server.
func (c *session) fromPeer(p *peer, m *jsonrpc.Message) {
	switch {
	case m.IsBatch(), m.IsResponse() && m.ID().IsZero():
		c.send(m.Raw()) // the answers to a batch, or to an invalid message
	case m.IsResponse():
		p.answer(m)
	case m.IsRequest():
		c.mu.Lock()
		c.lastID++
		id := stringID(fmt.Sprintf("petrock-%d", c.lastID))
		c.questions[id] = question{p, m.ID()}
		c.mu.Unlock()
		c.send(m.WithID(id))
	default:
		c.notified(p, m)
	}
}

// notified handles a notification of a server.
func (c *session) notified(p *peer, m *jsonrpc.Message) {
	method := m.Method()
	isChange := strings.HasSuffix(method, "/list_changed") || method == "notifications/resources/updated"
	switch {
	case isChange && p.slot.current.Load() != p, isChange && p.slot.kind == petrockKind && c.sup.o.NoPetrock:
		return
	case param(m, "_meta", metaSubscription) != nil:
		c.published(p, m)
	case method == "notifications/cancelled":
		id := idParam(m, "requestId")
		c.mu.Lock()
		for shown, q := range c.questions {
			if q.from == p && q.id == id {
				delete(c.questions, shown)
				c.send(cancellation(shown, param(m, "reason")))
			}
		}
		c.mu.Unlock()
	default:
		c.send(m.Raw())
	}
}

// answered sends the answer of a server to the client. Changes that petrock's tools made are built
// first, so that the next list has what a generator made.
func (c *session) answered(p *peer, call, answer *jsonrpc.Message) {
	if p.slot.kind != petrockKind || call.Method() != "tools/call" {
		c.reply(p.stamp(answer.Raw()))
		return
	}
	go func() {
		if restarts(call, answer) {
			c.sup.restart()
		}
		if err := c.sup.settle(c.ctx); err == nil {
			c.slots[serverKind].awaitSettled(c.ctx)
		}
		if state, reason := c.slots[serverKind].condition(); state != "" {
			answer = warn(call, answer, state, reason)
		}
		c.reply(p.stamp(answer.Raw()))
	}()
}

// ended withdraws the questions of a server that has ended, and its subscriptions.
func (c *session) ended(p *peer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for shown, q := range c.questions {
		if q.from == p {
			delete(c.questions, shown)
			c.send(cancellation(shown, nil))
		}
	}
	for _, l := range c.listens {
		delete(l.ids, p)
	}
}

// install gives a new server the state of the session and makes it the current one. Clients learn
// of changed lists.
func (c *session) install(ctx context.Context, sl *slot, p *peer) error {
	// The first answer may take long, so it is awaited before the session is held up.
	if _, err := p.call(ctx, "server/discover", object(nil).with("_meta", statelessMeta()).json()); err != nil {
		return err
	}
	c.setup.Lock()
	defer c.setup.Unlock()
	c.mu.Lock()
	handshake, initialized, level := c.handshake, c.initialized, c.level
	var subscribed []json.RawMessage
	for uri, params := range c.subscribed {
		if c.ownerOf(uri) == sl.kind {
			subscribed = append(subscribed, params)
		}
	}
	listens := slices.Collect(maps.Values(c.listens))
	c.mu.Unlock()
	if handshake != nil {
		if _, err := p.call(ctx, "initialize", handshake); err != nil {
			return err
		}
	}
	if initialized {
		p.send(notification("notifications/initialized", nil))
		if level != nil {
			_, _ = p.call(ctx, "logging/setLevel", level) // the server may not have logging
		}
		for _, params := range subscribed {
			_, _ = p.call(ctx, "resources/subscribe", params) // the resource may be gone
		}
	}
	now := listsOf(ctx, p)
	sl.swap(p)
	for _, l := range listens {
		l.open(p)
	}
	if sl.kind == petrockKind {
		c.sup.update(func() { c.sup.mustDerive = true })
		c.sup.lookSoon()
		if c.sup.o.NoPetrock {
			return nil
		}
	}
	c.listsChanged(sl.kind, now)
	return nil
}

// say logs a line, and sends it to the client.
func (c *session) say(level, said string) {
	c.sup.logf("%s", said)
	c.notice(level, said)
}

// notice sends a log message to the client, if the client has a session.
func (c *session) notice(level, said string) {
	c.mu.Lock()
	ok, wanted := c.initialized, text(member(c.level, "level"))
	c.mu.Unlock()
	levels := []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
	if !ok || slices.Index(levels, level) < slices.Index(levels, wanted) {
		return
	}
	c.send(notification("notifications/message", object(nil).with("level", quote(level)).with("logger", quote("petrock")).with("data", quote(said)).json()))
}
