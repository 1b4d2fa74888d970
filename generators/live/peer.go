package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/plumbing/process"
	"github.com/petrock/petrock/core/strictjson"
)

// MaxMessage limits a forwarded message, in bytes. The servers have their own, lower limits.
const MaxMessage = 256 << 20

// take removes a call that p has, or any server if p is nil, and returns it. It returns nil if
// there is none.
func (c *session) take(p *peer, id jsonrpc.ID) *pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.calls[id.Key()]
	if x == nil || x.at == nil || p != nil && x.at != p {
		return nil
	}
	delete(c.calls, id.Key())
	x.at.calls--
	x.at.closeIfRetired()
	return x
}

// maxID limits the id of a call whose answer is awaited, in bytes. If the message of a longer one
// is too large, the server refuses it without its id.
const maxID = 256

// forward sends a call, a batch or an invalid message of the client. It reports false if the
// connection has ended, or the server was replaced.
func (p *peer) forward(m *jsonrpc.Message) bool {
	p.s.mu.Lock()
	if p.ended || p.retiring {
		p.s.mu.Unlock()
		return false
	}
	switch x := p.s.calls[m.ID().Key()]; {
	case !m.IsRequest(), x == nil:
	case p.slot.kind == serverKind && len(m.ID().String()) > maxID:
		delete(p.s.calls, m.ID().Key())
	default:
		x.at = p
		p.calls++
	}
	p.s.mu.Unlock()
	_ = p.transport.Send(m.Raw()) // if it fails, the connection ends, and end answers the call
	if m.IsRequest() && p.slot.kind == serverKind {
		p.s.open.Done()
	}
	return true
}

// send sends a message of the session.
func (p *peer) send(raw []byte) { _ = p.transport.Send(raw) }

// ownPrefix begins the ids of the session's own requests.
const ownPrefix = "petrock-dev-"

// call sends a request of the session and returns its result.
func (p *peer) call(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	answer := make(chan *jsonrpc.Message, 1)
	p.s.mu.Lock()
	if p.ended {
		p.s.mu.Unlock()
		return nil, p.whyEnded()
	}
	p.lastID++
	id, _ := jsonrpc.ParseID(quote(ownPrefix + strconv.FormatInt(p.lastID, 10))) // every string is an id
	p.own[id.Key()] = answer
	p.s.mu.Unlock()
	p.send(request(id, method, params))
	select {
	case m, ok := <-answer:
		switch {
		case !ok:
			return nil, p.whyEnded()
		case m.Err() != nil:
			return nil, m.Err()
		}
		return m.Result(), nil
	case <-ctx.Done():
		p.s.mu.Lock()
		delete(p.own, id.Key())
		p.s.mu.Unlock()
		p.send(cancellation(id))
		return nil, context.Cause(ctx)
	}
}

// hasEnded reports whether the connection has ended and its calls have been answered.
func (p *peer) hasEnded() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// retire closes the connection once the calls in flight have been answered.
func (p *peer) retire() {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.retiring = true
	p.closeIfRetired()
}

func (p *peer) closeIfRetired() {
	if p.retiring && p.calls == 0 && !p.ended {
		go p.close()
	}
}

// close ends the input of the server, and waits until its connection and its process have ended.
// The server lets its calls finish within its grace period.
func (p *peer) close() {
	p.s.mu.Lock()
	p.retiring = true
	calls := p.calls
	p.s.mu.Unlock()
	_ = p.transport.Close() // sends what is queued, and closes the input
	if calls > 0 {
		p.process.ExitsWithin(grace)
	}
	p.process.Close()
	if p.s.ctx.Err() != nil { // a client that does not read holds up the last answers
		defer time.AfterFunc(closeGrace, func() { _ = p.s.client.Close() }).Stop()
	}
	<-p.done
}

// whyEnded describes why the server is gone.
func (p *peer) whyEnded() error {
	state := p.process.ExitState()
	if cause := panicOf(p.process.Stderr(), p.s.sup.o.Root); cause != "" {
		return fmt.Errorf("%s crashed: %s", p.slot.folder(), cause)
	}
	said := p.process.Stderr()
	if prefix := p.s.sup.o.Name + ": "; strings.Contains("\n"+said, "\n"+prefix) { // the error of its command line
		said = said[strings.LastIndex("\n"+said, "\n"+prefix)+len(prefix):]
	} else if lines := strings.Split(said, "\n"); len(lines) > 5 {
		said = strings.Join(lines[len(lines)-5:], "\n")
	}
	if said != "" {
		said = ": " + said
	}
	return fmt.Errorf("%s exited (%s)%s", p.slot.folder(), state, said)
}

// panicOf returns the panic or fatal error in the standard error of a Go program, with the
// position in the project, or "".
func panicOf(stderr, root string) string {
	at := max(strings.LastIndex("\n"+stderr, "\npanic: "), strings.LastIndex("\n"+stderr, "\nfatal error: "))
	if at < 0 {
		return ""
	}
	cause, trace, _ := strings.Cut(stderr[at:], "\n")
	if file, line := process.PanicPosition(root, trace); file != "" {
		cause = fmt.Sprintf("%s at %s:%d", cause, file, line)
	}
	return cause
}

// loggedPanic returns the panic of a call that the server caught and logged, like panicOf.
func loggedPanic(stderr string, call *jsonrpc.Message, root string) string {
	id := call.ID().String()
	if id[0] == '"' {
		id = strconv.Quote(id)
	}
	key := " method=" + call.Method() + " id=" + id + " panic="
	at := strings.LastIndex(stderr, key)
	if at < 0 {
		return ""
	}
	value, trace, _ := strings.Cut(stderr[at+len(key):], " stack=")
	if unquoted, err := strconv.Unquote(value); err == nil {
		value = unquoted
	}
	trace, err := strconv.QuotedPrefix(trace)
	if err != nil {
		return "" // the rest of the line follows
	}
	trace, _ = strconv.Unquote(trace) // it is quoted
	return panicOf("panic: "+value+"\n"+trace, root)
}

// connect starts the server of a slot. Its messages go to the session.
func (sl *slot) connect(l launch) (*peer, error) {
	o := sl.s.sup.o
	child, err := process.Start(process.Command{Program: l.program.path, Args: sl.args(l), Environ: o.environ, Env: sl.env(l.program), Dir: o.Root, Stderr: o.Log, Interrupted: sl.s.interrupted})
	if err != nil {
		return nil, err
	}
	p := &peer{
		s: sl.s, slot: sl, launch: l, process: child, done: make(chan struct{}),
		own: map[string]chan *jsonrpc.Message{}, listens: map[string]bool{},
		// Its Close closes only the input of the server.
		transport: jsonrpc.NewLines(struct{ io.Reader }{child.Out}, child.In, jsonrpc.LinesOptions{MaxMessage: MaxMessage}),
	}
	go p.read()
	return p, nil
}

// read passes the messages of the server to the session, until the connection ends.
func (p *peer) read() {
	defer close(p.done)
	defer p.explaining.Wait()
	for {
		raw, err := p.transport.Receive()
		if lost, ok := errors.AsType[*jsonrpc.MessageError](err); ok {
			p.answer(failedResponse(lost))
			continue
		}
		if err != nil {
			p.end()
			return
		}
		switch m := parse(raw); {
		case m.Fault() == nil:
			p.s.fromPeer(p, m)
		case m.IsResponse():
			p.answer(failedResponse(m.Fault()))
		default:
			p.s.sup.logf("%s wrote a line to standard output that is not a message: %.200s", p.slot.folder(), raw)
		}
	}
}

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
		id := jsonrpc.IntID(c.lastID)
		c.questions[id.Key()] = question{p, m.ID(), id}
		c.mu.Unlock()
		c.send(m.WithID(id))
	default:
		c.notified(p, m)
	}
}

// answer handles a response of the server.
func (p *peer) answer(m *jsonrpc.Message) {
	key := m.ID().Key()
	p.s.mu.Lock()
	own := p.own[key]
	delete(p.own, key)
	p.s.mu.Unlock()
	if own != nil {
		own <- m
		return
	}
	switch x := p.s.take(p, m.ID()); {
	case x == nil:
		p.s.unexpected(p, m)
	case m.Err() != nil && m.Err().Code == jsonrpc.InternalError && !p.s.sup.o.NoPetrock:
		p.explaining.Go(func() { p.explain(x, m) })
	default:
		p.s.answered(p, x, m)
	}
}

// unexpected handles a response that is not for a call: to a subscription, to an invalid message,
// or to a call that was cancelled too late.
func (c *session) unexpected(p *peer, m *jsonrpc.Message) {
	if p.slot.kind == petrockKind || strings.HasPrefix(text(rawID(m.ID())), ownPrefix) {
		return
	}
	key := m.ID().Key()
	c.mu.Lock()
	l, isRefused := c.listens[key], m.Err() != nil
	isLast := !p.retiring || c.ctx.Err() != nil && p.slot.current.Load() == p // not of a server that was replaced
	isSent := l == nil && !p.listens[key] && (isRefused || isLast) || l != nil && (isRefused && !l.isOpen.Load() || !isRefused && isLast)
	if isSent {
		delete(c.listens, key)
	}
	c.mu.Unlock()
	if isSent {
		c.send(m.Raw())
	}
}

// explain answers a call with an internal error. If the call panicked, the answer has the panic
// that the server logged.
func (p *peer) explain(x *pending, answer *jsonrpc.Message) {
	for range 10 { // the answer may arrive before the log
		if cause := loggedPanic(p.process.Stderr(), x.Message, p.s.sup.o.Root); cause != "" {
			answer = parse(failed(x.Message, fmt.Errorf("internal error in %s: %s", x.Method(), cause)))
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.s.answered(p, x, answer)
}

// end answers the requests that the server will not answer any more.
func (p *peer) end() {
	p.process.Close() // it may have closed its output only
	p.s.mu.Lock()
	p.ended = true
	own := p.own
	p.own = nil
	var lost []*pending
	for key, x := range p.s.calls {
		if x.at == p {
			delete(p.s.calls, key)
			lost = append(lost, x)
		}
	}
	p.s.mu.Unlock()
	for _, answer := range own {
		close(answer)
	}
	p.s.withdraw(p)
	for _, x := range lost {
		p.s.answered(p, x, parse(failed(x.Message, fmt.Errorf("%w during this call; whether the call had an effect is unknown", p.whyEnded()))))
	}
}

// notified handles a notification of a server.
func (c *session) notified(p *peer, m *jsonrpc.Message) {
	method := m.Method()
	isChange := strings.HasSuffix(method, "/list_changed") || method == "notifications/resources/updated"
	switch {
	case isChange && p.slot.current.Load() != p, p.slot.kind == petrockKind && c.sup.o.NoPetrock:
	case param(m, "_meta", metaSubscription) != nil:
		c.published(m)
	case method == "notifications/cancelled":
		id := idParam(m, "requestId")
		c.mu.Lock()
		for key, q := range c.questions {
			if q.from == p && q.id == id {
				delete(c.questions, key)
				c.send(notification(method, without(m.Params(), "requestId").with("requestId", rawID(q.shown)).json()))
				m = nil
			}
		}
		c.mu.Unlock()
		if m != nil && c.ctx.Err() != nil && p.slot.kind == serverKind && p.slot.current.Load() == p { // of a subscription
			c.send(m.Raw())
		}
	default:
		c.send(m.Raw())
	}
}

// answered sends the answer of a server to the client. Changes that petrock's tools made are built
// first, so that the next list has what a generator made.
func (c *session) answered(p *peer, x *pending, answer *jsonrpc.Message) {
	if x.Method() == "resources/subscribe" && answer.Err() != nil {
		c.mu.Lock()
		delete(c.subscribed, text(param(x.Message, "uri")))
		c.mu.Unlock()
	}
	if p.slot.kind == serverKind {
		c.send(p.stamp(answer.Raw()))
		return
	}
	go func() {
		if x.Method() == "tools/call" {
			if restarts(x.Message, answer) {
				c.sup.restart()
			}
			if err := c.sup.settle(c.ctx); err == nil {
				c.slots[serverKind].awaitSettled(c.ctx)
			}
			if state, reason := c.slots[serverKind].condition(); state != "" {
				answer = warn(x.Message, answer, state, reason)
			}
		}
		c.send(p.stamp(answer.Raw()))
		c.open.Done()
	}()
}

// withdraw withdraws the questions of a server that has ended.
func (c *session) withdraw(p *peer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, q := range c.questions {
		if q.from == p {
			delete(c.questions, key)
			if c.ctx.Err() == nil {
				c.send(cancellation(q.shown))
			}
		}
	}
}

// install gives a new server the state of the session and makes it the current one. Clients learn
// of changed lists.
func (c *session) install(ctx context.Context, sl *slot, p *peer) error {
	// The first answer may take long, so it is awaited before the session is held up.
	if _, err := p.call(ctx, "server/discover", object(nil).with("_meta", statelessMeta()).json()); err != nil {
		return err
	}
	now := listsOf(ctx, p)
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
	if sl.kind == petrockKind && c.sup.o.NoPetrock { // it only derives files
		handshake, initialized = nil, false
	}
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
	if err := ctx.Err(); err != nil { // another launch is wanted
		return err
	}
	sl.swap(p)
	for _, l := range listens {
		c.subscribe(p, l)
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

// warn adds the condition of the project's server to the result of a call of petrock's tools: the
// text and the structured content begin with it, and ok is false. Results of tools that only read
// stay as they are, except of project_status, and errors.
func warn(call, answer *jsonrpc.Message, state, reason string) *jsonrpc.Message {
	name := text(param(call, "name"))
	isReader := slices.ContainsFunc(elements(member(manifest(), "tools")), func(tool []byte) bool {
		return text(member(tool, "name")) == name && isTrue(tool, "annotations", "readOnlyHint")
	})
	isError := answer.Result() == nil || isTrue(answer.Result(), "isError")
	if isError || isReader && name != Prefix+"project_status" {
		return answer
	}
	warning := object(nil).with("type", quote("text")).with("text", quote("Warning: the project's server is "+state+": "+reason)).json()
	content := append([][]byte{warning}, elements(member(answer.Result(), "content"))...)
	result := without(answer.Result(), "content", "structuredContent").with("content", array(content))
	if structured := member(answer.Result(), "structuredContent"); strictjson.First(structured) == '{' {
		server := object(nil).with("state", quote(state)).with("reason", quote(reason)).json()
		marked := object(nil).with("server", server)
		_ = strictjson.Object(structured, func(key, value []byte) error { // it is an object
			if string(key) == "ok" {
				value = []byte("false")
			}
			marked = marked.with(string(key), value)
			return nil
		})
		result = result.with("structuredContent", marked.json())
	}
	return parse(response(answer.ID(), result.json()))
}
