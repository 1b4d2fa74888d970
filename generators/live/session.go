package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// Serve connects a client, until it closes the connection or ctx ends.
func (s *Supervisor) Serve(ctx context.Context, client jsonrpc.Transport) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &session{
		sup: s, client: client, began: time.Now(), ctx: ctx,
		subscribed: map[string]json.RawMessage{}, listens: map[jsonrpc.ID]*listen{},
		questions: map[jsonrpc.ID]question{}, waiting: map[jsonrpc.ID]context.CancelFunc{},
	}
	c.lists = c.firstLists()
	var servers sync.WaitGroup
	for k := range c.slots {
		c.slots[k] = &slot{s: c, kind: kind(k)}
	}
	s.mu.Lock()
	s.sessions[c] = struct{}{}
	s.mu.Unlock()
	for _, sl := range c.slots {
		servers.Go(func() { sl.run(ctx) })
	}
	ended := make(chan error, 1)
	go func() { ended <- c.read() }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
	}
	s.mu.Lock()
	delete(s.sessions, c)
	s.mu.Unlock()
	if ctx.Err() == nil {
		c.drain()
	}
	cancel()
	// A client that does not read holds up the last answers, and so the end of the servers.
	unread := time.AfterFunc(closeGrace, func() { _ = client.Close() })
	servers.Wait()
	unread.Stop()
	return errors.Join(err, client.Close())
}

// grace is how long calls may take when the client has closed the connection. A signal ends them
// earlier.
const grace = 30 * time.Second

// closeGrace is how long the client has to read the last answers of the servers.
const closeGrace = 5 * time.Second

// drain waits until the requests of the client have been answered, after the last of them was read.
func (c *session) drain() {
	answered := make(chan struct{})
	go func() {
		c.open.Wait()
		close(answered)
	}()
	select {
	case <-answered:
	case <-c.ctx.Done():
	case <-time.After(grace):
	}
}

// read handles the messages of the client, until the connection ends.
func (c *session) read() error {
	for {
		raw, err := c.client.Receive()
		lost, isLost := errors.AsType[*jsonrpc.MessageError](err)
		if err != nil && !isLost {
			if c.ctx.Err() != nil || isEOF(err) {
				return nil
			}
			return err
		}
		m := parse(raw)
		if !isLost {
			lost = m.Fault()
		}
		switch {
		case lost == nil && !m.IsBatch():
			c.fromClient(m)
		case lost != nil && lost.Response:
			c.fromClient(failedResponse(lost))
		case lost != nil && lost.Notification:
			c.sup.logf("received an invalid notification: %v", lost)
		case isLost, lost != nil && !lost.ID.IsZero():
			c.send(jsonrpc.AppendError(nil, lost.ID, lost.Err))
		default:
			c.forward(serverKind, m) // it refuses the message, or serves the batch as a whole
		}
	}
}

// fromClient handles a message of the client.
func (c *session) fromClient(m *jsonrpc.Message) {
	switch {
	case m.IsResponse():
		c.mu.Lock()
		q, ok := c.questions[m.ID()]
		delete(c.questions, m.ID())
		c.mu.Unlock()
		if ok {
			q.from.send(m.WithID(q.id))
		}
	case m.IsRequest():
		c.request(m)
	default:
		c.notification(m)
	}
}

func (c *session) request(m *jsonrpc.Message) {
	method := m.Method()
	if method != "subscriptions/listen" {
		c.open.Add(1)
	}
	switch method {
	case "initialize":
		c.initialize(m)
	case "server/discover":
		go c.discover(m)
	case "ping":
		if isStateless(m) {
			c.forward(serverKind, m)
			return
		}
		c.reply(response(m.ID(), json.RawMessage("{}")))
	case "tools/list", "prompts/list", "resources/list", "resources/templates/list":
		go c.list(m, method)
	case "subscriptions/listen":
		c.listen(m)
	case "logging/setLevel":
		c.mu.Lock()
		c.level = m.Params()
		c.mu.Unlock()
		if p := c.slots[petrockKind].current.Load(); p != nil {
			go p.call(c.ctx, method, m.Params())
		}
		c.forward(serverKind, m)
	case "resources/subscribe", "resources/unsubscribe":
		uri := text(param(m, "uri"))
		c.mu.Lock()
		delete(c.subscribed, uri)
		if method == "resources/subscribe" {
			c.subscribed[uri] = m.Params()
		}
		c.mu.Unlock()
		c.forward(c.ownerOf(uri), m)
	case "resources/read":
		c.forward(c.ownerOf(text(param(m, "uri"))), m)
	case "tools/call", "prompts/get":
		if needsData(m) {
			go c.forwardAlone(m)
			return
		}
		c.forward(c.ownerOf(text(param(m, "name"))), m)
	case "completion/complete":
		ref := param(m, "ref")
		c.forward(c.ownerOf(text(member(ref, "name"))+text(member(ref, "uri"))), m)
	default:
		c.forward(serverKind, m)
	}
}

// listen starts a subscription of the client. A server that runs accepts or refuses it.
func (c *session) listen(m *jsonrpc.Message) {
	if !isStateless(m) || strictjson.First(param(m, "notifications")) != '{' {
		c.open.Add(1)
		c.forward(serverKind, m) // it refuses the request
		return
	}
	l := &listen{c: c, request: m, ids: map[*peer]jsonrpc.ID{}}
	c.setup.Lock()
	defer c.setup.Unlock()
	c.mu.Lock()
	c.listens[m.ID()] = l
	c.mu.Unlock()
	isAsked := false
	for _, sl := range c.slots {
		if p := sl.current.Load(); p != nil {
			l.open(p)
			isAsked = true
		}
	}
	if !isAsked {
		c.mu.Lock()
		defer c.mu.Unlock()
		l.acknowledge()
	}
}

func (c *session) notification(m *jsonrpc.Message) {
	switch m.Method() {
	case "notifications/initialized":
		c.setup.Lock()
		defer c.setup.Unlock()
		c.mu.Lock()
		c.initialized = true
		c.mu.Unlock()
		c.toAll(m.Raw())
	case "notifications/cancelled":
		c.cancelled(m)
	default:
		c.toAll(m.Raw())
	}
}

// toAll sends a message to all servers.
func (c *session) toAll(raw []byte) {
	for _, sl := range c.slots {
		if p := sl.current.Load(); p != nil {
			p.send(raw)
		}
	}
}

// cancelled handles notifications/cancelled of the client.
func (c *session) cancelled(m *jsonrpc.Message) {
	id := idParam(m, "requestId")
	c.mu.Lock()
	cancel, l := c.waiting[id], c.listens[id]
	delete(c.listens, id)
	c.mu.Unlock()
	switch {
	case cancel != nil:
		cancel()
	case l != nil:
		l.stop()
	default:
		c.cancelForwarded(id, m.Raw())
	}
}

// cancelForwarded passes a notifications/cancelled to the server of a request.
func (c *session) cancelForwarded(id jsonrpc.ID, raw []byte) {
	for _, sl := range c.slots {
		for _, p := range sl.all() {
			if _, ok := p.take(id); ok {
				p.send(raw)
				c.open.Done()
			}
		}
	}
}

// forward sends a message to a server, when it runs.
func (c *session) forward(k kind, m *jsonrpc.Message) {
	if p := c.slots[k].current.Load(); p != nil && p.forward(m) {
		return
	}
	ctx, cancel := context.WithCancel(c.ctx)
	if m.IsRequest() {
		c.mu.Lock()
		c.waiting[m.ID()] = cancel
		c.mu.Unlock()
	}
	go func() {
		defer cancel()
		err := c.forwardLater(ctx, k, m)
		c.mu.Lock()
		delete(c.waiting, m.ID())
		c.mu.Unlock()
		switch {
		case !m.IsRequest():
		case err != nil && ctx.Err() != nil:
			c.open.Done()
		case err != nil:
			c.reply(failed(m, err))
		case ctx.Err() != nil: // the server got it at the same time
			c.cancelForwarded(m.ID(), cancellation(m.ID(), nil))
		}
	}()
}

// stopTime is how long calls in flight may delay a call that needs the data for itself.
const stopTime = 10 * time.Second

// forwardAlone forwards a call to the dev server while the project's servers of all sessions are
// stopped. Other calls wait. If a server does not end in time, because it is busy, the call fails,
// because that server has the data open.
func (c *session) forwardAlone(m *jsonrpc.Message) {
	ctx, cancel := context.WithTimeout(c.ctx, stopTime)
	defer cancel()
	c.sup.update(func() { c.sup.held++ })
	for _, s := range c.sup.all() {
		sl := s.slots[serverKind]
		_ = c.sup.await(ctx, func() bool { return !sl.starting && sl.current.Load() == nil })
		for _, p := range sl.all() {
			select {
			case <-p.done:
			case <-ctx.Done():
			}
		}
	}
	c.forward(petrockKind, m)
	for c.ctx.Err() == nil && c.inFlight(m.ID()) {
		time.Sleep(20 * time.Millisecond)
	}
	c.sup.update(func() { c.sup.held-- })
	c.sup.restart()
}

// inFlight reports whether a call waits for the dev server or for its answer.
func (c *session) inFlight(id jsonrpc.ID) bool {
	c.mu.Lock()
	isWaiting := c.waiting[id] != nil
	c.mu.Unlock()
	return isWaiting || slices.ContainsFunc(c.slots[petrockKind].all(), func(p *peer) bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.calls[id] != nil
	})
}

// forwardLater waits for a server and then forwards a message. Meanwhile it reports progress.
func (c *session) forwardLater(ctx context.Context, k kind, m *jsonrpc.Message) error {
	if token := param(m, "_meta", "progressToken"); token != nil {
		waited := make(chan struct{})
		defer close(waited)
		go c.reportWaiting(token, c.slots[k].folder(), waited)
	}
	for {
		p, err := c.slots[k].await(ctx)
		if err != nil || p.forward(m) {
			return err
		}
		if c.slots[k].current.Load() == p { // otherwise it was replaced
			<-p.done
		}
	}
}

// reportWaiting reports the seconds that a call has waited, as thousandths, so that the progress of
// the call itself is higher.
func (c *session) reportWaiting(token json.RawMessage, folder string, until <-chan struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for seconds := 1; ; seconds++ {
		select {
		case <-until:
			return
		case <-tick.C:
			progress := strconv.AppendFloat(nil, float64(seconds)/1000, 'f', 3, 64)
			c.send(notification("notifications/progress", object(nil).with("progressToken", token).with("progress", progress).
				with("message", quote(fmt.Sprintf("building %s (%d s)", folder, seconds))).json()))
		}
	}
}
