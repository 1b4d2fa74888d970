package client

import (
	"context"
	"strconv"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// handle serves requests and notifications of the server.
func (c *Client) handle(ctx context.Context, req *jsonrpc.Request) (any, error) {
	if req.IsNotification() {
		return nil, c.handleNotification(ctx, req)
	}
	switch req.Method {
	case "ping":
		return struct{}{}, nil
	case "initialize", "server/discover":
		c.echoes.Store(true)
	}
	req.Release()
	return c.answer(ctx, req.Method, req.Params)
}

// handleNotification handles a notification. It calls req.MayTakeLong before the functions of [Options],
// except Notification, so that they do not hold up other messages.
func (c *Client) handleNotification(ctx context.Context, req *jsonrpc.Request) error {
	if c.o.Notification != nil {
		c.o.Notification(ctx, req.Method, req.Params)
	}
	switch req.Method {
	case "notifications/progress":
		if err := c.handleProgress(req); err != nil {
			return err
		}
	case "notifications/cancelled":
		var p struct {
			RequestID jsonrpc.ID `json:"requestId"`
		}
		if err := unmarshalParams(req.Params, &p); err != nil {
			return err
		}
		if !c.conn.Cancel(p.RequestID) {
			c.endListener(p.RequestID)
		}
	case "notifications/subscriptions/acknowledged":
		var p struct {
			Meta struct {
				ID jsonrpc.ID `json:"io.modelcontextprotocol/subscriptionId"`
			} `json:"_meta"`
		}
		if err := unmarshalParams(req.Params, &p); err != nil {
			return err
		}
		c.acknowledge(p.Meta.ID)
	}
	return c.deliver(ctx, req)
}

// deliver calls the function of [Options] for a notification.
func (c *Client) deliver(ctx context.Context, req *jsonrpc.Request) error {
	call := func(f func(context.Context)) {
		if f != nil {
			req.MayTakeLong()
			f(ctx)
		}
	}
	switch req.Method {
	case "notifications/tools/list_changed":
		call(c.o.ToolsChanged)
	case "notifications/prompts/list_changed":
		call(c.o.PromptsChanged)
	case "notifications/resources/list_changed":
		call(c.o.ResourcesChanged)
	case "notifications/resources/updated":
		var p struct {
			URI string `json:"uri"`
		}
		if err := unmarshalParams(req.Params, &p); err != nil {
			return err
		}
		if c.o.ResourceUpdated != nil {
			call(func(ctx context.Context) { c.o.ResourceUpdated(ctx, p.URI) })
		}
	case "notifications/message":
		var m LogMessage
		if err := unmarshalParams(req.Params, &m); err != nil {
			return err
		}
		if c.o.Log != nil {
			call(func(ctx context.Context) { c.o.Log(ctx, m) })
		}
	}
	return nil
}

// addProgress returns a new progress token for a request.
func (c *Client) addProgress(r *request) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastToken++
	token := strconv.FormatInt(c.lastToken, 10)
	c.inProgress[token] = r
	return token
}

func (c *Client) removeProgress(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.inProgress, token)
}

// handleProgress restarts the timeout of a request, and calls its function.
func (c *Client) handleProgress(req *jsonrpc.Request) error {
	var p struct {
		Token jsonrpc.ID `json:"progressToken"`
		Progress
	}
	if err := strictjson.Unmarshal(req.Params, &p); err != nil {
		return err
	}
	c.mu.Lock()
	r := c.inProgress[p.Token.String()]
	if r != nil {
		c.conn.Touch(&r.out) // under the lock: afterwards the request may be sent again
	}
	c.mu.Unlock()
	if r != nil { // else the request is over
		req.MayTakeLong()
		r.progress(p.Progress)
	}
	return nil
}
