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
