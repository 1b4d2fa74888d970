package clienthttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/client/clienthttp"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/peer"
)

// A call that is never answered ends with a timeout.
func TestSSETimesOut(t *testing.T) {
	c := dial(t, clienthttp.Server{URL: sseServer(t, newServer(t)), SSE: true}, client.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	var late *peer.TimeoutError
	if _, err := c.CallTool(ctx, "waits", nil, client.WithTimeouts(50*time.Millisecond, 0)); !errors.As(err, &late) {
		t.Errorf("the call ends with %v (%T), want a timeout", err, err)
	}
	expectSum(t, c)
}

// The endpoint may name the default port. A stream that never begins ends with a timeout.
func TestSSEOpens(t *testing.T) {
	posted := make(chan string, 1)
	carrier := carrierFunc(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodPost {
			select {
			case posted <- r.URL.Host:
			default:
			}
			return nil, errors.New("enough")
		}
		stream := "event: endpoint\ndata: http://LOCALHOST:80/messages\n\n"
		rest, end := io.Pipe() // the stream stays open
		context.AfterFunc(r.Context(), func() { end.Close() })
		body := io.NopCloser(io.MultiReader(strings.NewReader(stream), rest))
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body, Request: r}, nil
	})
	_, _ = clienthttp.Dial(t.Context(), clienthttp.Server{URL: "http://localhost/sse", SSE: true, HTTP: &http.Client{Transport: carrier}}, client.Options{})
	select {
	case host := <-posted:
		if host != "LOCALHOST:80" {
			t.Errorf(`the client posts to the host %q, want "LOCALHOST:80"`, host)
		}
	default:
		t.Error("the client posts nothing")
	}

	silent := carrierFunc(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	_, err := clienthttp.Dial(t.Context(), clienthttp.Server{URL: "http://localhost/sse", SSE: true, HTTP: &http.Client{Transport: silent}}, client.Options{ConnectTimeout: 20 * time.Millisecond})
	var late *peer.TimeoutError
	if !errors.As(err, &late) {
		t.Errorf("a stream that never begins: %v (%T), want a timeout", err, err)
	}
}

type carrierFunc func(*http.Request) (*http.Response, error)

func (f carrierFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// An endpoint at another host gets no requests, because they contain credentials.
func TestSSEEndpointElsewhere(t *testing.T) {
	for _, endpoint := range []string{
		"http://evil.example/messages", "//evil.example/messages", "https://localhost/messages", "http://localhost:81/messages",
		"http://localhost@evil.example/", "http://localhost.evil.example/", "HTTP://EVIL.example", `\\evil.example\messages`, "http:evil", "://", "file:///etc/passwd",
	} {
		var hosts []string
		carrier := carrierFunc(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host != "localhost" || r.URL.Scheme != "http" {
				hosts = append(hosts, r.URL.String())
			}
			if r.Method == http.MethodPost {
				return nil, errors.New("enough")
			}
			body := io.NopCloser(strings.NewReader("event: endpoint\ndata: " + endpoint + "\n\n"))
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body, Request: r}, nil
		})
		server := clienthttp.Server{URL: "http://localhost/sse", SSE: true, HTTP: &http.Client{Transport: carrier}, Header: http.Header{"X-Api-Token": {"secret"}}}
		if _, err := clienthttp.Dial(t.Context(), server, client.Options{ConnectTimeout: time.Second}); err == nil || len(hosts) > 0 {
			t.Errorf("%s: %v, and these were called: %s; want an error and no hosts", endpoint, err, hosts)
		}
	}
}

// Requests from the server whose answers it does not accept are limited. The error has the limit.
func TestUnansweredRequests(t *testing.T) {
	for _, sse := range []bool{false, true} {
		stop := make(chan struct{})
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			var m struct {
				ID     json.RawMessage
				Method string
			}
			_ = json.Unmarshal(body, &m)
			flood := func() {
				for i := range 1000 {
					fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}\n\n", i)
				}
				w.(http.Flusher).Flush()
				<-stop
			}
			switch {
			case r.Method == http.MethodGet && sse:
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, "event: endpoint\ndata: /messages\n\n")
				flood()
			case m.Method == "tools/call":
				w.Header().Set("Content-Type", "text/event-stream")
				flood()
			case m.Method == "" && m.ID != nil: // an answer
				<-stop
			case m.Method == "initialize":
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"floods","version":"1"}}}`, m.ID)
			default:
				w.WriteHeader(http.StatusAccepted)
			}
		}))
		c, err := clienthttp.Dial(t.Context(), clienthttp.Server{URL: web.URL, SSE: sse}, client.Options{Handshake: true, Revision: mcp.Revision20250618})
		if err == nil {
			_, err = c.CallTool(t.Context(), "floods", nil)
			c.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "too many unanswered requests: more than 100") {
			t.Errorf(`with SSE %t: %v; want an error containing "too many unanswered requests: more than 100"`, sse, err)
		}
		close(stop)
		web.Close()
	}
}
