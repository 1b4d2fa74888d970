package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"github.com/petrock/petrock/core/jsonrpc"
)

// dialSSE speaks to a server of the transport of 2024-11-05: a stream that is read for as long as the conversation lasts, and another
// address to post messages to, which the stream begins with.
func dialSSE(ctx context.Context, address string, o ClientOptions) (*Client, error) {
	c := newClient(o)
	c.handshake = true
	s := &sseRoute{httpRoute: newHTTPRoute(c, address)}
	c.route = s
	c.overHTTP()
	if err := s.open(ctx); err != nil {
		err = &ConnectionError{s.explain(err)}
		c.Close()
		return nil, err
	}
	return c.begun(ctx)
}

// sseRoute is that of HTTP with SSE.
type sseRoute struct {
	*httpRoute
	post *url.URL // for messages

	mu  sync.Mutex
	err error // why the stream ended
}

// open begins the stream, and learns where to post.
func (s *sseRoute) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.c.o.Connect, &jsonrpc.TimeoutError{Method: "the request for a stream", After: s.c.o.Connect})
	defer cancel()
	life, end := context.WithCancel(s.c.life)
	stop := context.AfterFunc(ctx, end)
	resp, err := (&inflow{h: s.httpRoute, a: &terms{}}).get(life)
	if err != nil {
		end()
		return cmp.Or(context.Cause(ctx), err)
	}
	events := jsonrpc.NewEvents(resp.Body, s.c.o.MaxMessage)
	event, err := events.Next()
	if err == nil && event.Name != "endpoint" {
		err = errors.New("its stream does not begin with the address for messages")
	}
	if err == nil {
		s.post, err = s.resolve(string(event.Data))
	}
	if err != nil || !stop() {
		end()
		resp.Body.Close()
		return cmp.Or(context.Cause(ctx), err)
	}
	go s.read(life, resp, events)
	return nil
}

// resolve is the address for messages, which has to be at the same server: keys go there too.
func (s *sseRoute) resolve(where string) (*url.URL, error) {
	to, err := s.to.Parse(where)
	if err != nil || !sameOrigin(to, s.to) {
		return nil, fmt.Errorf("it wants messages posted to %q, which is another server", short(where))
	}
	return to, nil
}

// read takes what comes until the stream ends, and with it the conversation.
func (s *sseRoute) read(ctx context.Context, resp *http.Response, events *jsonrpc.Events) {
	defer resp.Body.Close()
	for {
		event, err := events.Next()
		if err != nil {
			s.mu.Lock()
			s.err = fmt.Errorf("the stream ended: %w", err)
			s.mu.Unlock()
			s.c.conn.Abandon()
			return
		}
		if len(event.Data) == 0 || event.Name != "message" {
			continue
		}
		m := new(jsonrpc.Message)
		m.Parse(event.Data)
		s.c.takeIn(ctx, m, &sseReply{s})
	}
}

func (s *sseRoute) via(*terms, *outgoing) func(context.Context, func(), jsonrpc.ID, []byte) error {
	return func(ctx context.Context, done func(), _ jsonrpc.ID, msg []byte) error {
		defer done()
		return s.tell(ctx, msg)
	}
}

// tell posts a message. What comes of it comes over the stream.
func (s *sseRoute) tell(ctx context.Context, msg []byte) error {
	resp, err := s.send(ctx, http.MethodPost, s.post, s.header(&terms{}, &outgoing{}), msg)
	if err != nil {
		return plainly(err)
	}
	if resp.StatusCode >= 300 {
		return refusal(resp, "")
	}
	discard(resp)
	return nil
}

func (s *sseRoute) notify(ctx context.Context, _ *terms, method string, params any) error {
	msg, err := jsonrpc.AppendNotification(nil, method, params)
	if err != nil {
		return err
	}
	ctx, cancel := s.c.soon(ctx)
	defer cancel()
	return s.tell(ctx, msg)
}

func (s *sseRoute) begin(context.Context, *terms) {}

func (s *sseRoute) lost(error) bool { return false }

// explain says why the stream ended, if that is why there is no answer.
func (s *sseRoute) explain(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil && errors.Is(err, jsonrpc.ErrClosed) {
		err = s.err
	}
	return s.httpRoute.explain(err)
}

// A sseReply posts the answer to something that the server asked.
type sseReply struct{ s *sseRoute }

// Send implements [jsonrpc.Responder].
func (r *sseReply) Send(msg []byte) error {
	ctx, cancel := r.s.c.soon(r.s.c.life)
	defer cancel()
	return r.s.tell(ctx, msg)
}

// Room implements [jsonrpc.Responder].
func (r *sseReply) Buffer() []byte { return nil }

// Answer implements [jsonrpc.Responder].
func (r *sseReply) Respond(msg []byte, _ error) {
	if msg == nil {
		return
	}
	if err := r.Send(msg); err != nil && r.s.c.life.Err() == nil {
		r.s.c.o.Logger.Warn("sending an answer to the server", "error", err)
	}
}
