// Package mcp is the Model Context Protocol: its types, and a server. Package client is a client.
//
//	server := mcp.NewServer(mcp.Implementation{Name: "adder", Version: "1.0.0"}, mcp.Options{})
//	err := mcp.AddTool(server, mcp.Tool{Name: "add", Description: "Adds two numbers."}, Add)
//	…
//	err = server.ServeStdio(ctx, os.Stdout)
//
// Add is func(context.Context, AddInput) (AddOutput, error). The schemas of its input and output
// are inferred from the types: see [schema.Infer] for the rules, and [schema.Tag] for limits,
// defaults, enums and descriptions in struct tags. [AddPrompt], [AddResource] and
// [AddResourceTemplate] do the same for prompts and resources. A schema that is given is compared
// with the types instead, so that one which is stale or mistyped is refused at the start. Handlers
// that take JSON are added by the methods of [Server].
//
// A [Server] serves any number of clients, each in its revision of the protocol. What the handlers
// return is rendered for that revision, so that they need not know it. Package mcphttp serves HTTP.
//
// # Eras
//
// Up to revision 2025-11-25 a client begins with a handshake, and what is agreed on holds for its
// session. From 2026-07-28 on there are no sessions: each request says its revision and what its
// client can do. Session.handle distinguishes them (over HTTP, package mcphttp does), and both go
// through the [Hook] to the same table of methods. Handlers have one call for both: [Ask] puts
// questions to the client, [Progress] and [Logger] tell it things. Handlers run concurrently.
// Requests that only change the session, such as initialize, are handled in order.
//
// # Errors
//
// An error of the protocol (an unknown tool, params of the wrong shape, a request
// that comes too early) fails the request: nothing ran. Arguments that the schema does not
// allow, and an error that a tool returns, make a result with IsError set instead,
// which the model sees and can act on. A handler that returns a [jsonrpc.Error]
// chooses the first kind.
package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// A Revision is a version of the protocol, named by its date. Revisions compare
// as strings: a later one is greater.
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

// Revisions returns all revisions that are served, newest first.
func Revisions() []Revision {
	all := append(HandshakeRevisions(), Revision20260728)
	slices.Reverse(all)
	return all
}

func (r Revision) stateless() bool { return r > LatestHandshake }

// negotiate returns the revision that a client wishes, or else the newest that has a handshake.
func negotiate(wish Revision) Revision {
	if slices.Contains(HandshakeRevisions(), wish) {
		return wish
	}
	return LatestHandshake
}

func (r Revision) dialect() jsonrpc.Dialect {
	return jsonrpc.Dialect{
		Batches: r == Revision20250326,
		NullID:  r < Revision20251125,
	}
}

// Capabilities are what a client or a server says that it can do. A capability
// is there if its key is, whatever its value.
type Capabilities map[string]json.RawMessage

// Has reports whether the capability is declared.
func (c Capabilities) Has(name string) bool {
	_, ok := c[name]
	return ok
}

// A need is a capability that a question presupposes.
type need struct {
	capability string
	part       string   // what must be declared within it; "" means nothing
	since      Revision // that knows of it
	implied    bool     // an empty declaration means this part
}

func (n need) met(r Revision, c Capabilities) bool {
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

// A CannotAskError says that the client has not declared what a question needs.
type CannotAskError struct {
	Required  Capabilities // what it would have to declare
	stateless bool
}

func (e *CannotAskError) Error() string {
	var names []string
	for _, name := range []string{"elicitation", "roots", "sampling"} {
		if required, ok := e.Required[name]; ok {
			names = append(names, name+" "+string(required))
		}
	}
	return "this needs a client that declares the capability " + strings.Join(names, " and ")
}

// Unwrap returns the error that fails the request, in revisions that have one for this.
func (e *CannotAskError) Unwrap() error {
	if !e.stateless {
		return nil
	}
	data, _ := strictjson.Marshal(map[string]any{"requiredCapabilities": e.Required}) // made by mayAsk
	return &jsonrpc.Error{Code: MissingCapability, Message: e.Error(), Data: data}
}

// mayAsk reports whether the client can be asked these questions, in this call.
func (c *Call) mayAsk(questions []Question) error {
	if err := c.waited(); err != nil {
		return fmt.Errorf("asking the client: nobody waits for it: %w", err)
	}
	if c.Revision.stateless() && !c.via.server.methods[c.Method].asks {
		return jsonrpc.Errorf(jsonrpc.InternalError, "%s cannot be answered with questions in revision %s", c.Method, c.Revision)
	}
	missing := make(map[string]map[string]struct{}) // parts by capability
	for _, q := range questions {
		n := q.needs()
		if n.met(c.Revision, c.ClientCapabilities()) {
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
		required[name], _ = strictjson.Marshal(parts) // strings, which cannot fail
	}
	return &CannotAskError{required, c.Revision.stateless()}
}

// Meta is what a peer attaches to an object beyond the protocol's own fields.
type Meta map[string]any

// An Implementation tells who a server or a client is.
type Implementation struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Version     string `json:"version"`
	Description string `json:"description,omitempty"`
	WebsiteURL  string `json:"websiteUrl,omitempty"`
	Icons       []Icon `json:"icons,omitempty"`
}

// readInfo reads who a client is, as far as it can be read.
func readInfo(raw []byte) (i Implementation, err error) {
	if strictjson.First(raw) == '{' {
		_ = strictjson.Unmarshal(raw, &i)
	}
	return i, checkInfo(raw)
}

// checkInfo says what is wrong with who a client says it is, before all of it is read.
func checkInfo(raw []byte) error {
	if first := strictjson.First(raw); first != '{' && first != 'n' {
		return fmt.Errorf("must be an object, got %s", strictjson.Describe(raw))
	}
	return nil
}

// ForRevision returns i without the fields that peers of revision r do not know.
func (i Implementation) ForRevision(r Revision) Implementation {
	if r < Revision20250618 {
		i.Title = ""
	}
	if r < Revision20251125 {
		i.Description, i.WebsiteURL, i.Icons = "", "", nil
	}
	return i
}

// An Icon is a picture for something that clients show to people.
type Icon struct {
	Src      string   `json:"src"` // an https: or data: address
	MIMEType string   `json:"mimeType,omitempty"`
	Sizes    []string `json:"sizes,omitempty"` // such as "48x48", or "any"
	Theme    string   `json:"theme,omitempty"` // "light" or "dark"
}

// A Role is a side of a conversation with a model.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Annotations say for whom a piece of content is and how much it matters.
type Annotations struct {
	Audience     []Role   `json:"audience,omitempty"`
	Priority     *float64 `json:"priority,omitempty"`     // from 0, optional, to 1, needed
	LastModified string   `json:"lastModified,omitempty"` // RFC 3339
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

// encodable reports why a component cannot be described to clients, such as a function in its Meta.
func encodable(item listed) error {
	if _, err := appendDescription(nil, item, LatestHandshake); err != nil {
		return fmt.Errorf("cannot be sent to clients: %w", err)
	}
	return nil
}

func short(text string) string { return strictjson.Clip(text, 100) }

func checkName(name string) error {
	const most = 128
	if name == "" || len(name) > most {
		return fmt.Errorf("name must have 1 to %d characters, got %d", most, len(name))
	}
	const characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
	if wrong := []rune(strings.TrimLeft(name, characters)); len(wrong) > 0 {
		return fmt.Errorf("name must consist of letters, digits, '_', '-' and '.', got %q", wrong[0])
	}
	return nil
}
