package clienthttp_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/client/clienthttp"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
)

// A notification function may call the client, although the response arrives over the same stream.
func TestSSEHandlersCall(t *testing.T) {
	server := newServer(t)
	asked := make(chan error, 1)
	ready := make(chan *client.Client, 1)
	c := dial(t, clienthttp.Server{URL: sseServer(t, server), SSE: true}, client.Options{ToolsChanged: func(ctx context.Context) {
		c := <-ready
		_, err := c.Tools(ctx)
		asked <- err
	}})
	ready <- c
	if err := server.AddTool(mcp.Tool{Name: "another"}, fixture.Nothing); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-asked:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(5 * time.Second):
		t.Error("it waits for itself")
	}
}

// A call that is never answered ends with a timeout.
func TestSSETimesOut(t *testing.T) {
	c := dial(t, clienthttp.Server{URL: sseServer(t, newServer(t)), SSE: true}, client.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	var late *jsonrpc.TimeoutError
	if _, err := c.CallTool(ctx, "waits", nil, client.Within(50*time.Millisecond, 0)); !errors.As(err, &late) {
		t.Errorf("it ends with %v", err)
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
			t.Errorf("it posts to %s", host)
		}
	default:
		t.Error("it posts nothing")
	}

	silent := carrierFunc(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	_, err := clienthttp.Dial(t.Context(), clienthttp.Server{URL: "http://localhost/sse", SSE: true, HTTP: &http.Client{Transport: silent}}, client.Options{ConnectTimeout: 20 * time.Millisecond})
	var late *jsonrpc.TimeoutError
	if !errors.As(err, &late) {
		t.Errorf("a stream that never begins: %v", err)
	}
}

type carrierFunc func(*http.Request) (*http.Response, error)

func (f carrierFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
