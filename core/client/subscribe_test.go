package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/client/clienthttp"
	"github.com/petrock/petrock/core/jsonrpc"
)

// listened is a request of revision 2026-07-28.
type listened struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Notifications struct {
			URIs []string `json:"resourceSubscriptions"`
		} `json:"notifications"`
	} `json:"params"`
}

// listenServer is a stateless server that only has subscriptions/listen.
func listenServer(t *testing.T, listen func(r listened, say func(string), ctx context.Context)) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var r listened
		json.NewDecoder(req.Body).Decode(&r)
		if r.Method == "server/discover" {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"resources":{"subscribe":true}}}}`, r.ID)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		listen(r, func(msg string) {
			fmt.Fprintf(w, "data: %s\n\n", msg)
			w.(http.Flusher).Flush()
		}, req.Context())
	}))
	t.Cleanup(web.Close)
	t.Cleanup(web.CloseClientConnections)
	return web.URL
}

func dial(t *testing.T, url string, o client.Options) *client.Client {
	t.Helper()
	c, err := clienthttp.Dial(t.Context(), clienthttp.Server{URL: url}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func ack(r listened) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{}}}`, r.ID)
}

// Concurrent subscriptions are all in effect in the end.
func TestClientSubscribesAtOnce(t *testing.T) {
	var mu sync.Mutex
	open := map[string][]string{}
	url := listenServer(t, func(r listened, say func(string), ctx context.Context) {
		if len(r.Params.Notifications.URIs) == 1 {
			time.Sleep(100 * time.Millisecond) // those who ask for less are served last
		}
		mu.Lock()
		open[string(r.ID)] = r.Params.Notifications.URIs
		mu.Unlock()
		say(ack(r))
		<-ctx.Done()
		mu.Lock()
		delete(open, string(r.ID))
		mu.Unlock()
	})
	c := dial(t, url, client.Options{})
	var all sync.WaitGroup
	for _, uri := range []string{"note://a", "note://b"} {
		all.Go(func() {
			if err := c.Subscribe(t.Context(), uri); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(20 * time.Millisecond)
	}
	all.Wait()
	time.Sleep(50 * time.Millisecond)
	mu.Lock()
	defer mu.Unlock()
	for _, uris := range open {
		if slices.Contains(uris, "note://a") && slices.Contains(uris, "note://b") {
			return
		}
	}
	t.Errorf("it listens to %v", open)
}

// If the server ends subscriptions/listen, the client sends it again.
func TestClientListensAgain(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			var times atomic.Int32
			again := make(chan struct{})
			url := listenServer(t, func(r listened, say func(string), ctx context.Context) {
				switch times.Add(1) {
				case 1:
					say(ack(r) + "\n\ndata: " + fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete"}}`, r.ID))
				case 2:
					say(ack(r))
					close(again)
					<-ctx.Done()
				}
			})
			c := dial(t, url, client.Options{})
			if err := c.Subscribe(t.Context(), "note://a"); err != nil {
				t.Error(err)
			}
			select {
			case <-again:
			case <-time.After(5 * time.Second):
				t.Error("it no longer listens")
			}
			c.Close()
		})
	}
	all.Wait()
}

// A result that follows an acknowledgement does not overtake it, even if handling the
// acknowledgement takes long.
func TestClientHandlesAcknowledgementFirst(t *testing.T) {
	t.Parallel()
	url := listenServer(t, func(r listened, say func(string), ctx context.Context) {
		say(ack(r) + "\n\ndata: " + fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete"}}`, r.ID))
	})
	c := dial(t, url, client.Options{Notification: func(context.Context, string, json.RawMessage) {
		time.Sleep(100 * time.Millisecond)
	}})
	if err := c.Subscribe(t.Context(), "note://a"); err != nil {
		t.Error(err)
	}
}

// If the server ends subscriptions/listen with notifications/cancelled, which it may over stdio, the
// client sends it again, and does not send the cancellation back.
func TestClientListensAgainAfterCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := jsonrpc.Pipe()
		var methods []string
		served := make(chan struct{})
		go func() {
			defer close(served)
			defer theirs.Close()
			say := func(format string, args ...any) { theirs.Send([]byte(fmt.Sprintf(format, args...))) }
			for {
				msg, err := theirs.Receive()
				if err != nil {
					return
				}
				var r listened
				json.Unmarshal(msg, &r)
				methods = append(methods, r.Method)
				switch r.Method {
				case "server/discover":
					say(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"resources":{"subscribe":true}}}}`, r.ID)
				case "subscriptions/listen":
					say("%s", ack(r))
					if len(methods) < 4 {
						say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, r.ID)
					}
				}
			}
		}()
		c, err := client.Over(t.Context(), ours, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Subscribe(t.Context(), "note://a"); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		c.Close()
		<-served
		if got := strings.Join(methods, " "); got != "server/discover subscriptions/listen subscriptions/listen subscriptions/listen" {
			t.Errorf("the client sends %s", got)
		}
	})
}
