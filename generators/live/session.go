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
	interrupted := ctx.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &session{
		sup: s, client: client, began: time.Now(), ctx: ctx, interrupted: interrupted,
		subscribed: map[string]json.RawMessage{}, calls: map[string]*pending{}, listens: map[string]*listen{}, questions: map[string]question{},
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
	c.drain()
	cancel()
	servers.Wait() // calls that they have may finish within their grace period
	return errors.Join(err, client.Close())
}

// grace is how long calls may take when the client has closed the connection. The project's server
// has a shorter grace period. A signal ends calls that no server has.
const grace = 30 * time.Second

// closeGrace is how long the client has to read the last answers of the servers.
const closeGrace = 5 * time.Second

// drain waits for the calls that the project's server does not have, after the last was read.
func (c *session) drain() {
	passed := make(chan struct{})
	go func() {
		c.open.Wait()
		close(passed)
	}()
	select {
	case <-passed:
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
		case lost == nil && m.IsBatch():
			c.batch(m)
		case lost == nil:
			c.fromClient(m)
		case lost.Response:
			c.fromClient(failedResponse(lost))
		case lost.Notification:
			c.sup.logf("received an invalid notification: %v", lost)
		default: // the server refuses the message
			if p := c.slots[serverKind].current.Load(); isLost || p == nil || !p.forward(m) {
				c.send(jsonrpc.AppendError(nil, lost.ID, lost.Err))
			}
		}
	}
}

// batch forwards a batch to the project's server. Answers to questions go to the servers that
// asked, if the revision has batches; otherwise the server refuses the batch.
func (c *session) batch(m *jsonrpc.Message) {
	var rest [][]byte
	parts, _ := m.Batch() // if it is invalid, the server refuses it
	for i := range parts {
		if parts[i].IsResponse() && parts[i].Fault() == nil && text(member(c.handshake, "protocolVersion")) == "2025-03-26" {
			c.fromClient(&parts[i])
		} else {
			rest = append(rest, parts[i].Raw())
		}
	}
	switch len(rest) {
	case len(parts):
		c.forward(serverKind, m)
	case 0:
	default:
		c.forward(serverKind, parse(array(rest)))
	}
}

// fromClient handles a message of the client.
func (c *session) fromClient(m *jsonrpc.Message) {
	switch {
	case m.IsResponse():
		c.mu.Lock()
		q, ok := c.questions[m.ID().Key()]
		delete(c.questions, m.ID().Key())
		c.mu.Unlock()
		if ok {
			q.from.send(m.WithID(q.id))
		}
	case !m.IsRequest():
		c.notification(m)
	case !c.isInUse(m) && !c.listen(m):
		c.mu.Lock()
		c.calls[m.ID().Key()] = &pending{Message: m}
		c.mu.Unlock()
		c.open.Add(1)
		c.request(m)
	}
}

// isInUse reports whether a call has the id of a request. Then a server refuses the request.
func (c *session) isInUse(m *jsonrpc.Message) bool {
	key, p := m.ID().Key(), c.slots[serverKind].current.Load()
	c.mu.Lock()
	first, l := c.calls[key], c.listens[key]
	if first != nil {
		p = first.at
	}
	c.mu.Unlock()
	switch {
	case first == nil && l == nil:
		return false
	case p != nil:
		p.send(m.Raw())
	default:
		c.send(jsonrpc.AppendError(nil, jsonrpc.ID{}, jsonrpc.Errorf(jsonrpc.InvalidRequest, "the id %s is in use by a request that has not been answered yet", m.ID())))
	}
	return true
}

// request handles a call. If it is for the project's server alone, which runs, it is only
// forwarded, unless it changes the state of the session.
func (c *session) request(m *jsonrpc.Message) {
	isRunning := c.slots[serverKind].current.Load() != nil
	switch method := m.Method(); method {
	case "initialize":
		c.initialize(m)
	case "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		c.setState(m, method)
	case "ping":
		if isRunning || isStateless(m) {
			c.forward(serverKind, m)
			return
		}
		c.reply(m.ID(), response(m.ID(), json.RawMessage("{}")))
	case "server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list":
		switch {
		case !c.isServed(m), isRunning && c.sup.o.NoPetrock:
			c.forward(serverKind, m)
		case method == "server/discover":
			go c.discover(m)
		default:
			go c.list(m, method)
		}
	case "resources/read":
		uri := text(param(m, "uri"))
		if k := c.ownerOf(uri); k != petrockKind || !c.isServed(m) || !c.readPage(m, uri) {
			c.forward(k, m)
		}
	case "tools/call", "prompts/get":
		if !c.sup.o.NoPetrock && text(param(m, "name")) == Prefix+"data" && slices.Contains([]string{"reset", "restore"}, text(param(m, "arguments", "action"))) {
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

// setState forwards a request that changes the state of the session, and records the state for
// later servers.
func (c *session) setState(m *jsonrpc.Message, method string) {
	c.setup.Lock() // later servers have the state, or get the request
	defer c.setup.Unlock()
	uri := text(param(m, "uri"))
	c.mu.Lock()
	switch {
	case !c.initialized || isStateless(m): // it is refused
	case method == "logging/setLevel" && slices.Contains(levels, text(param(m, "level"))):
		c.level = m.Params()
		if p := c.slots[petrockKind].current.Load(); p != nil {
			go p.call(c.ctx, method, m.Params())
		}
	case method == "resources/subscribe":
		c.subscribed[uri] = m.Params()
	default:
		delete(c.subscribed, uri)
	}
	c.mu.Unlock()
	c.forward(c.ownerOf(uri), m)
}

// isServed reports whether servers answer a request: it is part of an initialized session, or
// stateless.
func (c *session) isServed(m *jsonrpc.Message) bool {
	if isStateless(m) {
		return text(param(m, "_meta", metaVersion)) == latest && strictjson.First(param(m, "_meta", metaCapabilities)) == '{'
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.initialized
}

// listen starts a subscription of the client, and reports whether m is one. A server that runs
// accepts or refuses it.
func (c *session) listen(m *jsonrpc.Message) bool {
	if m.Method() != "subscriptions/listen" || !isStateless(m) || !c.isServed(m) || strictjson.First(param(m, "notifications")) != '{' {
		return false
	}
	l := &listen{Message: m}
	c.setup.Lock()
	defer c.setup.Unlock()
	c.mu.Lock()
	c.listens[m.ID().Key()] = l
	c.mu.Unlock()
	for _, sl := range c.slots {
		if p := sl.current.Load(); p != nil {
			c.subscribe(p, l)
		}
	}
	if c.slots[serverKind].current.Load() == nil {
		c.acknowledge(l, nil)
	}
	return true
}

func (c *session) notification(m *jsonrpc.Message) {
	switch m.Method() {
	case "notifications/initialized":
		c.setup.Lock()
		defer c.setup.Unlock()
		c.mu.Lock()
		c.initialized = c.handshake != nil
		c.mu.Unlock()
	case "notifications/cancelled":
		c.cancelled(m)
		return
	}
	c.toAll(m.Raw())
}

// toAll sends a message to all servers that have the state of the session.
func (c *session) toAll(raw []byte) {
	for k, sl := range c.slots {
		if p := sl.current.Load(); p != nil && (kind(k) == serverKind || !c.sup.o.NoPetrock) {
			p.send(raw)
		}
	}
}

// cancelled handles notifications/cancelled of the client.
func (c *session) cancelled(m *jsonrpc.Message) {
	id := idParam(m, "requestId")
	c.mu.Lock()
	x, l := c.calls[id.Key()], c.listens[id.Key()]
	delete(c.listens, id.Key())
	if x != nil && x.at == nil && x.cancel != nil {
		x.cancel()
	}
	c.mu.Unlock()
	c.cancelForwarded(id, m.Raw())
	if l != nil {
		c.toAll(m.Raw())
	}
}

// cancelForwarded passes a notifications/cancelled to the server of a call.
func (c *session) cancelForwarded(id jsonrpc.ID, raw []byte) {
	if x := c.take(nil, id); x != nil {
		x.at.send(raw)
		if x.at.slot.kind == petrockKind {
			c.open.Done()
		}
	}
}

// forward sends a call, a batch or an invalid message to a server, when it runs.
func (c *session) forward(k kind, m *jsonrpc.Message) {
	if p := c.slots[k].current.Load(); p != nil && p.forward(m) {
		return
	}
	ctx, cancel := context.WithCancel(c.ctx)
	c.mu.Lock()
	if x := c.calls[m.ID().Key()]; x != nil {
		x.cancel = cancel
	}
	c.mu.Unlock()
	go func() {
		defer cancel()
		err := c.forwardLater(ctx, k, m)
		switch {
		case !m.IsRequest():
			if err != nil && ctx.Err() == nil {
				c.send(jsonrpc.AppendError(nil, jsonrpc.ID{}, err))
			}
		case err != nil && ctx.Err() != nil:
			c.drop(m.ID())
			c.open.Done()
		case err != nil:
			c.reply(m.ID(), failed(m, err))
		case ctx.Err() != nil: // the server got it at the same time
			c.cancelForwarded(m.ID(), cancellation(m.ID()))
		}
	}()
}

// stopTime is how long calls in flight may delay a call that needs the data for itself.
const stopTime = 10 * time.Second

// forwardAlone forwards a call to the dev server while the project's servers of all sessions are
// stopped. Other calls wait. If a server does not end in time, because it is busy, the call fails,
// because that server has the data open. The call cannot be cancelled.
func (c *session) forwardAlone(m *jsonrpc.Message) {
	ctx, cancel := context.WithTimeout(c.ctx, stopTime)
	defer cancel()
	c.sup.update(func() { c.sup.held++ })
	for ctx.Err() == nil && c.sup.hasServers() {
		time.Sleep(20 * time.Millisecond)
	}
	var result json.RawMessage
	p, err := c.slots[petrockKind].await(c.ctx)
	if err == nil {
		result, err = p.call(c.ctx, m.Method(), m.Params())
	}
	c.sup.update(func() { c.sup.held-- })
	c.sup.restart()
	if err != nil {
		c.reply(m.ID(), failed(m, err))
		return
	}
	c.drop(m.ID())
	c.answered(p, &pending{Message: m}, parse(response(m.ID(), result)))
}

// hasServers reports whether a server of the project runs or is being started, for any session.
func (s *Supervisor) hasServers() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for session := range s.sessions {
		sl := session.slots[serverKind]
		if sl.starting || sl.current.Load() != nil || slices.ContainsFunc(sl.old, func(p *peer) bool { return !p.hasEnded() }) {
			return true
		}
	}
	return false
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
