package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
)

// A session is the connection of a client.
type session struct {
	sup    *Supervisor
	client jsonrpc.Transport
	slots  [2]*slot
	began  time.Time
	ctx    context.Context // ends with the connection

	open  sync.WaitGroup // requests of the client without an answer, except subscriptions
	setup sync.Mutex     // held while a server gets the state of the session

	mu          sync.Mutex
	handshake   json.RawMessage // params of initialize; nil before it
	initialized bool
	level       json.RawMessage                   // params of logging/setLevel, or nil
	subscribed  map[string]json.RawMessage        // params of resources/subscribe, by URI
	listens     map[jsonrpc.ID]*listen            // by id
	questions   map[jsonrpc.ID]question           // requests of servers to the client, by the id that the client sees
	waiting     map[jsonrpc.ID]context.CancelFunc // requests of the client that wait for a server, by id
	lastID      int64
	lists       [2]lists // what the servers last listed, by kind
}

// A question is a request of a server to the client.
type question struct {
	from *peer
	id   jsonrpc.ID // of the server
}

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
		c.forward(c.ownerOf(text(param(m, "name"))), m)
	case "completion/complete":
		ref := param(m, "ref")
		c.forward(c.ownerOf(text(member(ref, "name"))+text(member(ref, "uri"))), m)
	default:
		c.forward(serverKind, m)
	}
}

// ownerOf returns the server of a tool, a prompt or a resource, by its name or URI.
func (c *session) ownerOf(name string) kind {
	if !c.sup.o.NoPetrock && (strings.HasPrefix(name, Prefix) || strings.HasPrefix(name, "petrock://")) {
		return petrockKind
	}
	return serverKind
}

func isStateless(m *jsonrpc.Message) bool { return param(m, "_meta", metaVersion) != nil }

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

// failed returns the answer to a request that failed. For a tool call it is a result, which the
// model sees.
func failed(m *jsonrpc.Message, err error) []byte {
	if m.Method() != "tools/call" {
		return jsonrpc.AppendError(nil, m.ID(), err)
	}
	content := slices.Concat([]byte(`[{"type":"text","text":`), quote(err.Error()), []byte("}]"))
	result := object(nil).with("content", content).with("isError", []byte("true"))
	if isStateless(m) {
		result = result.with("resultType", quote("complete"))
	}
	return response(m.ID(), result.json())
}

// reply sends the answer to a request of the client.
func (c *session) reply(raw []byte) {
	c.send(raw)
	c.open.Done()
}

func (c *session) send(raw []byte) { _ = c.client.Send(raw) } // if it fails, read ends
