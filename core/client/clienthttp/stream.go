package clienthttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/plumbing/peer"
)

const (
	defaultRetry = time.Second            // delay before resuming a stream
	minRetry     = 100 * time.Millisecond // lower limit of that delay
	maxRetry     = 30 * time.Second       // upper limit of that delay
	maxResumes   = 5                      // attempts to resume the stream of a request
	openTimeout  = 2 * time.Second        // for opening the stream of a session
	drainTimeout = 500 * time.Millisecond // for the end of a stream after the response
)

// An eventStream is the stream of a response or, if id is zero, of a session.
type eventStream struct {
	h       *httpTransport
	session *client.Session
	id      jsonrpc.ID

	lastEventID string
	retry       time.Duration // requested by the server; 0 if not set
}

// awaitResponse reads the stream until the response, and delivers it. If the stream ends before
// that, it resumes the stream, except in stateless revisions. It calls done, which ends ctx, at the
// end.
func (e *eventStream) awaitResponse(ctx context.Context, done func(), resp *http.Response) error {
	for {
		m, err := e.read(ctx, resp.Body)
		if m != nil {
			e.h.Conn.Deliver(m)
			go drain(resp.Body, done)
			return nil
		}
		resp.Body.Close()
		switch {
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		case e.lastEventID == "" || e.session.IsStateless() || errors.Is(err, errUnanswered):
			if errors.Is(err, io.EOF) {
				err = errors.New("the stream ended before the response")
			}
		default:
			if resp, err = e.resume(ctx, maxResumes); err == nil {
				continue
			}
			err = fmt.Errorf("the stream ended before the response and could not be resumed: %w", err)
		}
		done()
		return err
	}
}

// drain reads the rest of a body, so that its connection can be reused. At the end, or after
// drainTimeout, it cancels the request.
func drain(body io.ReadCloser, cancel func()) {
	timer := time.AfterFunc(drainTimeout, cancel)
	_, _ = io.Copy(io.Discard, body)
	timer.Stop()
	body.Close()
	cancel()
}

// read handles the messages of a stream until the response to the request, which it returns.
func (e *eventStream) read(ctx context.Context, body io.Reader) (*jsonrpc.Message, error) {
	events := newEventReader(body, e.h.Options.MaxMessage)
	defer func() {
		if events.lastID != "" {
			e.lastEventID = events.lastID
		}
		if events.retry > 0 {
			e.retry = events.retry
		}
	}()
	for {
		event, err := events.next()
		if err != nil {
			return nil, err
		}
		if len(event.data) == 0 || event.name != "message" {
			continue
		}
		m := new(peer.Request)
		m.Parse(event.data)
		if m.IsResponse() && !e.id.IsZero() && m.ID() == e.id {
			return &m.Message, nil
		}
		if err := e.h.receive(ctx, m, len(event.data), responder{h: e.h, post: func(ctx context.Context, msg []byte) error {
			return e.h.postOneWay(ctx, e.session, "", msg)
		}}); err != nil {
			return nil, err
		}
	}
}

// maxUnanswered limits the requests from the server that have not been answered.
const maxUnanswered = 100

var errUnanswered = errors.New("the server exceeds a limit of this client: too many unanswered requests")

// reserve counts an unanswered request from the server, until unreserve. It returns errUnanswered
// beyond the limits.
func (h *httpTransport) reserve(size int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.unanswered == maxUnanswered || h.unansweredBytes+size > h.Options.MaxMessage {
		return fmt.Errorf("%w: more than %d, or more than %d bytes", errUnanswered, maxUnanswered, h.Options.MaxMessage)
	}
	h.unanswered++
	h.unansweredBytes += size
	return nil
}

func (h *httpTransport) unreserve(size int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unanswered--
	h.unansweredBytes -= size
}

// receive handles a message from the server. Requests run concurrently and end with ctx. The error
// is [errUnanswered].
func (h *httpTransport) receive(ctx context.Context, m *peer.Request, size int, out responder) error {
	switch {
	case m.Fault() != nil && !m.IsResponse():
		h.Options.Logger.Warn("the server sent an invalid message", "error", m.Fault())
	case m.IsRequest() || m.IsBatch():
		if err := h.reserve(size); err != nil {
			return err
		}
		go func() {
			defer h.unreserve(size)
			h.Conn.Receive(ctx, m, out)
		}()
	default:
		h.Conn.Receive(ctx, m, out)
	}
	return nil
}

func (e *eventStream) resume(ctx context.Context, attempts int) (*http.Response, error) {
	delay := e.retry
	if delay <= 0 {
		delay = defaultRetry
	}
	delay = max(delay, minRetry)
	var err error
	for range attempts {
		if err := sleep(ctx, delay); err != nil {
			return nil, err
		}
		var resp *http.Response
		if resp, err = e.open(ctx); err == nil || !isTemporary(err) {
			return resp, err
		}
		delay = min(2*delay, maxRetry)
	}
	return nil, err
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// isTemporary reports whether a retry may succeed. A server responds with Conflict as long as it
// considers the old stream open.
func isTemporary(err error) bool {
	httpErr, ok := errors.AsType[*HTTPError](err)
	if !ok {
		return true
	}
	switch httpErr.Status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return httpErr.Status >= 500
}

// open opens the stream, or resumes it after the last event.
func (e *eventStream) open(ctx context.Context) (*http.Response, error) {
	header := e.h.header(e.session, client.Call{})
	header.Del("Content-Type")
	header.Set("Accept", "text/event-stream")
	if e.lastEventID != "" {
		header.Set("Last-Event-ID", e.lastEventID)
	}
	resp, err := e.h.do(ctx, http.MethodGet, e.h.url, header, nil)
	if err != nil {
		return nil, withoutURL(err)
	}
	if resp.StatusCode != http.StatusOK || mediaType(resp) != "text/event-stream" {
		return nil, newHTTPError(resp, "")
	}
	return resp, nil
}

// Begin opens the optional stream for messages that belong to no request. It waits until the stream
// is open, up to openTimeout, so that no message is missed.
func (h *httpTransport) Begin(ctx context.Context, s *client.Session) {
	life, end := context.WithCancel(h.Life)
	h.mu.Lock()
	h.session = s
	if h.endStream != nil {
		h.endStream() // the stream of a lost session
	}
	h.endStream = end
	h.mu.Unlock()
	if s.IsStateless() {
		return
	}
	opened := make(chan struct{})
	go (&eventStream{h: h, session: s}).keepOpen(life, opened)
	select {
	case <-opened:
	case <-time.After(openTimeout):
	case <-ctx.Done():
	}
}

// keepOpen reads the stream of a session until ctx ends, and resumes it when it breaks. It closes
// opened after the first attempt to open the stream.
func (e *eventStream) keepOpen(ctx context.Context, opened chan<- struct{}) {
	resp, err := e.open(ctx)
	close(opened)
	for err == nil {
		_, _ = e.read(ctx, resp.Body)
		resp.Body.Close()
		if resp, err = e.resume(ctx, math.MaxInt); err != nil && ctx.Err() == nil {
			resp, err = e.reopen(ctx, err)
		}
	}
	if ctx.Err() == nil {
		e.h.Options.Logger.Debug("no session stream", "error", err)
	}
}

// reopen opens a new stream if the server refuses to resume the old one. If the server has lost the
// session, Ping starts a new one, which ends ctx.
func (e *eventStream) reopen(ctx context.Context, err error) (*http.Response, error) {
	for delay := defaultRetry; ; delay = min(2*delay, maxRetry) {
		pingErr := e.h.Client.Ping(e.h.Life)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case pingErr != nil || isTemporary(err):
			if err := sleep(ctx, delay); err != nil {
				return nil, err
			}
		case e.lastEventID == "":
			return nil, err
		default:
			e.lastEventID = ""
		}
		var resp *http.Response
		if resp, err = e.open(ctx); err == nil {
			return resp, nil
		}
	}
}

// A responder posts the answer to a request from the server. It implements [peer.Responder].
type responder struct {
	h    *httpTransport
	post func(ctx context.Context, msg []byte) error
}

func (o responder) Send(msg []byte) error { return o.post(o.h.Life, msg) }

func (o responder) Buffer() []byte { return nil }

func (o responder) Respond(msg []byte, _ error) {
	if msg == nil {
		return
	}
	if err := o.Send(msg); err != nil && o.h.Life.Err() == nil {
		o.h.Options.Logger.Warn("send response failed", "error", err)
	}
}

// sseTransport is the HTTP+SSE transport of revision 2024-11-05. The server sends all messages over
// one stream. Its first event is the URL to which the client posts messages.
type sseTransport struct {
	*httpTransport
	postURL *url.URL

	mu        sync.Mutex
	streamErr error // set when the stream has ended
}

// Open opens the stream and reads the URL for messages.
func (t *sseTransport) Open(ctx context.Context, l client.Link) error {
	_ = t.httpTransport.Open(ctx, l)
	timeout := &peer.TimeoutError{Method: "the request for a stream", After: l.Options.ConnectTimeout}
	ctx, cancel := context.WithTimeoutCause(ctx, l.Options.ConnectTimeout, timeout)
	defer cancel()
	life, end := context.WithCancel(l.Life)
	stop := context.AfterFunc(ctx, end)
	resp, err := (&eventStream{h: t.httpTransport, session: &client.Session{}}).open(life)
	if err != nil {
		end()
		return cmp.Or(context.Cause(ctx), err)
	}
	events := newEventReader(resp.Body, l.Options.MaxMessage)
	event, err := events.next()
	if err == nil && event.name != "endpoint" {
		err = errors.New("the stream does not begin with an endpoint event")
	}
	if err == nil {
		t.postURL, err = t.resolve(string(event.data))
	}
	if err != nil || !stop() {
		end()
		resp.Body.Close()
		return cmp.Or(context.Cause(ctx), err)
	}
	go t.read(life, resp, events)
	return nil
}

// resolve returns the URL for messages. It must have the same origin, because API keys are sent to
// it.
func (t *sseTransport) resolve(endpoint string) (*url.URL, error) {
	u, err := t.url.Parse(endpoint)
	if err != nil || !sameOrigin(u, t.url) {
		return nil, fmt.Errorf("endpoint %q has another origin", short(endpoint))
	}
	return u, nil
}

// read handles messages until the stream ends, and then closes the connection.
func (t *sseTransport) read(ctx context.Context, resp *http.Response, events *eventReader) {
	defer resp.Body.Close()
	for {
		event, err := events.next()
		if err == nil && len(event.data) > 0 && event.name == "message" {
			m := new(peer.Request)
			m.Parse(event.data)
			err = t.receive(ctx, m, len(event.data), responder{h: t.httpTransport, post: t.postOneWay})
		}
		if err != nil {
			t.mu.Lock()
			t.streamErr = fmt.Errorf("the stream ended: %w", err)
			t.mu.Unlock()
			t.Conn.FailCalls()
			return
		}
	}
}

func (t *sseTransport) Via(*client.Session, client.Call) func(context.Context, func(), jsonrpc.ID, []byte) error {
	return func(ctx context.Context, done func(), _ jsonrpc.ID, msg []byte) error {
		defer done()
		return t.post(ctx, msg)
	}
}

// post posts a message. The response arrives over the stream.
func (t *sseTransport) post(ctx context.Context, msg []byte) error {
	resp, err := t.do(ctx, http.MethodPost, t.postURL, t.header(&client.Session{}, client.Call{}), msg)
	if err != nil {
		return withoutURL(err)
	}
	if resp.StatusCode >= 300 {
		return newHTTPError(resp, "")
	}
	discard(resp)
	return nil
}

func (t *sseTransport) postOneWay(ctx context.Context, msg []byte) error {
	ctx, cancel := t.withTimeout(ctx)
	defer cancel()
	return t.post(ctx, msg)
}

func (t *sseTransport) Notify(ctx context.Context, _ *client.Session, method string, params any) error {
	msg, err := jsonrpc.AppendNotification(nil, method, params)
	if err != nil {
		return err
	}
	return t.postOneWay(ctx, msg)
}

func (t *sseTransport) Begin(context.Context, *client.Session) {}

// Explain implements [client.Transport]. It adds why the stream ended.
func (t *sseTransport) Explain(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.streamErr != nil && errors.Is(err, jsonrpc.ErrClosed) {
		err = t.streamErr
	}
	return t.httpTransport.Explain(err)
}
