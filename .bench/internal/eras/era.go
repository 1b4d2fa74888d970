// Package eras encodes the HTTP requests of a client in both protocol eras: with a handshake and
// sessions, and stateless.
package eras

import (
	"fmt"
	"strings"

	"github.com/petrock/petrock/bench/internal/front"
)

// An Era is a protocol era.
type Era struct {
	Name    string
	Version string
}

// Handshake returns the era with handshake and sessions, with its newest revision.
func Handshake() Era { return Era{"handshake", "2025-11-25"} }

// Stateless returns the era without handshake and sessions.
func Stateless() Era { return Era{"stateless", "2026-07-28"} }

// All returns both eras.
func All() []Era { return []Era{Handshake(), Stateless()} }

// Sessions reports whether the era has sessions.
func (e Era) Sessions() bool { return e.Name == "handshake" }

// A Request is a message from a client.
type Request struct {
	Session  string // in an era with sessions
	ID       int    // 0 for a notification
	Method   string
	Name     string // of the tool, or the URI of the resource
	Params   string // members of the object, without its braces
	Meta     string // members of _meta, in addition to those of the era
	Answer   string // a response to the server's request Question; if set, the fields above except Session are ignored
	Question string // JSON
}

// Call returns a call of a tool.
func (e Era) Call(session string, id int, tool, arguments string) Request {
	return Request{Session: session, ID: id, Method: "tools/call", Name: tool, Params: fmt.Sprintf(`"name":%q,"arguments":%s`, tool, arguments)}
}

// Post encodes a request as HTTP.
func (e Era) Post(r Request) []byte {
	var head strings.Builder
	body := e.body(r)
	fmt.Fprintf(&head, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n", front.Path)
	if e.Sessions() {
		if r.Session != "" {
			fmt.Fprintf(&head, "Mcp-Session-Id: %s\r\nMcp-Protocol-Version: %s\r\n", r.Session, e.Version)
		}
	} else {
		fmt.Fprintf(&head, "Mcp-Protocol-Version: %s\r\nMcp-Method: %s\r\n", e.Version, r.Method)
		if r.Name != "" {
			fmt.Fprintf(&head, "Mcp-Name: %s\r\n", r.Name)
		}
	}
	fmt.Fprintf(&head, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return []byte(head.String())
}

// body encodes the message of a request.
func (e Era) body(r Request) string {
	if r.Answer != "" {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, r.Question, r.Answer)
	}
	var b strings.Builder
	b.WriteString(`{"jsonrpc":"2.0"`)
	if r.ID != 0 {
		fmt.Fprintf(&b, `,"id":%d`, r.ID)
	}
	fmt.Fprintf(&b, `,"method":%q`, r.Method)
	var members []string
	if r.Params != "" {
		members = append(members, r.Params)
	}
	if meta := e.meta(r.Meta); meta != "" {
		members = append(members, `"_meta":{`+meta+`}`)
	}
	if len(members) > 0 {
		fmt.Fprintf(&b, `,"params":{%s}`, strings.Join(members, ","))
	}
	return b.String() + "}"
}

// meta returns the members of _meta.
func (e Era) meta(more string) string {
	if e.Sessions() {
		return more
	}
	own := fmt.Sprintf(`"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"0.1.0"}`, e.Version)
	if more == "" {
		return own
	}
	return own + "," + more
}

// Initialize returns the first request of a session.
func Initialize(id int) Request {
	return Request{ID: id, Method: "initialize", Params: `"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"sampling":{}},"clientInfo":{"name":"bench","version":"0.1.0"}`}
}

// Initialized returns the notification that follows the response to [Initialize].
func Initialized(session string) Request {
	return Request{Session: session, Method: "notifications/initialized"}
}

// Listen encodes the request for the stream of a session. To resume a stream, after is the id of
// its last event; otherwise it is "".
func Listen(session, after string) []byte {
	return bare("GET", session, "Accept: text/event-stream\r\n", after)
}

// Delete encodes the request that ends a session.
func Delete(session string) []byte {
	return bare("DELETE", session, "", "")
}

func bare(method, session, more, after string) []byte {
	if after != "" {
		more += "Last-Event-ID: " + after + "\r\n"
	}
	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nMcp-Session-Id: %s\r\nMcp-Protocol-Version: %s\r\n%s\r\n", method, front.Path, session, Handshake().Version, more)
}
