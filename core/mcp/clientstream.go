package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
)

const (
	usualRetry  = time.Second            // before a stream that was cut is taken up again
	leastRetry  = 100 * time.Millisecond // whatever the server wants
	mostRetry   = 30 * time.Second       // when it has come to nothing for long
	mostResumed = 5                      // times in a row that this comes to nothing
	openFor     = 2 * time.Second        // may the stream of a session take to begin
	drainedIn   = 500 * time.Millisecond // may a stream take to end behind its answer
	heardIn     = 20 * time.Millisecond  // may somebody take who is told of something before the next thing overtakes it
)

// An inflow is what comes back for one request, or, with no id, what a server has to say in a session besides.
type inflow struct {
	h  *httpRoute
	a  *terms
	id jsonrpc.ID

	last  string        // the id of the last event
	retry time.Duration // that the server wants waited
}

// follow takes what comes until the request is answered, and calls done when that is over. A stream that ends before is taken up again where it
// was, in revisions that can do that.
func (s *inflow) follow(ctx context.Context, done func(), resp *http.Response) error {
	defer func() { done() }()
	for {
		answer, err := s.read(ctx, resp.Body)
		if answer != nil {
			s.h.c.conn.Deliver(answer)
			go drain(resp.Body, done)
			done = func() {}
			return nil
		}
		resp.Body.Close()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case s.last == "" || s.a.revision.stateless():
			if errors.Is(err, io.EOF) {
				err = errors.New("the stream ended before the answer")
			}
			return err
		}
		if resp, err = s.resume(ctx, mostResumed); err != nil {
			return fmt.Errorf("the stream ended before the answer, and could not be taken up again: %w", err)
		}
	}
}

// drain waits a moment for the end of a response that has no more to say, so that its connection can be used again.
func drain(body io.ReadCloser, cut func()) {
	timer := time.AfterFunc(drainedIn, cut)
	_, _ = io.Copy(io.Discard, body)
	timer.Stop()
	body.Close()
	cut()
}

// read takes what comes until the answer, which it returns, or the end. What the server asks is answered beside it.
func (s *inflow) read(ctx context.Context, body io.Reader) (*jsonrpc.Message, error) {
	events := jsonrpc.NewEvents(body, s.h.c.o.MaxMessage)
	defer func() {
		if events.LastID != "" {
			s.last = events.LastID
		}
		if events.Retry > 0 {
			s.retry = events.Retry
		}
	}()
	for {
		event, err := events.Next()
		if err != nil {
			return nil, err
		}
		if len(event.Data) == 0 || event.Name != "message" {
			continue
		}
		m := new(jsonrpc.Message)
		m.Parse(event.Data)
		if m.IsResponse() && !s.id.IsZero() && m.ID() == s.id {
			return m, nil
		}
		s.h.c.takeIn(ctx, m, &reply{s.h, s.a})
	}
}

// takeIn takes a message that came over HTTP: what is told, in order, unless somebody takes long over it, who may wait for what is still to
// come; what is asked, beside the rest, and for as long as ctx lasts: nobody need answer what belongs to a request that was given up.
func (c *Client) takeIn(ctx context.Context, m *jsonrpc.Message, out jsonrpc.Responder) {
	switch {
	case m.Fault() != nil && !m.IsResponse():
		c.o.Logger.Warn("the server sent what is no message", "error", m.Fault())
	case m.IsRequest() || m.IsBatch():
		go c.conn.Receive(ctx, m, out)
	case m.IsResponse():
		c.conn.Receive(ctx, m, out)
	default:
		heard := make(chan struct{})
		go func() {
			defer close(heard)
			c.conn.Receive(ctx, m, out)
		}()
		timer := time.NewTimer(heardIn)
		defer timer.Stop()
		select {
		case <-heard:
		case <-timer.C:
		}
	}
}

// resume asks for what came after the last event, until it is given; tries times at most.
func (s *inflow) resume(ctx context.Context, tries int) (*http.Response, error) {
	var err error
	wait := s.retry
	if wait <= 0 {
		wait = usualRetry
	}
	wait = max(wait, leastRetry)
	for range tries {
		if err := pause(ctx, wait); err != nil {
			return nil, err
		}
		var resp *http.Response
		if resp, err = s.get(ctx); err == nil || !passing(err) {
			return resp, err
		}
		wait = min(2*wait, mostRetry)
	}
	return nil, err
}

// pause waits, and returns why ctx has ended if it does meanwhile.
func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// passing reports whether what is refused may be granted in a while. A server that has not noticed yet that a stream was cut allows no other.
func passing(err error) bool {
	var refused *HTTPError
	if !errors.As(err, &refused) {
		return true
	}
	switch refused.Status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return refused.Status >= 500
}

// get opens a stream, where the last one ended if there was one.
func (s *inflow) get(ctx context.Context) (*http.Response, error) {
	header := maps.Clone(s.h.header(s.a, &outgoing{}))
	header.Del("Content-Type")
	header.Set("Accept", "text/event-stream")
	if s.last != "" {
		header.Set("Last-Event-ID", s.last)
	}
	resp, err := s.h.send(ctx, http.MethodGet, s.h.to, header, nil)
	if err != nil {
		return nil, plainly(err)
	}
	if resp.StatusCode != http.StatusOK || mediaType(resp) != "text/event-stream" {
		return nil, refusal(resp, "")
	}
	return resp, nil
}

// begin opens the stream on which a server says, in a session, what belongs to no request. Not all have one. It returns when the stream is
// there, so that nothing is missed, but does not wait for long.
func (h *httpRoute) begin(ctx context.Context, a *terms) {
	if a.revision.stateless() {
		return
	}
	life, end := context.WithCancel(h.c.life)
	h.mu.Lock()
	if h.streams != nil {
		h.streams() // that of a session which is lost
	}
	h.streams = end
	h.mu.Unlock()
	begun := make(chan struct{})
	go (&inflow{h: h, a: a}).keep(life, begun)
	timer := time.NewTimer(openFor)
	defer timer.Stop()
	select {
	case <-begun:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// keep reads the stream of a session as long as that lasts, and takes it up again when it is cut, however long that takes.
func (s *inflow) keep(ctx context.Context, begun chan<- struct{}) {
	resp, err := s.get(ctx)
	close(begun)
	for err == nil {
		_, _ = s.read(ctx, resp.Body)
		resp.Body.Close()
		if resp, err = s.resume(ctx, math.MaxInt); err != nil && ctx.Err() == nil {
			resp, err = s.again(ctx, err)
		}
	}
	if ctx.Err() == nil {
		s.h.c.o.Logger.Debug("there is no stream of the session", "error", err)
	}
}

// again begins a stream anew that the server does not let be taken up. Either it has forgotten the session: then whatever is asked notices
// that, and begins another one with a stream of its own; or only where the stream was; or there is nobody for a while.
func (s *inflow) again(ctx context.Context, err error) (*http.Response, error) {
	for wait := usualRetry; ; wait = min(2*wait, mostRetry) {
		asked := s.h.c.Ping(s.h.c.life)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case asked != nil || passing(err):
			if err := pause(ctx, wait); err != nil {
				return nil, err
			}
		case s.last == "":
			return nil, err
		default:
			s.last = ""
		}
		var resp *http.Response
		if resp, err = s.get(ctx); err == nil {
			return resp, nil
		}
	}
}

// A reply is where the answer to something goes that the server asked over HTTP: it is posted.
type reply struct {
	h *httpRoute
	a *terms
}

// Send implements [jsonrpc.Responder].
func (r *reply) Send(msg []byte) error { return r.h.tell(r.h.c.life, r.a, "", msg) }

// Room implements [jsonrpc.Responder].
func (r *reply) Buffer() []byte { return nil }

// Answer implements [jsonrpc.Responder].
func (r *reply) Respond(msg []byte, _ error) {
	if msg == nil {
		return
	}
	if err := r.Send(msg); err != nil && r.h.c.life.Err() == nil {
		r.h.c.o.Logger.Warn("sending an answer to the server", "error", err)
	}
}
