// Package clienthttp connects MCP clients to servers over HTTP, in every revision. The client
// itself is that of package client. It sends headers and bearer tokens, resumes streams after a
// disconnection, and falls back to the HTTP+SSE transport of revision 2024-11-05.
//
//	server := clienthttp.Server{URL: "http://127.0.0.1:8080/mcp"}
//	c, err := clienthttp.Dial(ctx, server, client.Options{})
//	…
//	defer c.Close()
//	result, err := c.CallTool(ctx, "forecast", map[string]any{"city": "Oslo"})
package clienthttp

import (
	"bytes"
	"cmp"
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

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/transport"
	"github.com/petrock/petrock/core/strictjson"
)

// A Server is an MCP server over HTTP.
type Server struct {
	URL        string
	DisplayURL string                                    // URL for error messages (default: URL)
	Header     http.Header                               // sent with every request
	Token      func(ctx context.Context) (string, error) // returns a bearer token; called again after status 401; optional
	HTTP       *http.Client                              // default: a client that refuses redirects to other origins
	SSE        bool                                      // try the HTTP+SSE transport of revision 2024-11-05 first
}

// Dial connects to a server. It tries streamable HTTP, and then the HTTP+SSE transport of revision
// 2024-11-05. ctx applies to connecting only.
func Dial(ctx context.Context, server Server, o client.Options) (*client.Client, error) {
	u, err := url.Parse(server.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("invalid URL %q: must be an http or https URL, such as http://127.0.0.1:8080/mcp", short(server.displayURL()))
	}
	c, err := connect(ctx, server, u, server.SSE, o)
	if err == nil || ctx.Err() != nil || o.Revision > mcp.LatestHandshake {
		return c, err
	}
	if httpErr, ok := errors.AsType[*HTTPError](err); !ok || httpErr.isDenied() {
		return nil, err
	}
	if c, err := connect(ctx, server, u, !server.SSE, o); err == nil {
		return c, nil
	}
	return nil, err
}

func connect(ctx context.Context, server Server, u *url.URL, sse bool, o client.Options) (*client.Client, error) {
	h := newHTTPTransport(server, u)
	var t client.Transport = h
	if sse {
		t, o.Handshake = &sseTransport{httpTransport: h}, true
	}
	c, err := client.Connect(ctx, t, o)
	if _, ok := errors.AsType[*client.ConnectionError](err); err != nil && !ok {
		err = h.Explain(err) // the server answered with this error
	}
	return c, err
}

type httpTransport struct {
	client.Link
	server Server
	url    *url.URL
	http   *http.Client

	mu              sync.Mutex
	token           string                                // last bearer token
	session         *client.Session                       // current session; nil while connecting
	endStream       context.CancelFunc                    // ends the stream of the session; nil without a session
	headerArguments map[string][]transport.HeaderArgument // by tool

	unanswered, unansweredBytes int // requests from the server, see reserve
}

func newHTTPTransport(server Server, u *url.URL) *httpTransport {
	h := &httpTransport{server: server, url: u, http: server.HTTP, headerArguments: map[string][]transport.HeaderArgument{}}
	if h.http == nil {
		h.http = &http.Client{CheckRedirect: refuseOtherOrigins}
		if t, ok := http.DefaultTransport.(*http.Transport); ok { // the program may have replaced it
			own := t.Clone()
			own.MaxIdleConnsPerHost = 256
			h.http.Transport = own
		}
	}
	return h
}

func (h *httpTransport) Open(_ context.Context, l client.Link) error {
	h.Link = l
	l.Conn.Open(context.Background())
	return nil
}

// refuseOtherOrigins refuses redirects to other origins, which would get the API keys in headers.
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

// redactURL removes user, password, query and fragment from a URL, which may be invalid.
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

func (s Server) displayURL() string { return redactURL(cmp.Or(s.DisplayURL, s.URL)) }

func (h *httpTransport) Explain(err error) error {
	return fmt.Errorf("%s: %w", h.server.displayURL(), err)
}

func (h *httpTransport) Via(s *client.Session, c client.Call) func(context.Context, func(), jsonrpc.ID, []byte) error {
	return func(ctx context.Context, done func(), id jsonrpc.ID, msg []byte) error {
		return h.call(ctx, done, s, c, id, msg)
	}
}

// call posts a request, and delivers its response. It calls done, which ends ctx, at the end.
func (h *httpTransport) call(ctx context.Context, done func(), s *client.Session, c client.Call, id jsonrpc.ID, msg []byte) error {
	resp, err := h.post(ctx, s, c, msg)
	if err != nil {
		done()
		return err
	}
	if c.Method == "initialize" {
		s.ID = resp.Header.Get("Mcp-Session-Id")
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
		return nil // the response arrives over another stream
	}
	return newHTTPError(resp, "the response has "+mediaType(resp)+", which is not MCP; check the URL")
}

// deliverBody delivers a response that is the complete body.
func (h *httpTransport) deliverBody(resp *http.Response, id jsonrpc.ID) error {
	defer resp.Body.Close()
	body, err := readBody(resp, h.Options.MaxMessage)
	if err != nil {
		return fmt.Errorf("read the response: %w", err)
	}
	var m jsonrpc.Message
	m.Parse(body)
	switch {
	case m.IsResponse() && m.ID() == id:
		h.Conn.Deliver(&m)
		return nil
	case m.Fault() != nil:
		return fmt.Errorf("the response is not JSON-RPC: %s", m.Fault())
	}
	if e := parseError(body); e != nil && m.ID().IsZero() {
		return &HTTPError{Status: resp.StatusCode, rpcError: e}
	}
	return errors.New("the response has the id of another request")
}

func (h *httpTransport) header(s *client.Session, c client.Call) http.Header {
	header := http.Header{}
	for name, values := range h.server.Header {
		header[http.CanonicalHeaderKey(name)] = values
	}
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json, text/event-stream")
	if s.Revision >= mcp.Revision20250618 {
		header.Set("Mcp-Protocol-Version", string(s.Revision))
	}
	if s.ID != "" {
		header.Set("Mcp-Session-Id", s.ID)
	}
	if s.IsStateless() {
		h.setRequestHeaders(header, c)
	}
	return header
}

// setRequestHeaders repeats parts of a request in headers, as stateless revisions require.
func (h *httpTransport) setRequestHeaders(header http.Header, c client.Call) {
	header.Set("Mcp-Method", c.Method)
	if c.Name != "" {
		header.Set("Mcp-Name", encodeHeader(c.Name))
	}
	if c.Method != "tools/call" || c.Arguments == nil {
		return
	}
	h.mu.Lock()
	repeated := h.headerArguments[c.Name]
	h.mu.Unlock()
	if len(repeated) == 0 {
		return
	}
	arguments, err := strictjson.Marshal(c.Arguments)
	if err != nil {
		return // encoding the request fails too
	}
	for _, a := range repeated {
		value := a.Value(arguments)
		switch strictjson.First(value) {
		case 0, 'n', '{', '[':
		case '"':
			text, _ := strictjson.Unquote(value) // it is a string
			header.Set(a.Header, encodeHeader(text))
		default:
			header.Set(a.Header, encodeHeader(string(value)))
		}
	}
}

// FilterTools omits tools with an invalid x-mcp-header, as stateless revisions require. It records
// which arguments are repeated in headers.
func (h *httpTransport) FilterTools(s *client.Session, all []mcp.Tool) []mcp.Tool {
	if !s.IsStateless() {
		return all
	}
	usable := all[:0]
	for _, t := range all {
		headers, err := transport.HeaderArguments(t.InputSchema)
		if err != nil {
			h.Options.Logger.Warn("skipped a tool with an invalid x-mcp-header", "tool", t.Name, "error", err)
			continue
		}
		usable = append(usable, t)
		h.mu.Lock()
		if headers == nil {
			delete(h.headerArguments, t.Name)
		} else {
			h.headerArguments[t.Name] = headers
		}
		h.mu.Unlock()
	}
	return usable
}

// encodeHeader encodes the value of a header. It uses base64 unless the value is printable ASCII
// without surrounding spaces.
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

// post posts a message. It retries if the connection failed, or if the server responds with
// Retry-After. A status above 299 is an error.
func (h *httpTransport) post(ctx context.Context, s *client.Session, c client.Call, msg []byte) (*http.Response, error) {
	const attempts = 4
	for attempt := 1; ; attempt++ {
		resp, err := h.do(ctx, http.MethodPost, h.url, h.header(s, c), msg)
		delay := time.Duration(100<<attempt) * time.Millisecond
		switch {
		case err != nil && (attempt == attempts || !isDialError(err) || h.currentSession() == nil): // no retries while connecting
			return nil, withoutURL(err)
		case err != nil:
		case resp.StatusCode < 300:
			return resp, nil
		default:
			httpErr := newHTTPError(resp, "")
			var retry bool
			if delay, retry = retryAfter(resp); !retry || attempt == attempts {
				httpErr.hadSession = s.ID != ""
				return nil, httpErr
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

// retryAfter returns the Retry-After of a response. It reports false if it is missing or longer
// than 30 seconds.
func retryAfter(resp *http.Response) (time.Duration, bool) {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return 0, false
	}
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	return time.Duration(seconds) * time.Second, err == nil && seconds >= 0 && seconds <= 30
}

// do sends an HTTP request, and sets Authorization in header. If the server refuses the bearer
// token, do retries with a new one.
func (h *httpTransport) do(ctx context.Context, method string, u *url.URL, header http.Header, body []byte) (*http.Response, error) {
	for attempt := 1; ; attempt++ {
		req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header = header
		if h.server.Token != nil {
			token, err := h.bearerToken(ctx)
			if err != nil {
				return nil, fmt.Errorf("get a token: %w", err)
			}
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := h.http.Do(req)
		if err != nil || h.server.Token == nil || resp.StatusCode != http.StatusUnauthorized {
			return resp, err
		}
		h.setToken("")
		if attempt > 1 {
			return resp, nil
		}
		discard(resp)
	}
}

func (h *httpTransport) bearerToken(ctx context.Context) (string, error) {
	h.mu.Lock()
	token := h.token
	h.mu.Unlock()
	if token != "" {
		return token, nil
	}
	token, err := h.server.Token(ctx)
	h.setToken(token)
	return token, err
}

func (h *httpTransport) setToken(token string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.token = token
}

func (h *httpTransport) Notify(ctx context.Context, s *client.Session, method string, params any) error {
	if s.IsStateless() && method == "notifications/cancelled" {
		return nil // closing the response cancels the request
	}
	msg, err := jsonrpc.AppendNotification(nil, method, params)
	if err != nil {
		return err
	}
	return h.postOneWay(ctx, s, method, msg)
}

func (h *httpTransport) postOneWay(ctx context.Context, s *client.Session, method string, msg []byte) error {
	ctx, cancel := h.withTimeout(ctx)
	defer cancel()
	resp, err := h.post(ctx, s, client.Call{Method: method}, msg)
	if err != nil {
		return err
	}
	discard(resp)
	return nil
}

func (h *httpTransport) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	timeout := h.Options.Timeout
	return context.WithTimeoutCause(ctx, timeout, fmt.Errorf("post a message: timeout after %v", timeout))
}

// End deletes a session.
func (h *httpTransport) End(s *client.Session) {
	if s.ID == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if resp, err := h.do(ctx, http.MethodDelete, h.url, h.header(s, client.Call{}), nil); err == nil {
		discard(resp) // servers may refuse DELETE
	}
}

// currentSession returns the current session, or nil while connecting.
func (h *httpTransport) currentSession() *client.Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.session
}

func (h *httpTransport) Close() error {
	cancel := make(chan struct{})
	close(cancel)
	h.Conn.Close(cancel)
	if s := h.currentSession(); s != nil {
		h.End(s)
	}
	if h.server.HTTP == nil {
		h.http.CloseIdleConnections()
	}
	return nil
}

// An HTTPError means that a server refused an HTTP request, or that the response is not MCP.
type HTTPError struct {
	Status    int
	Text      string // the body, shortened
	Challenge string // WWW-Authenticate header

	rpcError   *jsonrpc.Error // error in the body; may be nil
	hadSession bool           // the request had a session id
}

func (e *HTTPError) Error() string {
	text := fmt.Sprintf("HTTP status %d (%s)", e.Status, http.StatusText(e.Status))
	if e.rpcError != nil {
		text += ": " + short(e.rpcError.Message)
	} else if e.Text != "" {
		text += ": " + e.Text
	}
	switch {
	case e.Status == http.StatusUnauthorized && e.Challenge != "":
		text += " (" + short(e.Challenge) + ")"
	case e.Status == http.StatusUnauthorized && e.rpcError == nil && e.Text == "":
		text += "; send an API key or a token in a header"
	}
	return text
}

// Unwrap returns the JSON-RPC error in the body, if any.
func (e *HTTPError) Unwrap() error {
	if e.rpcError == nil {
		return nil
	}
	return e.rpcError
}

// Is matches the errors of package client, which decide whether the client retries.
func (e *HTTPError) Is(target error) bool {
	switch target {
	case client.ErrRefused:
		return true
	case client.ErrDenied:
		return e.isDenied()
	case client.ErrLostSession:
		return e.isLostSession()
	}
	return false
}

// isLostSession reports whether the server does not know the session of the request. Some servers
// respond with 400 instead of 404, and only the text of that response distinguishes it from others.
func (e *HTTPError) isLostSession() bool {
	return e.hadSession && (e.Status == http.StatusNotFound ||
		e.Status == http.StatusBadRequest && strings.Contains(strings.ToLower(e.Error()), "session"))
}

func (e *HTTPError) isDenied() bool {
	return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
}

// newHTTPError returns the error for a response, and closes its body. If text is empty, the body is
// the text of the error.
func newHTTPError(resp *http.Response, text string) *HTTPError {
	defer resp.Body.Close()
	e := &HTTPError{Status: resp.StatusCode, Challenge: resp.Header.Get("WWW-Authenticate"), Text: text}
	const limit = 64 << 10
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit))
	if err != nil || text != "" {
		return e
	}
	if e.rpcError = parseError(body); e.rpcError == nil && !strings.Contains(mediaType(resp), "html") {
		e.Text = short(strings.ToValidUTF8(strings.TrimSpace(string(body)), "\ufffd"))
	}
	return e
}

// parseError returns the error in a JSON-RPC response, or nil.
func parseError(body []byte) *jsonrpc.Error {
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

// maxPrealloc limits the memory that is allocated for a Content-Length before the body arrives.
const maxPrealloc = 64 << 10

func readBody(resp *http.Response, limit int) ([]byte, error) {
	if n := resp.ContentLength; n >= 0 && n <= int64(min(limit, maxPrealloc)) {
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

// discard closes a response. It reads the rest of a short body, so that the connection can be
// reused.
func discard(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	resp.Body.Close()
}

// withoutURL unwraps a [*url.Error], whose URL may contain secrets.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// short shortens a text from the server for an error or a log line.
func short(text string) string { return strictjson.Clip(text, 100) }
