package client

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/strictjson"
)

// Dial connects to a server over HTTP. It tries streamable HTTP, and then the HTTP+SSE transport of
// revision 2024-11-05. ctx limits connecting only.
func Dial(ctx context.Context, address string, o Options) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is not the URL of a server, such as http://127.0.0.1:8080/mcp", short(redactURL(address)))
	}
	dials := []func(context.Context, *url.URL, Options) (*Client, error){dialStreamable, dialSSE}
	if o.SSE {
		dials[0], dials[1] = dials[1], dials[0]
	}
	c, err := dials[0](ctx, u, o)
	if err == nil || ctx.Err() != nil || isStateless(o.Revision) {
		return c, err
	}
	if refused, ok := errors.AsType[*HTTPError](err); !ok || refused.isDenied() {
		return nil, err
	}
	if c, err := dials[1](ctx, u, o); err == nil {
		return c, nil
	}
	return nil, err
}

func dialStreamable(ctx context.Context, u *url.URL, o Options) (*Client, error) {
	c := newClient(o)
	c.route = newHTTPRoute(c, u)
	c.openConn()
	return c.negotiated(ctx)
}

// openConn makes a connection whose messages the route sends and receives.
func (c *Client) openConn() {
	c.conn = jsonrpc.NewConn(noTransport{}, c.connOptions())
	c.conn.Open(context.Background())
}

// noTransport is the transport of such a connection.
type noTransport struct{}

func (noTransport) Send([]byte) error        { return jsonrpc.ErrClosed }
func (noTransport) Receive() ([]byte, error) { return nil, jsonrpc.ErrClosed }
func (noTransport) Close() error             { return nil }

// httpRoute is the route over streamable HTTP, in both eras.
type httpRoute struct {
	c      *Client
	url    *url.URL
	client *http.Client

	mu        sync.Mutex
	token     string             // the last bearer token
	endStream context.CancelFunc // ends the stream of the session; nil if there is none
}

func newHTTPRoute(c *Client, u *url.URL) *httpRoute {
	h := &httpRoute{c: c, url: u, client: c.o.HTTP}
	if h.client == nil {
		h.client = &http.Client{CheckRedirect: refuseOtherOrigins}
		if t, ok := http.DefaultTransport.(*http.Transport); ok { // a program may have replaced it
			own := t.Clone()
			own.MaxIdleConnsPerHost = 256
			h.client.Transport = own
		}
	}
	return h
}

// refuseOtherOrigins keeps API keys in headers from being sent to other servers.
func refuseOtherOrigins(req *http.Request, via []*http.Request) error {
	if len(via) > 5 || !sameOrigin(req.URL, via[0].URL) {
		return fmt.Errorf("redirect to %s refused; use that URL if you trust it", redactURL(req.URL.String()))
	}
	return nil
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	if u.Port() == "" {
		return map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Port()
}

// redactURL removes the user, the password, the query and the fragment of a URL, which may be invalid.
func redactURL(address string) string {
	address, _, _ = strings.Cut(address, "#")
	address, _, _ = strings.Cut(address, "?")
	scheme, rest, ok := strings.Cut(address, "//")
	if !ok {
		return address[strings.LastIndexByte(address, '@')+1:]
	}
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "//" + rest[strings.LastIndexByte(host, '@')+1:]
}

func (h *httpRoute) onInvalid(_ []byte, err *jsonrpc.Error) { h.c.logInvalid(err) }

func (h *httpRoute) isHTTP() bool { return true }

func (h *httpRoute) explain(err error) error {
	return fmt.Errorf("%s: %w", redactURL(h.url.String()), err)
}

func (h *httpRoute) send(s *session, r *request) func(context.Context, func(), jsonrpc.ID, []byte) error {
	return func(ctx context.Context, done func(), id jsonrpc.ID, msg []byte) error {
		return h.call(ctx, done, s, r, id, msg)
	}
}

// call posts a request, and delivers its response. done ends ctx.
func (h *httpRoute) call(ctx context.Context, done func(), s *session, r *request, id jsonrpc.ID, msg []byte) error {
	resp, err := h.post(ctx, s, r, msg)
	if err != nil {
		done()
		return err
	}
	if r.method == "initialize" {
		r.sessionID = resp.Header.Get("Mcp-Session-Id")
	}
	switch mediaType(resp) {
	case "application/json":
		defer done()
		return h.deliverBody(resp, id)
	case "text/event-stream":
		return (&eventStream{h: h, session: s, id: id}).awaitResponse(ctx, done, resp)
	}
	defer done()
	if resp.StatusCode == http.StatusAccepted {
		resp.Body.Close()
		return nil // the response arrives in another way
	}
	return newHTTPError(resp, "the response has "+mediaType(resp)+", which is not MCP; is the URL right?")
}

// deliverBody delivers a response that is the whole body.
func (h *httpRoute) deliverBody(resp *http.Response, id jsonrpc.ID) error {
	defer resp.Body.Close()
	body, err := readBody(resp, h.c.o.MaxMessage)
	if err != nil {
		return err
	}
	var m jsonrpc.Message
	m.Parse(body)
	switch {
	case m.IsResponse() && m.ID() == id:
		h.c.conn.Deliver(&m)
		return nil
	case m.Fault() != nil:
		return fmt.Errorf("the response is not JSON-RPC: %w", errors.New(m.Fault().Message))
	}
	if e := errorIn(body); e != nil && m.ID().IsZero() {
		return &HTTPError{Status: resp.StatusCode, answer: e}
	}
	return errors.New("the response has the id of another request")
}

// header returns the header of a message.
func (h *httpRoute) header(s *session, r *request) http.Header {
	header := http.Header{}
	for name, values := range h.c.o.Header {
		header[http.CanonicalHeaderKey(name)] = values
	}
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json, text/event-stream")
	if s.revision >= mcp.Revision20250618 {
		header.Set("Mcp-Protocol-Version", string(s.revision))
	}
	if s.id != "" {
		header.Set("Mcp-Session-Id", s.id)
	}
	if s.stateless() {
		h.setRequestHeaders(header, r)
	}
	return header
}

// setRequestHeaders repeats parts of a request in headers, as the stateless era requires.
func (h *httpRoute) setRequestHeaders(header http.Header, r *request) {
	header.Set("Mcp-Method", r.method)
	if r.name != "" {
		header.Set("Mcp-Name", encodeHeader(r.name))
	}
	if r.method != "tools/call" || r.arguments == nil {
		return
	}
	h.c.mu.Lock()
	repeated := h.c.headers[r.name]
	h.c.mu.Unlock()
	if len(repeated) == 0 {
		return
	}
	arguments, err := strictjson.Marshal(r.arguments)
	if err != nil {
		return // encoding the request reports it
	}
	for _, a := range repeated {
		if text, ok := a.Text(arguments); ok {
			header.Set(a.Header, encodeHeader(text))
		}
	}
}

// encodeHeader encodes the value of a header: in base64 unless it is plain ASCII without spaces around
// it.
func encodeHeader(text string) string {
	plain := !strings.HasPrefix(text, "=?base64?") && strings.TrimSpace(text) == text
	for i := 0; plain && i < len(text); i++ {
		plain = text[i] >= 0x20 && text[i] <= 0x7e
	}
	if plain {
		return text
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
}

// post posts a message. It retries if the server cannot have received it, or asks for a retry with
// Retry-After. A response with a status above 299 is an error.
func (h *httpRoute) post(ctx context.Context, s *session, r *request, msg []byte) (*http.Response, error) {
	const attempts = 4
	for attempt := 1; ; attempt++ {
		resp, err := h.do(ctx, http.MethodPost, h.url, h.header(s, r), msg)
		delay := time.Duration(100<<attempt) * time.Millisecond
		switch {
		case err != nil && (attempt == attempts || !isDialError(err) || h.c.session.Load() == nil): // no retries while connecting
			return nil, withoutURL(err)
		case err != nil:
		case resp.StatusCode < 300:
			return resp, nil
		default:
			refused := newHTTPError(resp, "")
			var retry bool
			if delay, retry = retryAfter(resp); !retry || attempt == attempts {
				refused.session = s.id != ""
				return nil, refused
			}
		}
		if err := sleep(ctx, delay); err != nil {
			return nil, err
		}
	}
}

// isDialError reports whether no connection was made.
func isDialError(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// retryAfter returns the delay that a response asks for. It reports false for more than 30 seconds.
func retryAfter(resp *http.Response) (time.Duration, bool) {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return 0, false
	}
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	return time.Duration(seconds) * time.Second, err == nil && seconds >= 0 && seconds <= 30
}

// do sends an HTTP request with a header of its own. If the server refuses the bearer token, do
// sends the request again with a new one.
func (h *httpRoute) do(ctx context.Context, method string, u *url.URL, header http.Header, body []byte) (*http.Response, error) {
	for attempt := 1; ; attempt++ {
		req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header = header
		if h.c.o.Token != nil {
			token, err := h.bearerToken(ctx)
			if err != nil {
				return nil, fmt.Errorf("get a token: %w", err)
			}
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := h.client.Do(req)
		if err != nil || h.c.o.Token == nil || resp.StatusCode != http.StatusUnauthorized {
			return resp, err
		}
		h.setToken("")
		if attempt > 1 {
			return resp, nil
		}
		discard(resp)
	}
}

// bearerToken returns the token of the last request, or a new one.
func (h *httpRoute) bearerToken(ctx context.Context) (string, error) {
	h.mu.Lock()
	token := h.token
	h.mu.Unlock()
	if token != "" {
		return token, nil
	}
	token, err := h.c.o.Token(ctx)
	h.setToken(token)
	return token, err
}

func (h *httpRoute) setToken(token string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.token = token
}

func (h *httpRoute) notify(ctx context.Context, s *session, method string, params any) error {
	msg, err := jsonrpc.AppendNotification(nil, method, params)
	if err != nil {
		return err
	}
	return h.postOneWay(ctx, s, method, msg)
}

// postOneWay posts a notification or a response.
func (h *httpRoute) postOneWay(ctx context.Context, s *session, method string, msg []byte) error {
	ctx, cancel := h.c.withTimeout(ctx)
	defer cancel()
	resp, err := h.post(ctx, s, &request{method: method}, msg)
	if err != nil {
		return err
	}
	discard(resp)
	return nil
}

// withTimeout applies [Options].Timeout.
func (c *Client) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, c.o.Timeout, fmt.Errorf("the server did not accept the message within %v", c.o.Timeout))
}

// isLost reports whether the server does not know the session: status 404, or 400 with a reason.
func (h *httpRoute) isLost(err error) bool {
	refused, ok := errors.AsType[*HTTPError](err)
	if !ok || !refused.session {
		return false
	}
	return refused.Status == http.StatusNotFound || refused.Status == http.StatusBadRequest && strings.Contains(strings.ToLower(refused.Error()), "session")
}

// end deletes a session.
func (h *httpRoute) end(s *session) {
	if s.id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if resp, err := h.do(ctx, http.MethodDelete, h.url, h.header(s, &request{}), nil); err == nil {
		discard(resp) // servers need not support it
	}
}

func (h *httpRoute) close() error {
	now := make(chan struct{})
	close(now)
	h.c.conn.Close(now)
	if s := h.c.session.Load(); s != nil {
		h.end(s)
	}
	if h.c.o.HTTP == nil {
		h.client.CloseIdleConnections()
	}
	return nil
}

// An HTTPError says that a server refuses an HTTP request, or answers with something that is not MCP.
type HTTPError struct {
	Status    int
	Text      string // the body, shortened
	Challenge string // the header WWW-Authenticate

	answer  *jsonrpc.Error // if the body is a JSON-RPC error
	session bool           // the request had a session id
}

func (e *HTTPError) Error() string {
	text := fmt.Sprintf("HTTP status %d (%s)", e.Status, http.StatusText(e.Status))
	if e.answer != nil {
		text += ": " + short(e.answer.Message)
	} else if e.Text != "" {
		text += ": " + e.Text
	}
	switch {
	case e.Status == http.StatusUnauthorized && e.Challenge != "":
		text += " (" + short(e.Challenge) + ")"
	case e.Status == http.StatusUnauthorized && e.answer == nil && e.Text == "":
		text += "; send an API key or a token in a header"
	}
	return text
}

// Unwrap returns the JSON-RPC error that the server has answered with, if any.
func (e *HTTPError) Unwrap() error {
	if e.answer == nil {
		return nil
	}
	return e.answer
}

// isDenied reports whether the client lacks permission.
func (e *HTTPError) isDenied() bool {
	return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
}

// newHTTPError makes an error of a response, and closes its body. The text of the error is why, or the
// body if that is empty.
func newHTTPError(resp *http.Response, why string) *HTTPError {
	defer resp.Body.Close()
	e := &HTTPError{Status: resp.StatusCode, Challenge: resp.Header.Get("WWW-Authenticate"), Text: why}
	const limit = 64 << 10
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit))
	if err != nil || why != "" {
		return e
	}
	if e.answer = errorIn(body); e.answer == nil && !strings.Contains(mediaType(resp), "html") {
		e.Text = short(strings.ToValidUTF8(strings.TrimSpace(string(body)), "\ufffd"))
	}
	return e
}

// errorIn returns the error of a JSON-RPC response, or nil.
func errorIn(body []byte) *jsonrpc.Error {
	if strictjson.First(body) != '{' || strictjson.Check(body) != nil {
		return nil
	}
	raw := strictjson.Member(body, "error")
	var e jsonrpc.Error
	if strictjson.First(raw) != '{' || strictjson.Unmarshal(raw, &e) != nil || e.Code == 0 {
		return nil
	}
	return &e
}

// mediaType returns the media type of a response, such as application/json.
func mediaType(resp *http.Response) string {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || kind == "" {
		return "no content type"
	}
	return kind
}

// maxTrusted is the largest Content-Length for which memory is allocated before the body arrives.
const maxTrusted = 64 << 10

// readBody reads a body of at most limit bytes.
func readBody(resp *http.Response, limit int) ([]byte, error) {
	if n := resp.ContentLength; n >= 0 && n <= int64(min(limit, maxTrusted)) {
		body := make([]byte, n)
		_, err := io.ReadFull(resp.Body, body)
		return body, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	if err == nil && len(body) > limit {
		err = fmt.Errorf("the response is larger than %d bytes", limit)
	}
	return body, err
}

// discard closes a response. It reads the rest of a short body, so that the connection can be reused.
func discard(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	resp.Body.Close()
}

// withoutURL unwraps a [*url.Error]: its URL may have secrets, and errors name the server anyway.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
