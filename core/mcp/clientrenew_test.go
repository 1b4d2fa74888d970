package mcp_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/petrock/petrock/core/mcp"
)

// A server that ends its streams and wants no wait is not asked without end.
func TestHTTPClientResumesSlowly(t *testing.T) {
	var asked atomic.Int32
	url := serveWith(t, newFixture(t, mcp.Options{}), func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet {
			return false
		}
		asked.Add(1)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "id: 1\nretry: 1\ndata:\n\n")
		return true
	})
	dial(t, url, mcp.ClientOptions{Revision: mcp.LatestHandshake})
	time.Sleep(350 * time.Millisecond)
	if n := asked.Load(); n < 2 || n > 5 {
		t.Errorf("it was asked %d times", n)
	}
}

// A server that never lets a new session begin keeps nobody for ever.
func TestHTTPClientRenewsInTime(t *testing.T) {
	for _, stuck := range []string{`"initialize"`, `"notifications/initialized"`} {
		t.Run(stuck, func(t *testing.T) {
			var forgets atomic.Bool
			url := serveWith(t, newFixture(t, mcp.Options{}), func(w http.ResponseWriter, r *http.Request) bool {
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(body))
				switch {
				case !forgets.Load() || r.Method != http.MethodPost:
					return false
				case strings.Contains(string(body), stuck):
					<-r.Context().Done()
				case strings.Contains(string(body), "tools/call"):
					http.Error(w, "no such session", http.StatusNotFound)
				default:
					return false
				}
				return true
			})
			c := dial(t, url, mcp.ClientOptions{Revision: mcp.LatestHandshake, Timeout: 500 * time.Millisecond})
			forgets.Store(true)
			first := make(chan error, 1)
			go func() {
				_, err := c.CallTool(context.Background(), "add", addInput{1, 2})
				first <- err
			}()
			time.Sleep(50 * time.Millisecond)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			began := time.Now()
			if _, err := c.CallTool(ctx, "add", addInput{1, 2}); err == nil || time.Since(began) > 400*time.Millisecond {
				t.Errorf("who has little time waits %v: %v", time.Since(began), err)
			}
			select {
			case err := <-first:
				if err == nil {
					t.Error("it is answered")
				}
			case <-time.After(5 * time.Second):
				t.Error("it still waits")
			}
		})
	}
}

// Who only listens goes on being told of changes: in a new session when the server has forgotten the old one, and from anew in the same when
// it has forgotten the events.
func TestHTTPClientListensOn(t *testing.T) {
	const events = "id: 1\nretry: 1\ndata:\n\n"
	for _, forgets := range []string{"session", "events"} {
		t.Run(forgets, func(t *testing.T) {
			server := newFixture(t, mcp.Options{})
			var first, forgotten atomic.Value
			subscribed := make(chan struct{})
			url := serveWith(t, server, func(w http.ResponseWriter, r *http.Request) bool {
				session := r.Header.Get("Mcp-Session-Id")
				switch {
				case session != "" && session == forgotten.Load():
					http.Error(w, "no such session", http.StatusNotFound)
				case r.Header.Get("Last-Event-ID") != "":
					http.Error(w, "no such event", http.StatusBadRequest)
				case r.Method == http.MethodGet && first.CompareAndSwap(nil, session):
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, events)
					_ = http.NewResponseController(w).Flush()
					<-subscribed
					if forgets == "session" {
						forgotten.Store(session)
					}
				default:
					return false
				}
				return true
			})
			updated := make(chan string, 1)
			c := dial(t, url, mcp.ClientOptions{Revision: mcp.LatestHandshake, ResourceUpdated: func(_ context.Context, uri string) {
				select {
				case updated <- uri:
				default:
				}
			}})
			if err := c.Subscribe(t.Context(), "note://readme"); err != nil {
				t.Fatal(err)
			}
			close(subscribed)
			late := time.After(10 * time.Second)
			for told := false; !told; {
				server.ResourceUpdated("note://readme")
				select {
				case <-updated:
					told = true
				case <-time.After(20 * time.Millisecond):
				case <-late:
					t.Fatal("it is told nothing")
				}
			}
		})
	}
}

// A server that takes nothing any more holds up neither who gives up a call nor the calls of a client that ends.
func TestHTTPClientLeavesHungServer(t *testing.T) {
	var hangs atomic.Bool
	url := serveWith(t, newFixture(t, mcp.Options{}), func(_ http.ResponseWriter, r *http.Request) bool {
		if hangs.Load() {
			<-r.Context().Done()
		}
		return hangs.Load()
	})
	c := dial(t, url, mcp.ClientOptions{Revision: mcp.LatestHandshake})
	hangs.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := c.CallTool(ctx, "add", addInput{1, 2}); err == nil || time.Since(began) > 500*time.Millisecond {
		t.Errorf("who has little time waits %v: %v", time.Since(began), err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := c.CallTool(context.Background(), "add", addInput{1, 2})
		ended <- err
	}()
	time.Sleep(20 * time.Millisecond)
	go c.Close()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("it is answered")
		}
	case <-time.After(time.Second):
		t.Error("it still waits")
	}
}
