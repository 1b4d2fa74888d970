package live

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/docs"
)

var handshakeRevisions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

// statelessMeta returns the _meta of a request that needs no handshake.
func statelessMeta() json.RawMessage {
	return object(nil).with(metaVersion, quote(latest)).with(metaCapabilities, []byte("{}")).json()
}

// firstServer returns the project's server, or nil if it does not run in time. Then the first
// answers come from contract.json and the manifest.
func (c *session) firstServer() *peer {
	ctx, cancel := context.WithTimeout(c.ctx, max(time.Until(c.began.Add(c.sup.files.firstAnswer)), 0))
	defer cancel()
	p, _ := c.slots[serverKind].await(ctx)
	return p
}

// initialize answers initialize, and passes it to the servers that run.
func (c *session) initialize(m *jsonrpc.Message) {
	c.firstServer()
	c.setup.Lock()
	defer c.setup.Unlock()
	version := text(param(m, "protocolVersion"))
	if c.handshake != nil || isStateless(m) || version == "" { // the server refuses it
		c.forward(serverKind, m)
		return
	}
	server := c.slots[serverKind].current.Load()
	var result json.RawMessage
	if server != nil {
		var err error
		result, err = server.call(c.ctx, "initialize", m.Params())
		if e, refused := errors.AsType[*jsonrpc.Error](err); refused {
			c.reply(m.ID(), jsonrpc.AppendError(nil, m.ID(), e))
			return
		}
	}
	if p := c.slots[petrockKind].current.Load(); p != nil && !c.sup.o.NoPetrock {
		_, _ = p.call(c.ctx, "initialize", m.Params()) // it accepts what the server does
	}
	if result == nil {
		if !slices.Contains(handshakeRevisions, version) {
			version = handshakeRevisions[3]
		}
		info := object(nil).with("name", quote(c.sup.o.Name)).with("version", quote("dev")).json()
		server, result = nil, object(nil).with("protocolVersion", quote(version)).with("serverInfo", info).with("instructions", c.contract("instructions")).json()
	}
	c.mu.Lock()
	c.handshake = m.Params()
	c.mu.Unlock()
	c.replyOf(server, m.ID(), c.describe(server, result))
}

// replyOf sends a result that is based on that of a server, or of none.
func (c *session) replyOf(p *peer, id jsonrpc.ID, result json.RawMessage) {
	raw := response(id, result)
	if p != nil {
		raw = p.stamp(raw)
	}
	c.reply(id, raw)
}

// discover answers server/discover.
func (c *session) discover(m *jsonrpc.Message) {
	versions, _ := json.Marshal(append([]string{latest}, handshakeRevisions...)) // strings always encode
	result := complete().with("supportedVersions", versions).with("instructions", c.contract("instructions")).json()
	p := c.firstServer()
	if p != nil {
		var err error
		if result, err = p.call(c.ctx, m.Method(), m.Params()); err != nil {
			c.reply(m.ID(), jsonrpc.AppendError(nil, m.ID(), err))
			return
		}
	}
	c.replyOf(p, m.ID(), c.describe(p, result))
}

// complete returns the members of every result that may be cached, in revision 2026-07-28.
func complete() object {
	return object(nil).with("resultType", quote("complete")).with("ttlMs", []byte("0")).with("cacheScope", quote("private"))
}

// describe completes the description that a server gives of itself: with petrock's instructions,
// and with capabilities that later builds may have. Without petrock's tools, the description is the
// server's; if no server runs, it has the capabilities in contract.json.
func (c *session) describe(p *peer, result json.RawMessage) json.RawMessage {
	if p != nil && c.sup.o.NoPetrock {
		return result
	}
	capabilities := without(member(result, "capabilities"), "logging", "completions", "prompts", "resources", "tools").with("logging", []byte("{}"))
	later := []string{"completions", "{}", "prompts", `{"listChanged":true}`, "resources", `{"subscribe":true,"listChanged":true}`, "tools", `{"listChanged":true}`}
	for pair := range slices.Chunk(later, 2) {
		if !c.sup.o.NoPetrock || len(c.fallback(serverKind, pair[0])) > 0 {
			capabilities = capabilities.with(pair[0], []byte(pair[1]))
		}
	}
	said := text(member(result, "instructions"))
	if !c.sup.o.NoPetrock {
		said = strings.TrimPrefix(said+"\n\n"+text(member(manifest(), "instructions")), "\n\n")
	}
	return without(result, "capabilities", "instructions").with("capabilities", capabilities.json()).with("instructions", quote(said)).json()
}

// listMember returns the member of a result that holds the list.
func listMember(method string) string {
	if method == "resources/templates/list" {
		return "resourceTemplates"
	}
	return strings.TrimSuffix(method, "/list")
}

var listMethods = []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list"}

// list answers the request for a list with the lists of both servers. The list of a server that
// does not run comes from contract.json or the manifest.
func (c *session) list(m *jsonrpc.Message, method string) {
	key := listMember(method)
	first := object(nil)
	if isStateless(m) {
		first = complete()
	}
	var all [][]byte
	server := c.firstServer()
	if server != nil {
		rest, entries, err := listAll(c.ctx, server, method, m.Params())
		if err != nil && c.slots[serverKind].current.Load() != server && c.ctx.Err() == nil {
			c.list(m, method) // the server was replaced
			return
		}
		if err != nil && !errors.Is(err, jsonrpc.MethodNotFound) {
			c.reply(m.ID(), jsonrpc.AppendError(nil, m.ID(), err))
			return
		}
		if all = entries; err == nil {
			first = rest
		}
	} else {
		all = c.fallback(serverKind, key)
	}
	all = slices.DeleteFunc(all, func(entry []byte) bool { // calls would reach petrock
		name := text(member(entry, "uri")) + text(member(entry, "uriTemplate"))
		return c.ownerOf(cmp.Or(name, text(member(entry, "name")))) == petrockKind
	})
	if !c.sup.o.NoPetrock {
		entries := c.fallback(petrockKind, key)
		if p := c.slots[petrockKind].current.Load(); p != nil {
			if _, now, err := listAll(c.ctx, p, method, m.Params()); err == nil {
				entries = now
			}
		}
		all = append(all, entries...)
	}
	c.replyOf(server, m.ID(), first.with(key, array(all)).json())
}

// Limits of a server's list. The lists of both servers are within the limits of package client.
const (
	maxPages = 1000
	maxList  = 16 << 20 // bytes
)

// listAll fetches all pages of a list. It returns the entries, and the other members of the first
// page. It logs an endless list, and returns its first pages.
func listAll(ctx context.Context, p *peer, method string, params json.RawMessage) (first object, entries [][]byte, err error) {
	size, seen := 0, map[string]bool{}
	for problem := ""; ; {
		result, err := p.call(ctx, method, params)
		if err != nil {
			return nil, nil, err
		}
		cursor := member(result, "nextCursor")
		entries = append(entries, elements(member(result, listMember(method)))...)
		if len(seen) == 0 {
			first = without(result, "nextCursor", listMember(method))
		}
		switch size += len(result); {
		case cursor == nil || strictjson.First(cursor) == 'n':
			return first, entries, nil
		case seen[string(cursor)]:
			problem = "has the same nextCursor on two pages"
		case len(seen) == maxPages-1, size > maxList:
			problem = fmt.Sprintf("has more than %d pages or %d MiB", maxPages, maxList>>20)
		}
		if problem != "" {
			p.s.say("warning", fmt.Sprintf("%s of %s %s; petrock dev lists the first %d entries. The last page must not have a nextCursor", method, p.slot.folder(), problem, len(entries)))
			return first, entries, nil
		}
		seen[string(cursor)] = true
		params = without(params, "cursor").with("cursor", cursor).json()
	}
}

// contract returns a member of contract.json, or nil if there is none or the file is not valid
// JSON, such as after a merge with conflicts.
func (c *session) contract(key string) json.RawMessage {
	raw, err := os.ReadFile(filepath.Join(c.sup.o.Root, "contract.json"))
	if err != nil || strictjson.Check(raw) != nil {
		return nil
	}
	return member(raw, key)
}

// fallback returns the list of a server that does not run: from contract.json or the manifest.
func (c *session) fallback(k kind, key string) (all [][]byte) {
	if k == petrockKind {
		return elements(member(manifest(), key))
	}
	_ = strictjson.Object(c.contract(key), func(_, value []byte) error { // an invalid contract lists nothing
		var compact bytes.Buffer
		err := json.Compact(&compact, value)
		all = append(all, compact.Bytes())
		return err
	})
	return all
}

// listsOf returns everything that a server lists.
func listsOf(ctx context.Context, p *peer) lists {
	all := lists{}
	for _, method := range listMethods {
		_, entries, _ := listAll(ctx, p, method, object(nil).with("_meta", statelessMeta()).json()) // without the capability, nothing
		all[method] = string(array(entries))
	}
	return all
}

// firstLists returns what the session lists before the servers run.
func (c *session) firstLists() (all [2]lists) {
	for k := range all {
		all[k] = lists{}
		for _, method := range listMethods {
			all[k][method] = string(array(c.fallback(kind(k), listMember(method))))
		}
	}
	return all
}

func isEOF(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) }

//go:embed manifest.json
var manifestText string

// manifest returns what petrock's dev server answers to initialize and list requests, with [Prefix]
// and without the project's own generators: an object with instructions, capabilities, tools,
// resources, resourceTemplates and prompts. It is the same in all revisions. To regenerate it,
// run go test ./generators/devserver -run Manifest -update.
func manifest() json.RawMessage { return json.RawMessage(manifestText) }

// ownerOf returns the server of a tool, a prompt or a resource, by its name or URI.
func (c *session) ownerOf(name string) kind {
	if !c.sup.o.NoPetrock && (strings.HasPrefix(name, Prefix) || strings.HasPrefix(name, "petrock://")) {
		return petrockKind
	}
	return serverKind
}

// published sends the notification of a server to the subscription that it belongs to.
func (c *session) published(m *jsonrpc.Message) {
	c.mu.Lock()
	l := c.listens[idParam(m, "_meta", metaSubscription).Key()]
	c.mu.Unlock()
	switch {
	case l == nil:
	case m.Method() == "notifications/subscriptions/acknowledged":
		c.acknowledge(l, m.Raw())
	default:
		c.send(m.Raw())
	}
}

// acknowledge tells the client that a subscription is open. raw is the notification of a server, or
// nil.
func (c *session) acknowledge(l *listen, raw []byte) {
	if raw == nil || !c.sup.o.NoPetrock { // each server grants its part
		raw = notification("notifications/subscriptions/acknowledged", object(nil).with("_meta", l.meta()).with("notifications", param(l.Message, "notifications")).json())
	}
	if !l.isOpen.Swap(true) {
		c.send(raw)
	}
}

// meta returns the _meta of notifications to the client.
func (l *listen) meta() json.RawMessage {
	return object(nil).with(metaSubscription, rawID(l.ID())).json()
}

// subscribe passes a subscription to a server, with the resources that the server owns.
func (c *session) subscribe(p *peer, l *listen) {
	if c.sup.o.NoPetrock && p.slot.kind == petrockKind {
		return
	}
	c.mu.Lock()
	p.listens[l.ID().Key()] = true
	c.mu.Unlock()
	if c.sup.o.NoPetrock {
		p.send(l.Raw())
		return
	}
	filter := param(l.Message, "notifications")
	uris := slices.DeleteFunc(elements(member(filter, "resourceSubscriptions")), func(uri []byte) bool { return c.ownerOf(text(uri)) != p.slot.kind })
	own := without(filter, "resourceSubscriptions")
	if len(uris) > 0 {
		own = own.with("resourceSubscriptions", array(uris))
	}
	p.send(request(l.ID(), l.Method(), without(l.Params(), "notifications").with("notifications", own.json()).json()))
}

// readPage answers resources/read for a page of the documentation while no dev server runs, and
// reports whether it did.
func (c *session) readPage(m *jsonrpc.Message, uri string) bool {
	page, ok := docs.Find(strings.TrimPrefix(uri, docs.URI))
	if !ok || c.slots[petrockKind].current.Load() != nil {
		return false
	}
	contents := object(nil).with("uri", quote(uri)).with("mimeType", quote("text/markdown")).with("text", quote(page.Text)).json()
	result := object(nil)
	if isStateless(m) {
		result = complete()
	}
	c.reply(m.ID(), response(m.ID(), result.with("contents", array([][]byte{contents})).json()))
	return true
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
			if l.isOpen.Load() && isTrue(l.Params(), "notifications", list+"ListChanged") {
				c.send(notification(method, object(nil).with("_meta", l.meta()).json()))
			}
		}
	}
}
