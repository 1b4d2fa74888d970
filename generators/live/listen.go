package live

import (
	"encoding/json"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// A listen is a subscriptions/listen of the client. It outlives the servers: each new one gets a
// request of its own.
type listen struct {
	c       *session
	request *jsonrpc.Message

	// The mutex of the session guards these.
	ids    map[*peer]jsonrpc.ID // the requests to the servers
	isOpen bool                 // the client has the acknowledgement
}

// listen starts a subscription of the client. A server that runs accepts or refuses it.
func (c *session) listen(m *jsonrpc.Message) {
	if !isStateless(m) || strictjson.First(param(m, "notifications")) != '{' {
		c.open.Add(1)
		c.forward(serverKind, m) // it refuses the request
		return
	}
	l := &listen{c: c, request: m, ids: map[*peer]jsonrpc.ID{}}
	c.setup.Lock()
	defer c.setup.Unlock()
	c.mu.Lock()
	c.listens[m.ID()] = l
	c.mu.Unlock()
	isAsked := false
	for _, sl := range c.slots {
		if p := sl.current.Load(); p != nil {
			l.open(p)
			isAsked = true
		}
	}
	if !isAsked {
		c.mu.Lock()
		defer c.mu.Unlock()
		l.acknowledge()
	}
}

// acknowledge tells the client that the subscription is open. The caller holds the mutex of the
// session.
func (l *listen) acknowledge() {
	if !l.isOpen {
		l.isOpen = true
		l.c.send(notification("notifications/subscriptions/acknowledged", object(nil).with("_meta", l.meta()).with("notifications", param(l.request, "notifications")).json()))
	}
}

// meta returns the _meta of notifications to the client.
func (l *listen) meta() json.RawMessage {
	return object(nil).with(metaSubscription, rawID(l.request.ID())).json()
}

// open subscribes at a server.
func (l *listen) open(p *peer) {
	var uris [][]byte
	filter := param(l.request, "notifications")
	for _, uri := range elements(member(filter, "resourceSubscriptions")) {
		if l.c.ownerOf(text(uri)) == p.slot.kind {
			uris = append(uris, uri)
		}
	}
	own := without(filter, "resourceSubscriptions")
	if uris != nil {
		own = own.with("resourceSubscriptions", array(uris))
	}
	id := p.newID()
	l.c.mu.Lock()
	l.ids[p] = id
	l.c.mu.Unlock()
	p.send(request(id, l.request.Method(), without(l.request.Params(), "notifications").with("notifications", own.json()).json()))
}

// stop ends the subscription at all servers.
func (l *listen) stop() {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	for p, id := range l.ids {
		p.send(cancellation(id, nil))
	}
}

// published sends the notification of a server to the subscription that it belongs to.
func (c *session) published(p *peer, m *jsonrpc.Message) {
	id := idParam(m, "_meta", metaSubscription)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.listens {
		switch {
		case l.ids[p] != id:
		case m.Method() == "notifications/subscriptions/acknowledged":
			l.acknowledge()
		default:
			c.send(notification(m.Method(), without(m.Params(), "_meta").with("_meta", l.meta()).json()))
		}
	}
}

// refused ends the subscription that a server has answered with an error, unless it is open.
func (c *session) refused(p *peer, answer *jsonrpc.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, l := range c.listens {
		if l.ids[p] == answer.ID() && !l.isOpen && answer.Err() != nil {
			delete(c.listens, id)
			c.send(answer.WithID(id))
		}
	}
}

// listsChanged records what a server lists, and tells the client which lists have changed.
func (c *session) listsChanged(k kind, now lists) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.lists[k]
	c.lists[k] = now
	for _, list := range []string{"tools", "prompts", "resources"} {
		isChanged := before[list+"/list"] != now[list+"/list"] || list == "resources" && before["resources/templates/list"] != now["resources/templates/list"]
		if !isChanged {
			continue
		}
		method := "notifications/" + list + "/list_changed"
		if c.initialized {
			c.send(notification(method, nil))
		}
		for _, l := range c.listens {
			if l.isOpen && isTrue(l.request.Params(), "notifications", list+"ListChanged") {
				c.send(notification(method, object(nil).with("_meta", l.meta()).json()))
			}
		}
	}
}
