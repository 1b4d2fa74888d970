package live

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/plumbing/process"
)

// MaxMessage limits a forwarded message, in bytes. The servers have their own, lower limits.
const MaxMessage = 256 << 20

// take removes a request of the client, and reports whether it was in flight.
func (p *peer) take(id jsonrpc.ID) (m *jsonrpc.Message, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m, ok = p.calls[id]; ok {
		delete(p.calls, id)
		p.closeIfRetired()
	}
	return m, ok
}

// forward sends a message of the client. It reports false if the connection has ended, or the
// server was replaced.
func (p *peer) forward(m *jsonrpc.Message) bool {
	p.mu.Lock()
	if p.ended || p.retiring {
		p.mu.Unlock()
		return false
	}
	if _, isUsed := p.calls[m.ID()]; isUsed {
		p.s.open.Done() // the server refuses the request, with an error that has no id
	} else if m.IsRequest() {
		p.calls[m.ID()] = m
	}
	p.mu.Unlock()
	_ = p.transport.Send(m.Raw()) // if it fails, the connection ends, and end answers the request
	return true
}

// send sends a message of the session.
func (p *peer) send(raw []byte) { _ = p.transport.Send(raw) }

// call sends a request of the session and returns its result.
func (p *peer) call(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	answer := make(chan *jsonrpc.Message, 1)
	p.mu.Lock()
	if p.ended {
		p.mu.Unlock()
		return nil, p.whyEnded()
	}
	id := p.newID()
	p.own[id] = answer
	p.mu.Unlock()
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
		p.mu.Lock()
		delete(p.own, id)
		p.mu.Unlock()
		p.send(cancellation(id, nil))
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

// newID returns an id for a request of the session.
func (p *peer) newID() jsonrpc.ID { return stringID(fmt.Sprintf("petrock-dev-%d", p.lastID.Add(1))) }

// retire closes the connection once the calls in flight have been answered.
func (p *peer) retire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retiring = true
	p.closeIfRetired()
}

func (p *peer) closeIfRetired() {
	if p.retiring && len(p.calls) == 0 && !p.ended {
		go p.close()
	}
}

// close ends the connection and the process, and waits for both.
func (p *peer) close() {
	p.mu.Lock()
	p.retiring = true
	p.mu.Unlock()
	p.process.Close()
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
