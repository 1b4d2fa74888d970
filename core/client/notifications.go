package mcp

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// handle takes what the server asks and tells.
func (c *Client) handle(ctx context.Context, req *jsonrpc.Request) (any, error) {
	if req.IsNotification() {
		return nil, c.notified(ctx, req)
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

// notified takes a notification. It is done in order, unless somebody takes long over it.
func (c *Client) notified(ctx context.Context, req *jsonrpc.Request) error {
	switch req.Method {
	case "notifications/progress":
		return c.progressed(req)
	case "notifications/cancelled":
		var p struct {
			RequestID jsonrpc.ID `json:"requestId"`
		}
		if err := unmarshalParams(req.Params, &p); err != nil {
			return err
		}
		if !c.conn.Cancel(p.RequestID) {
			c.unlisten(p.RequestID)
		}
	case "notifications/subscriptions/acknowledged":
		var p acknowledgedParams
		if err := unmarshalParams(req.Params, &p); err != nil {
			return err
		}
		c.acknowledged(p.Meta.ID)
	}
	if c.o.Notified != nil {
		req.MayTakeLong()
		c.o.Notified(ctx, req.Method, req.Params)
	}
	return c.tellOf(ctx, req)
}

// tellOf calls who is told of a notification.
func (c *Client) tellOf(ctx context.Context, req *jsonrpc.Request) error {
	tell := func(f func(context.Context)) {
		if f != nil {
			req.MayTakeLong()
			f(ctx)
		}
	}
	switch req.Method {
	case "notifications/tools/list_changed":
		tell(c.o.ToolsChanged)
	case "notifications/prompts/list_changed":
		tell(c.o.PromptsChanged)
	case "notifications/resources/list_changed":
		tell(c.o.ResourcesChanged)
	case "notifications/resources/updated":
		var p listenedParams
		if err := unmarshalParams(req.Params, &p); err != nil {
			return err
		}
		if c.o.ResourceUpdated != nil {
			req.MayTakeLong()
			c.o.ResourceUpdated(ctx, p.URI)
		}
	case "notifications/message":
		var m LogMessage
		if err := unmarshalParams(req.Params, &m); err != nil {
			return err
		}
		if c.o.Logged != nil {
			req.MayTakeLong()
			c.o.Logged(ctx, m)
		}
	}
	return nil
}

func unmarshalParams(raw json.RawMessage, v any) error {
	if raw == nil {
		return nil
	}
	return strictjson.Unmarshal(raw, v)
}

// follow makes the token under which a request is told how far it has come.
func (c *Client) follow(r *outgoing) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tokens++
	token := strconv.FormatInt(c.tokens, 10)
	c.followed[token] = r
	return token
}

func (c *Client) unfollow(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.followed, token)
}

// progressed tells a request how far it has come, and lets it wait on.
func (c *Client) progressed(req *jsonrpc.Request) error {
	var p struct {
		Token jsonrpc.ID `json:"progressToken"`
		ProgressReport
	}
	if err := strictjson.Unmarshal(req.Params, &p); err != nil {
		return err
	}
	c.mu.Lock()
	r := c.followed[p.Token.String()]
	if r != nil {
		c.conn.Touch(&r.out) // with mu held: it may be sent again as soon as nobody follows it
	}
	c.mu.Unlock()
	if r == nil {
		return nil // of one that is over
	}
	req.MayTakeLong()
	r.progress(p.ProgressReport)
	return nil
}
