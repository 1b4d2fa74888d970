// Package transport is plumbing for petrock's own transports and generators; servers do not need
// it. It is the interface between package mcp and a transport that receives each message
// separately, such as package mcphttp: an [Exchange] answers a request and describes its origin,
// and [HeaderArguments] finds the arguments that HTTP headers repeat.
package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"github.com/petrock/petrock/core/plumbing/peer"
	"github.com/petrock/petrock/core/strictjson"
)

// An Exchange answers a message of mcp.Session.Receive over the transport that the message came
// from, and describes where it came from. The transport implements it. Several goroutines may use
// it until Respond has been called.
type Exchange interface {
	peer.Responder

	// CheckRequest compares a request of revision 2026-07-28 with data of the transport, such as
	// HTTP headers. An error refuses the request before its handler is called.
	CheckRequest(r Request) error

	// Reserve counts n bytes of memory for the session until it ends, or for the request if it has
	// no session. A negative n releases memory earlier. An error refuses the request.
	Reserve(n int) error

	// Origin returns where the request comes from.
	Origin() Origin

	// Suspend lets the client disconnect and fetch the response after retry, if the transport and
	// the client support that. Otherwise it does nothing.
	Suspend(retry time.Duration)
}

// An Origin describes where a request comes from, as the transport knows it.
type Origin struct {
	Caller      string // name or address of the client, for the log
	Session     string // as the log shows it, which does not give access to it; may be empty
	Traceparent string // header of W3C Trace Context, as the client sent it; may be empty
	Version     string // the revision that the transport names, such as in a header; may be empty
}

// A Request is a request of revision 2026-07-28 as its params describe it, for
// [Exchange].CheckRequest.
type Request struct {
	Version   string // the revision that _meta names; empty if it names none
	Method    string
	Target    string // the name of the tool or prompt, or the URI of the resource
	HasTarget bool   // the params name the target, as a string
	Arguments json.RawMessage
	Headers   []HeaderArgument // the arguments that HTTP headers repeat
}

// A StatelessError is the error of a request of revision 2026-07-28. Over HTTP, it determines the
// status code.
type StatelessError struct {
	Err       error
	Malformed bool // the revision or the capabilities in _meta are missing or invalid
}

func (e *StatelessError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *StatelessError) Unwrap() error { return e.Err }

// headerKeyword is the schema keyword of an argument that a header repeats.
const headerKeyword = "x-mcp-header"

// A HeaderArgument is an argument of a tool that clients repeat in an HTTP header, from revision
// 2026-07-28 on. Its schema has the keyword x-mcp-header.
type HeaderArgument struct {
	Header string   // such as Mcp-Param-Region
	Path   []string // the name of the argument, after the names of its enclosing objects
	Type   string   // string, integer or boolean
}

// Value returns the argument as JSON, or nil if it is missing. arguments must be valid JSON.
func (a HeaderArgument) Value(arguments json.RawMessage) json.RawMessage {
	for _, name := range a.Path {
		arguments = strictjson.Member(arguments, name)
	}
	return arguments
}

// HeaderArguments returns the arguments that headers repeat, from the input schema of a tool. It
// returns an error if the schema breaks the rules for x-mcp-header: servers must not offer such a
// tool over HTTP, and clients must ignore it.
func HeaderArguments(schema json.RawMessage) ([]HeaderArgument, error) {
	if !bytes.Contains(schema, []byte(headerKeyword)) {
		return nil, nil
	}
	var f headerFinder
	err := f.search(schema, nil, true)
	return f, err
}

// A headerFinder collects the arguments that it finds.
type headerFinder []HeaderArgument

// search searches a schema, or an array or object of schemas. reachable means that it is the schema
// of the argument at path.
func (f *headerFinder) search(raw json.RawMessage, path []string, reachable bool) error {
	switch strictjson.First(raw) {
	case '[':
		return strictjson.Elements(raw, func(of []byte) error { return f.search(of, nil, false) })
	case '{':
	default:
		return nil
	}
	return strictjson.Members(raw, func(key, value []byte) error {
		switch string(key) {
		case headerKeyword:
			if !reachable || len(path) == 0 {
				return errors.New(headerKeyword + " is only allowed in properties and nested properties")
			}
			return f.header(value, strictjson.Member(raw, "type"), path)
		case "const", "default", "enum", "examples":
			return nil // not schemas
		case "properties":
			if strictjson.First(value) != '{' {
				return nil
			}
			return strictjson.Members(value, func(name, of []byte) error {
				return f.search(of, append(slices.Clip(path), string(name)), reachable)
			})
		}
		return f.search(value, nil, false)
	})
}

// header adds the argument at path. raw is the value of its keyword x-mcp-header, and kind its
// type, both as JSON.
func (f *headerFinder) header(raw, kind json.RawMessage, path []string) error {
	where := strings.Join(path, ".")
	name, ok := strictjson.Unquote(raw)
	if !ok || !IsHeaderName(name) {
		return fmt.Errorf("%s of %s: %s is not a valid header name", headerKeyword, where, raw)
	}
	m := HeaderArgument{Header: textproto.CanonicalMIMEHeaderKey("Mcp-Param-" + name), Path: path}
	switch m.Type, _ = strictjson.Unquote(kind); m.Type {
	case "string", "integer", "boolean":
	default:
		return fmt.Errorf("%s of %s: type must be string, integer or boolean", headerKeyword, where)
	}
	for _, other := range *f {
		if other.Header == m.Header {
			return fmt.Errorf("%s of %s: header %q is already used by %s", headerKeyword, where, name, strings.Join(other.Path, "."))
		}
	}
	*f = append(*f, m)
	return nil
}

// IsHeaderName reports whether text is a valid HTTP header name: a token of RFC 9110.
func IsHeaderName(text string) bool {
	const characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~"
	return text != "" && strings.Trim(text, characters) == ""
}
