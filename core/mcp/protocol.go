// Package mcp implements the Model Context Protocol: its types and a server. Package client has the
// client.
//
//	server := mcp.NewServer(mcp.Implementation{Name: "adder", Version: "1.0.0"}, mcp.Options{})
//	err := mcp.AddTool(server, mcp.Tool{Name: "add", Description: "Adds two numbers."}, Add)
//	…
//	err = server.ServeStdio(ctx, os.Stdout)
//
// Add is func(context.Context, AddInput) (AddOutput, error). The schemas of its input and output are
// inferred from the types. See [schema.Infer] for the rules, and package schema for limits, defaults,
// enums and descriptions in struct tags. A schema that is set must match the types; otherwise AddTool
// returns an error. [AddPrompt], [AddResource] and [AddResourceTemplate] do the same for prompts and
// resources. The methods of [Server] add handlers that take JSON.
//
// A [Server] serves any number of clients and renders results for the protocol revision of each, so
// handlers do not depend on the revision. Package mcphttp serves HTTP.
//
// # Eras
//
// Up to revision 2025-11-25, a client begins a session with a handshake, which negotiates the
// revision and the capabilities. From 2026-07-28 on there are no sessions: each request declares its
// revision and the capabilities of its client. Session.handle distinguishes the two eras (over HTTP,
// package mcphttp does). Both call the [Hook] and share one table of methods. [Ask], [Progress] and
// [Logger] work in both. Handlers run concurrently. Requests that only change the session, such as
// initialize, are handled in order.
//
// # Errors
//
// A protocol error, such as an unknown tool, params of the wrong type or a request before the
// handshake, fails the request before a handler runs. Arguments that the schema does not allow, and
// errors that a tool returns, become a result with IsError set, which the model can read. A handler
// that returns a [jsonrpc.Error] fails the request.
package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// A Revision is a version of the protocol, named by its date. Later revisions compare greater.
type Revision string

// The revisions. Up to 2025-11-25 they begin with a handshake.
const (
	Revision20241105 Revision = "2024-11-05"
	Revision20250326 Revision = "2025-03-26"
	Revision20250618 Revision = "2025-06-18"
	Revision20251125 Revision = "2025-11-25"
	Revision20260728 Revision = "2026-07-28"
)

const (
	// Latest is the newest revision.
	Latest = Revision20260728
	// LatestHandshake is the newest revision that begins with a handshake.
	LatestHandshake = Revision20251125
)

// HandshakeRevisions returns the revisions that begin with a handshake, oldest first.
func HandshakeRevisions() []Revision {
	return []Revision{Revision20241105, Revision20250326, Revision20250618, Revision20251125}
}

// Revisions returns all supported revisions, newest first.
func Revisions() []Revision {
	all := append(HandshakeRevisions(), Revision20260728)
	slices.Reverse(all)
	return all
}

func (r Revision) stateless() bool { return r > LatestHandshake }

// Capabilities are the capabilities that a client or a server declares. A key declares a capability,
// whatever its value.
type Capabilities map[string]json.RawMessage

// Has reports whether the capability is declared.
func (c Capabilities) Has(name string) bool {
	_, ok := c[name]
	return ok
}

// A need is a capability that a client must declare before it can be asked a question.
type need struct {
	capability string
	part       string   // a required member of the capability; may be empty
	since      Revision // the first revision that has it
	implied    bool     // an empty capability includes the part
}

func (n need) isMet(r Revision, c Capabilities) bool {
	if r < n.since || !c.Has(n.capability) {
		return false
	}
	if n.part == "" {
		return true
	}
	parts := Capabilities{}
	if strictjson.First(c[n.capability]) == '{' && strictjson.Unmarshal(c[n.capability], &parts) != nil {
		return false
	}
	return parts.Has(n.part) || n.implied && len(parts) == 0
}

// A CannotAskError means that the client has not declared the capabilities that a question needs.
type CannotAskError struct {
	Required  Capabilities // the missing capabilities
	stateless bool
}

func (e *CannotAskError) Error() string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(e.Required)) {
		names = append(names, name+" "+string(e.Required[name]))
	}
	return "this needs a client that declares the capability " + strings.Join(names, " and ")
}

// Unwrap returns the error response in revisions that have a code for it, else nil.
func (e *CannotAskError) Unwrap() error {
	if !e.stateless {
		return nil
	}
	data, _ := strictjson.Marshal(map[string]any{"requiredCapabilities": e.Required}) // made by checkCanAsk
	return &jsonrpc.Error{Code: MissingCapability, Message: e.Error(), Data: data}
}

// checkCanAsk returns an error if the client cannot be asked these questions in this call.
func (c *Call) checkCanAsk(questions []Question) error {
	if err := c.checkOpen(); err != nil {
		return fmt.Errorf("ask the client: %w", err)
	}
	if c.Revision.stateless() && !c.via.server.methods[c.Method].mayAsk {
		return jsonrpc.Errorf(jsonrpc.InternalError, "%s cannot ask the client in revision %s", c.Method, c.Revision)
	}
	missing := make(map[string]map[string]struct{}) // parts by capability
	for _, q := range questions {
		n := q.needs()
		if n.isMet(c.Revision, c.ClientCapabilities()) {
			continue
		}
		if missing[n.capability] == nil {
			missing[n.capability] = make(map[string]struct{})
		}
		if n.part != "" {
			missing[n.capability][n.part] = struct{}{}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	required := make(Capabilities)
	for name, parts := range missing {
		required[name], _ = strictjson.Marshal(parts) // strings cannot fail
	}
	return &CannotAskError{required, c.Revision.stateless()}
}

// Meta is the _meta member of an object: additional data of a peer.
type Meta map[string]any

// An Implementation describes a server or a client.
type Implementation struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Version     string `json:"version"`
	Description string `json:"description,omitempty"`
	WebsiteURL  string `json:"websiteUrl,omitempty"`
	Icons       []Icon `json:"icons,omitempty"`
}

// readInfo decodes the description of a client. Fields that cannot be decoded are empty.
func readInfo(raw []byte) (i Implementation, err error) {
	if strictjson.First(raw) == '{' {
		_ = strictjson.Unmarshal(raw, &i)
	}
	return i, checkInfo(raw)
}

// checkInfo returns an error if raw cannot be the description of a client. It may be missing.
func checkInfo(raw []byte) error {
	if first := strictjson.First(raw); first != '{' && first != 'n' && first != 0 {
		return fmt.Errorf("must be an object, got %s", strictjson.Describe(raw))
	}
	return nil
}

// ForRevision returns i without the fields that revision r does not have.
func (i Implementation) ForRevision(r Revision) Implementation {
	if r < Revision20250618 {
		i.Title = ""
	}
	if r < Revision20251125 {
		i.Description, i.WebsiteURL, i.Icons = "", "", nil
	}
	return i
}

// An Icon is an image that a client can show for a component.
type Icon struct {
	Src      string   `json:"src"` // an https: or data: URI
	MIMEType string   `json:"mimeType,omitempty"`
	Sizes    []string `json:"sizes,omitempty"` // such as "48x48", or "any"
	Theme    string   `json:"theme,omitempty"` // "light" or "dark"
}

// A Role is the author of a message in a conversation with a model.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Annotations describe the audience and the importance of content.
type Annotations struct {
	Audience     []Role   `json:"audience,omitempty"`
	Priority     *float64 `json:"priority,omitempty"`     // from 0 (optional) to 1 (required)
	LastModified string   `json:"lastModified,omitempty"` // RFC 3339
}

// dropNewer clears the fields of a component that revision r does not have.
func dropNewer(r Revision, title *string, icons *[]Icon, meta *Meta) {
	if r < Revision20251125 {
		*icons = nil
	}
	if r < Revision20250618 {
		*title, *meta = "", nil
	}
}

func (a *Annotations) forRevision(r Revision) *Annotations {
	if a == nil || r >= Revision20250618 || a.LastModified == "" {
		return a
	}
	if a.Audience == nil && a.Priority == nil {
		return nil
	}
	return &Annotations{Audience: a.Audience, Priority: a.Priority}
}

// checkEncodable returns an error if the description of a component cannot be encoded, for example
// because its Meta has a function.
func checkEncodable(item component) error {
	if _, err := appendDescription(nil, item, LatestHandshake); err != nil {
		return fmt.Errorf("cannot be sent to clients: %w", err)
	}
	return nil
}

func short(text string) string { return strictjson.Clip(text, 100) }

func checkName(name string) error {
	const maxLength = 128
	if name == "" || len(name) > maxLength {
		return fmt.Errorf("name must have 1 to %d characters, got %d", maxLength, len(name))
	}
	const characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
	if wrong := []rune(strings.TrimLeft(name, characters)); len(wrong) > 0 {
		return fmt.Errorf("name must consist of letters, digits, '_', '-' and '.', got %q", wrong[0])
	}
	return nil
}
