package mcp

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/posting"
)

// Dial begins to speak to a server over HTTP: streamable HTTP in whatever revision it has, or else the older transport of two
// addresses, HTTP with SSE. ctx is for the first conversation alone.
func Dial(ctx context.Context, address string, o ClientOptions) (*Client, error) {
	if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is not the address of a server, such as http://127.0.0.1:8080/mcp", short(openly(address)))
	}
	ways := []func(context.Context, string, ClientOptions) (*Client, error){dialStreamable, dialSSE}
	if o.SSE {
		ways[0], ways[1] = ways[1], ways[0]
	}
	c, err := ways[0](ctx, address, o)
	if err == nil || ctx.Err() != nil || o.Revision.stateless() || !tryOther(err) {
		return c, err
	}
	if c, other := ways[1](ctx, address, o); other == nil {
		return c, nil
	}
	return nil, err
}

// tryOther reports whether a server may be one of the other transport: it was reached, and refuses what it was sent.
func tryOther(err error) bool {
	var refused *HTTPError
	return errors.As(err, &refused) && !refused.denied()
}

func dialStreamable(ctx context.Context, address string, o ClientOptions) (*Client, error) {
	c := newClient(o)
	h := newHTTPRoute(c, address)
	c.route = h
	c.overHTTP()
	return c.begun(ctx)
}

// overHTTP makes a connection whose messages come by themselves.
func (c *Client) overHTTP() {
	c.conn = jsonrpc.NewConn(nowhere{}, c.connOptions())
	c.conn.Open(context.Background())
}

// nowhere is the transport of a connection that sends all it has to say in another way.
type nowhere struct{}

func (nowhere) Send([]byte) error        { return jsonrpc.ErrClosed }
func (nowhere) Receive() ([]byte, error) { return nil, jsonrpc.ErrClosed }
func (nowhere) Close() error             { return nil }

// httpRoute is that of streamable HTTP, in both eras.
type httpRoute struct {
	c       *Client
	address string
	client  *http.Client
	own     *http.Transport    // if the client is ours
	poster  *posting.Transport // for what is small, if that can be; else nil

	to       *url.URL
	mu       sync.Mutex
	token    string
	usual    http.Header        // what goes along with all messages
	usualFor *terms             // in a session with these
	streams  context.CancelFunc // ends the stream of the session; nil if there is none
}

func newHTTPRoute(c *Client, address string) *httpRoute {
	h := &httpRoute{c: c, address: address, client: c.o.HTTP}
	h.to, _ = url.Parse(address) // which Dial has done before
	if h.client == nil {
		h.client = &http.Client{CheckRedirect: stayHome}
		if usual, ok := http.DefaultTransport.(*http.Transport); ok { // a program may have put its own in place of it
			h.own = usual.Clone()
			h.own.MaxIdleConnsPerHost = 256
			h.client.Transport = h.own
			h.poster = newPoster(usual, h.to)
		}
	}
	return h
}

// newPoster is a faster transport to an address, or nil if there is none: over TLS, by a proxy, on some systems, or if the program has made
// choices for the usual one that this one does not have.
func newPoster(usual *http.Transport, to *url.URL) *posting.Transport {
	ascii := !strings.ContainsFunc(to.Host, func(r rune) bool { return r > unicode.MaxASCII }) // any other has to be encoded
	chosen := usual.Protocols != nil || usual.DisableKeepAlives || usual.MaxConnsPerHost > 0 || usual.ResponseHeaderTimeout > 0 || usual.MaxResponseHeaderBytes > 0
	if !posting.Supported || to.Scheme != "http" || !ascii || usual.DialContext == nil || chosen {
		return nil
	}
	if usual.Proxy != nil {
		if proxy, err := usual.Proxy(&http.Request{URL: to}); proxy != nil || err != nil {
			return nil
		}
	}
	return posting.New(usual.DialContext)
}

// stayHome follows redirects within one origin: what is sent along, a key as a rule, is for nobody else.
func stayHome(req *http.Request, via []*http.Request) error {
	if len(via) > 5 || !sameOrigin(req.URL, via[0].URL) {
		return fmt.Errorf("it redirects to %s; use that address if you trust it", openly(req.URL.String()))
	}
	return nil
}

// sameOrigin reports whether two addresses are at the same server.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	if u.Port() == "" {
		return map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Port()
}

func (h *httpRoute) isHTTP() bool { return true }

func (h *httpRoute) explain(err error) error { return fmt.Errorf("%s: %w", openly(h.address), err) }

// openly is an address without what may be secret in it: who calls, and what is asked.
func openly(address string) string {
	address, _, _ = strings.Cut(address, "#")
	address, _, _ = strings.Cut(address, "?")
	scheme, rest, ok := strings.Cut(address, "//")
	if !ok {
		return address[strings.LastIndexByte(address, '@')+1:]
	}
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "//" + rest[strings.LastIndexByte(host, '@')+1:]
}

func (h *httpRoute) via(a *terms, r *outgoing) func(context.Context, func(), jsonrpc.ID, []byte) error {
	return func(ctx context.Context, done func(), id jsonrpc.ID, msg []byte) error {
		return h.call(ctx, done, a, r, id, msg)
	}
}

// call posts a request and takes what comes back, until it is answered.
func (h *httpRoute) call(ctx context.Context, done func(), a *terms, r *outgoing, id jsonrpc.ID, msg []byte) error {
	resp, err := h.post(ctx, h.header(a, r), msg)
	if err != nil {
		done()
		return err
	}
	if r.method == "initialize" {
		r.session = resp.Header.Get("Mcp-Session-Id")
	}
	switch mediaType(resp) {
	case "application/json":
		defer done()
		return h.takeBody(resp, id)
	case "text/event-stream":
		return (&inflow{h: h, a: a, id: id}).follow(ctx, done, resp)
	}
	defer done()
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusAccepted {
		return nil // the answer comes in another way
	}
	return refusal(resp, "it answers with "+mediaType(resp)+", which is no MCP; is the address right?")
}

// takeBody takes an answer that is all there is in a response.
func (h *httpRoute) takeBody(resp *http.Response, id jsonrpc.ID) error {
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
		return fmt.Errorf("its answer is no JSON-RPC: %w", errors.New(m.Fault().Message))
	}
	if e := errorIn(body); e != nil && m.ID().IsZero() {
		return &HTTPError{Status: resp.StatusCode, said: e}
	}
	return errors.New("its answer is that to another request")
}

// header is what goes along with a message. It is not to be changed: those of one session share it.
func (h *httpRoute) header(a *terms, r *outgoing) http.Header {
	h.mu.Lock()
	usual := h.usual
	if h.usualFor != a || usual == nil {
		usual = h.newHeader(a)
		h.usual, h.usualFor = usual, a
	}
	h.mu.Unlock()
	if !a.revision.stateless() {
		return usual
	}
	own := maps.Clone(usual)
	h.mirror(own, r)
	return own
}

// newHeader is what goes along with all messages. mu is held.
func (h *httpRoute) newHeader(a *terms) http.Header {
	header := http.Header{}
	for name, values := range h.c.o.Header {
		header[http.CanonicalHeaderKey(name)] = values
	}
	if user := h.to.User; user != nil && header.Get("Authorization") == "" {
		password, _ := user.Password()
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json, text/event-stream")
	if a.revision >= Revision20250618 {
		header.Set("MCP-Protocol-Version", string(a.revision))
	}
	if a.session != "" {
		header.Set("Mcp-Session-Id", a.session)
	}
	return header
}

// mirror repeats parts of a request in headers, as revision 2026-07-28 wants it.
func (h *httpRoute) mirror(header http.Header, r *outgoing) {
	header["Mcp-Method"] = []string{r.method}
	if r.name != "" {
		header["Mcp-Name"] = []string{encodeHeader(r.name)}
	}
	if r.method != "tools/call" {
		return
	}
	h.c.mu.Lock()
	repeated := h.c.headers[r.name]
	h.c.mu.Unlock()
	if len(repeated) == 0 || r.arguments == nil {
		return
	}
	arguments, err := encode(r.arguments)
	if err != nil {
		return // which writing the request says
	}
	for _, m := range repeated {
		if text, ok := m.Text(arguments); ok {
			header[m.Header] = []string{encodeHeader(text)}
		}
	}
}

// encodeHeader is a text as the value of a header: in base64 where it could not stand otherwise, or be taken for that.
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

// post sends a message. It tries again what surely was not taken: because nobody listened, because the server has too much to do and says
// when to come again, or with a new token. A response that refuses is an error.
func (h *httpRoute) post(ctx context.Context, header http.Header, msg []byte) (*http.Response, error) {
	const tries = 4
	for try := 1; ; try++ {
		resp, err := h.send(ctx, http.MethodPost, h.to, header, msg)
		wait := time.Duration(100<<try) * time.Millisecond
		switch {
		case err != nil && (try == tries || !unsent(err) || h.c.told.Load() == nil): // who was never there is not waited for
			return nil, plainly(err)
		case err != nil:
		case resp.StatusCode < 300:
			return resp, nil
		default:
			refused := refusal(resp, "")
			var again bool
			if again, wait = comeAgain(resp); !again || try == tries {
				refused.session = header.Get("Mcp-Session-Id") != ""
				return nil, refused
			}
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// unsent reports whether a request surely never reached anybody.
func unsent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// comeAgain reports whether a server wants to be asked again, and when.
func comeAgain(resp *http.Response) (bool, time.Duration) {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return false, 0
	}
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	return err == nil && seconds >= 0 && seconds <= 30, time.Duration(seconds) * time.Second
}

// send sends a request with the token, if there is one, and with a new one if that is refused.
func (h *httpRoute) send(ctx context.Context, method string, to *url.URL, header http.Header, msg []byte) (*http.Response, error) {
	if h.c.o.Token == nil {
		return h.exchange(ctx, method, to, header, msg)
	}
	h.mu.Lock()
	token := h.token
	h.mu.Unlock()
	for try := 0; ; try++ {
		if token == "" {
			var err error
			if token, err = h.c.o.Token(ctx); err != nil {
				return nil, fmt.Errorf("getting a token: %w", err)
			}
		}
		own := maps.Clone(header)
		own.Set("Authorization", "Bearer "+token)
		resp, err := h.exchange(ctx, method, to, own, msg)
		if err != nil {
			return nil, err
		}
		refused := resp.StatusCode == http.StatusUnauthorized
		h.mu.Lock()
		h.token = token
		if refused {
			h.token = ""
		}
		h.mu.Unlock()
		if !refused || try > 0 {
			return resp, nil
		}
		discard(resp)
		token = ""
	}
}

// exchange sends a request once, but for redirects. Those are rare, so that a request is made ready to be sent again only then.
func (h *httpRoute) exchange(ctx context.Context, method string, to *url.URL, header http.Header, msg []byte) (*http.Response, error) {
	if h.own != nil && (method != http.MethodPost || len(msg) > 0) {
		req := (&http.Request{Method: method, URL: to, Host: to.Host, Header: header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(ctx)
		if len(msg) > 0 {
			req.ContentLength = int64(len(msg))
			req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(msg)), nil }
			req.Body, _ = req.GetBody()
		}
		carrier := http.RoundTripper(h.own)
		if h.poster != nil && method == http.MethodPost && len(msg) <= posting.MaxBody {
			carrier = h.poster
		}
		resp, err := carrier.RoundTrip(req)
		if err != nil || resp.StatusCode < 300 || resp.StatusCode >= 400 {
			return resp, err
		}
		discard(resp)
	}
	req, err := http.NewRequestWithContext(ctx, method, to.String(), bytes.NewReader(msg))
	if err != nil {
		return nil, err
	}
	req.Header = header.Clone()
	return h.client.Do(req)
}

func (h *httpRoute) notify(ctx context.Context, a *terms, method string, params any) error {
	msg, err := jsonrpc.AppendNotification(nil, method, params)
	if err != nil {
		return err
	}
	return h.tell(ctx, a, method, msg)
}

// soon is a context for what has no answer, which takes no longer than an answer may.
func (c *Client) soon(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, c.o.Timeout, fmt.Errorf("the server did not take it within %v", c.o.Timeout))
}

// tell posts a message that has no answer.
func (h *httpRoute) tell(ctx context.Context, a *terms, method string, msg []byte) error {
	ctx, cancel := h.c.soon(ctx)
	defer cancel()
	resp, err := h.post(ctx, h.header(a, &outgoing{method: method}), msg)
	if err != nil {
		return err
	}
	discard(resp)
	return nil
}

// lost reports whether the server says that it does not know the session. That is status 404; some say 400 and the reason.
func (h *httpRoute) lost(err error) bool {
	var refused *HTTPError
	if !errors.As(err, &refused) || !refused.session {
		return false
	}
	return refused.Status == http.StatusNotFound || refused.Status == http.StatusBadRequest && strings.Contains(strings.ToLower(refused.Error()), "session")
}

// leave ends a session, if there is one.
func (h *httpRoute) leave(a *terms) {
	if a.session == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if resp, err := h.send(ctx, http.MethodDelete, h.to, h.header(a, &outgoing{}), nil); err == nil {
		discard(resp) // a server need not offer this
	}
}

// close ends all that goes on, and the session, if there is one.
func (h *httpRoute) close() error {
	hurry := make(chan struct{})
	close(hurry)
	h.c.conn.Close(hurry)
	if a := h.c.told.Load(); a != nil {
		h.leave(a)
	}
	if h.own != nil {
		h.client.CloseIdleConnections()
	}
	if h.poster != nil {
		h.poster.CloseIdleConnections()
	}
	return nil
}
