package client

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

// dialSSE connects over the HTTP+SSE transport of revision 2024-11-05. The server sends all messages over
// one stream, whose first event is the URL to post messages to.
func dialSSE(ctx context.Context, u *url.URL, o Options) (*Client, error) {
	c := newClient(o)
	c.handshake = true
	r := &sseRoute{httpRoute: newHTTPRoute(c, u)}
	c.route = r
	c.openConn()
	if err := r.open(ctx); err != nil {
		err = &ConnectionError{r.explain(err)}
		c.Close()
		return nil, err
	}
	return c.negotiated(ctx)
}

// sseRoute is the route over HTTP+SSE.
type sseRoute struct {
	*httpRoute
	postURL *url.URL

	mu  sync.Mutex
	err error // why the stream ended
}

// open opens the stream and reads the URL for messages.
func (r *sseRoute) open(ctx context.Context) error {
	late := &jsonrpc.TimeoutError{Method: "the request for a stream", After: r.c.o.ConnectTimeout}
	ctx, cancel := context.WithTimeoutCause(ctx, r.c.o.ConnectTimeout, late)
	defer cancel()
	life, end := context.WithCancel(r.c.life)
	stop := context.AfterFunc(ctx, end)
	resp, err := (&eventStream{h: r.httpRoute, session: &session{}}).open(life)
	if err != nil {
		end()
		return cmp.Or(context.Cause(ctx), err)
	}
	events := jsonrpc.NewEvents(resp.Body, r.c.o.MaxMessage)
	event, err := events.Next()
	if err == nil && event.Name != "endpoint" {
		err = errors.New("the stream does not begin with an endpoint event")
	}
	if err == nil {
		r.postURL, err = r.resolve(string(event.Data))
	}
	if err != nil || !stop() {
		end()
		resp.Body.Close()
		return cmp.Or(context.Cause(ctx), err)
	}
	go r.read(life, resp, events)
	return nil
}

// resolve returns the URL for messages. It must be of the same origin, because API keys are sent there.
func (r *sseRoute) resolve(endpoint string) (*url.URL, error) {
	u, err := r.url.Parse(endpoint)
	if err != nil || !sameOrigin(u, r.url) {
		return nil, fmt.Errorf("the endpoint %q is at another server", short(endpoint))
	}
	return u, nil
}

// read handles messages until the stream ends, which ends the connection.
func (r *sseRoute) read(ctx context.Context, resp *http.Response, events *jsonrpc.Events) {
	defer resp.Body.Close()
	for {
		event, err := events.Next()
		if err != nil {
			r.mu.Lock()
			r.err = fmt.Errorf("the stream ended: %w", err)
			r.mu.Unlock()
			r.c.conn.Abandon()
			return
		}
		if len(event.Data) == 0 || event.Name != "message" {
			continue
		}
		m := new(jsonrpc.Message)
		m.Parse(event.Data)
		r.c.receive(ctx, m, outlet{r.c, r.postOneWay})
	}
}

func (r *sseRoute) send(*session, *request) func(context.Context, func(), jsonrpc.ID, []byte) error {
	return func(ctx context.Context, done func(), _ jsonrpc.ID, msg []byte) error {
		defer done()
		return r.post(ctx, msg)
	}
}

// post posts a message. The response arrives over the stream.
func (r *sseRoute) post(ctx context.Context, msg []byte) error {
	resp, err := r.do(ctx, http.MethodPost, r.postURL, r.header(&session{}, &request{}), msg)
	if err != nil {
		return withoutURL(err)
	}
	if resp.StatusCode >= 300 {
		return newHTTPError(resp, "")
	}
	discard(resp)
	return nil
}

func (r *sseRoute) postOneWay(ctx context.Context, msg []byte) error {
	ctx, cancel := r.c.withTimeout(ctx)
	defer cancel()
	return r.post(ctx, msg)
}

func (r *sseRoute) notify(ctx context.Context, _ *session, method string, params any) error {
	msg, err := jsonrpc.AppendNotification(nil, method, params)
	if err != nil {
		return err
	}
	return r.postOneWay(ctx, msg)
}

func (r *sseRoute) begin(context.Context, *session) {}

func (r *sseRoute) isLost(error) bool { return false }

// explain adds why the stream ended.
func (r *sseRoute) explain(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil && errors.Is(err, jsonrpc.ErrClosed) {
		err = r.err
	}
	return r.httpRoute.explain(err)
}
