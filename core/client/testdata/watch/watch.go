// Package watch subscribes a client to changes of its server, for tests.
package watch

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/strictjson"
)

// A Watcher calls functions for notifications. Set its method Notification in [client.Options].
type Watcher struct {
	Changed func(list string)        // a list has changed: tools, prompts or resources
	Updated func(uri string)         // a resource has changed
	Logged  func(level, data string) // a log message
	acked   chan struct{}            // receives acknowledgements of subscriptions/listen
}

// New returns a watcher whose functions do nothing.
func New() *Watcher {
	return &Watcher{
		Changed: func(string) {}, Updated: func(string) {}, Logged: func(string, string) {},
		acked: make(chan struct{}, 10),
	}
}

// Notification implements the function of [client.Options].
func (w *Watcher) Notification(_ context.Context, method string, params json.RawMessage) {
	text := func(key string) string {
		value, _ := strictjson.Unquote(strictjson.Member(params, key))
		return value
	}
	switch method {
	case "notifications/subscriptions/acknowledged":
		w.acked <- struct{}{}
	case "notifications/tools/list_changed":
		w.Changed("tools")
	case "notifications/prompts/list_changed":
		w.Changed("prompts")
	case "notifications/resources/list_changed":
		w.Changed("resources")
	case "notifications/resources/updated":
		w.Updated(text("uri"))
	case "notifications/message":
		w.Logged(text("level"), string(strictjson.Member(params, "data")))
	}
}

// Subscribe subscribes to resources. In stateless revisions it also subscribes to changes of the lists,
// which a session has always. stop ends the subscriptions.
func (w *Watcher) Subscribe(ctx context.Context, c *client.Client, uris ...string) (stop func() error, err error) {
	if c.Revision() <= mcp.LatestHandshake {
		send := func(method string) (err error) {
			for _, uri := range uris {
				err = errors.Join(err, c.Request(ctx, method, map[string]any{"uri": uri}, nil))
			}
			return err
		}
		return func() error { return send("resources/unsubscribe") }, send("resources/subscribe")
	}
	filter := map[string]any{"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true, "resourceSubscriptions": uris}
	if uris == nil {
		delete(filter, "resourceSubscriptions")
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- c.Request(ctx, "subscriptions/listen", map[string]any{"notifications": filter}, nil) }()
	select {
	case <-w.acked:
	case err := <-ended:
		cancel()
		return nil, errors.Join(errors.New("the server ended subscriptions/listen"), err)
	case <-time.After(20 * time.Second):
		cancel()
		return nil, errors.New("the server did not acknowledge subscriptions/listen")
	}
	return func() error {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}, nil
}
