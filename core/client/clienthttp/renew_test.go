package clienthttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/client/clienthttp"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
)

// The client waits at least 100 ms between retries, even if the server asks for less.
func TestHTTPClientResumesSlowly(t *testing.T) {
	t.Parallel()
	asked := make(chan time.Time, 100)
	url := serveWith(t, fixture.New(t, mcp.Options{}), func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet {
			return false
		}
		asked <- time.Now()
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "id: 1\nretry: 1\ndata:\n\n")
		return true
	})
	var waits []time.Duration
	dial(t, clienthttp.Server{URL: url}, client.Options{Revision: mcp.LatestHandshake})
	for last := <-asked; len(waits) < 3; {
		now := <-asked
		waits = append(waits, now.Sub(last))
		last = now
	}
	// Requests may be delayed on their way, so that a single wait can look shorter.
	if total := waits[0] + waits[1] + waits[2]; total < 250*time.Millisecond {
		t.Errorf("the client retries after %v, %v in all; want at least %v", waits, total, 250*time.Millisecond)
	}
}

// If the server never accepts a new session, calls still end.
func TestHTTPClientRenewsInTime(t *testing.T) {
	t.Parallel()
	for _, stuck := range []string{`"initialize"`, `"notifications/initialized"`} {
		t.Run(stuck, func(t *testing.T) {
			t.Parallel()
			var forgets atomic.Bool
			url := serveWith(t, fixture.New(t, mcp.Options{}), func(w http.ResponseWriter, r *http.Request) bool {
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
			c := dial(t, clienthttp.Server{URL: url}, client.Options{Revision: mcp.LatestHandshake, Timeout: 2 * time.Second})
			forgets.Store(true)
			first := make(chan error, 1)
			go func() {
				_, err := c.CallTool(context.Background(), "add", fixture.AddInput{A: 1, B: 2})
				first <- err
			}()
			time.Sleep(50 * time.Millisecond)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			began := time.Now()
			if _, err := c.CallTool(ctx, "add", fixture.AddInput{A: 1, B: 2}); err == nil || time.Since(began) > 1500*time.Millisecond {
				t.Errorf("a call with a short deadline ends after %v with %v; want an error after at most 1.5s", time.Since(began), err)
			}
			select {
			case err := <-first:
				if err == nil {
					t.Error("the first call returned no error, want one")
				}
			case <-time.After(20 * time.Second):
				t.Error("the first call still waits")
			}
		})
	}
}

// A client that only waits for changes keeps receiving them: in a new session if the server has
// lost the old one, over a new stream if it has lost the events, and after the server was
// unavailable.
func TestHTTPClientListensOn(t *testing.T) {
	t.Parallel()
	const events = "id: 1\nretry: 1\ndata:\n\n"
	for _, trouble := range []string{"the session is forgotten", "the events are forgotten", "the stream is still there", "the server is away"} {
		t.Run(trouble, func(t *testing.T) {
			t.Parallel()
			server := fixture.New(t, mcp.Options{})
			var first, forgotten atomic.Value
			var refused atomic.Int32
			connected := make(chan struct{})
			url := serveWith(t, server, func(w http.ResponseWriter, r *http.Request) bool {
				session := r.Header.Get("Mcp-Session-Id")
				cut := first.Load() != nil && r.Method == http.MethodGet
				switch {
				case session != "" && session == forgotten.Load():
					http.Error(w, "no such session", http.StatusNotFound)
				case trouble == "the events are forgotten" && r.Header.Get("Last-Event-ID") != "":
					http.Error(w, "no such event", http.StatusBadRequest)
				case trouble == "the stream is still there" && cut && refused.Add(1) <= 2:
					http.Error(w, "there is one", http.StatusConflict)
				case trouble == "the server is away" && (cut || refused.Load() > 0) && refused.Add(1) <= 4:
					http.Error(w, "no backend", http.StatusNotFound)
				case r.Method == http.MethodGet && first.CompareAndSwap(nil, session):
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, events)
					_ = http.NewResponseController(w).Flush()
					<-connected
					if trouble == "the session is forgotten" {
						forgotten.Store(session)
					}
				default:
					r.Header.Del("Last-Event-ID") // which the server has never given
					return false
				}
				return true
			})
			changed := make(chan string, 1)
			dial(t, clienthttp.Server{URL: url}, client.Options{Revision: mcp.LatestHandshake, Notification: func(_ context.Context, method string, _ json.RawMessage) {
				select {
				case changed <- method:
				default:
				}
			}})
			close(connected)
			late := time.After(20 * time.Second)
			for i, told := 0, false; !told; i++ {
				if err := server.AddTool(mcp.Tool{Name: fmt.Sprintf("tool%d", i)}, fixture.Nothing); err != nil {
					t.Fatal(err)
				}
				select {
				case <-changed:
					told = true
				case <-time.After(20 * time.Millisecond):
				case <-late:
					t.Fatal("the client is told nothing")
				}
			}
		})
	}
}

// If the server refuses notifications/initialized, the client deletes the session.
func TestHTTPClientLeavesSession(t *testing.T) {
	var begun, ended atomic.Int32
	url := serveWith(t, fixture.New(t, mcp.Options{}), func(w http.ResponseWriter, r *http.Request) bool {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		switch {
		case r.Method == http.MethodDelete:
			ended.Add(1)
		case strings.Contains(string(body), `"initialize"`):
			begun.Add(1)
		case strings.Contains(string(body), "notifications/initialized"):
			http.Error(w, "busy", http.StatusInternalServerError)
			return true
		}
		return false
	})
	if _, err := clienthttp.Dial(t.Context(), clienthttp.Server{URL: url}, client.Options{Revision: mcp.LatestHandshake}); err == nil {
		t.Error("Dial to a busy server returned no error, want one")
	}
	if begun.Load() != 1 || ended.Load() != 1 {
		t.Errorf("%d sessions have begun, and %d ended; want 1 and 1", begun.Load(), ended.Load())
	}
}

// A call that times out is cancelled at the server, even if the client closes right after.
func TestHTTPClientGivesUpAndEnds(t *testing.T) {
	told := make(chan struct{}, 1)
	url := serveWith(t, fixture.New(t, mcp.Options{}), func(_ http.ResponseWriter, r *http.Request) bool {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if strings.Contains(string(body), "notifications/cancelled") {
			told <- struct{}{}
		}
		return false
	})
	c := dial(t, clienthttp.Server{URL: url}, client.Options{Revision: mcp.LatestHandshake})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.CallTool(ctx, "waits", nil); err == nil {
		t.Error("a call with a short deadline returned no error, want one")
	}
	c.Close()
	select {
	case <-told:
	case <-time.After(5 * time.Second):
		t.Error("the server is not told")
	}
}

// A server that hangs delays neither cancelled calls nor Close.
func TestHTTPClientLeavesHungServer(t *testing.T) {
	var hangs atomic.Bool
	ends := make(chan struct{})
	url := serveWith(t, fixture.New(t, mcp.Options{}), func(_ http.ResponseWriter, r *http.Request) bool {
		if !hangs.Load() {
			return false
		}
		select {
		case <-r.Context().Done():
		case <-ends:
		}
		return true
	})
	c := dial(t, clienthttp.Server{URL: url}, client.Options{Revision: mcp.LatestHandshake})
	t.Cleanup(func() { close(ends) }) // before c.Close, which would wait for the server
	hangs.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := c.CallTool(ctx, "add", fixture.AddInput{A: 1, B: 2}); err == nil || time.Since(began) > 500*time.Millisecond {
		t.Errorf("a call with a short deadline ends after %v with %v; want an error after at most 500ms", time.Since(began), err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := c.CallTool(context.Background(), "add", fixture.AddInput{A: 1, B: 2})
		ended <- err
	}()
	time.Sleep(20 * time.Millisecond)
	go c.Close()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("a call in progress returned no error after Close, want one")
		}
	case <-time.After(time.Second):
		t.Error("a call in progress still waits after Close")
	}
}
