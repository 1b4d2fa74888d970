package live

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/plumbing/process"
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
