package mcp

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// Options configure a [Server].
type Options struct {
	// Instructions tell the model how to use the server as a whole.
	Instructions string

	// NamePrefix precedes the names of all tools and prompts, such as "git_". The functions that add,
	// complete and remove them take names without it.
	NamePrefix string

	// Hook is called for every request whose params can be read, even if the server will refuse it. It
	// may be nil.
	Hook Hook

	// PageSize is the number of entries in a page of a list (default 1,000).
	PageSize int

	// Grace is how long calls in flight may continue when a session ends (default five seconds). A
	// negative value cancels them immediately.
	Grace time.Duration

	// MaxMessage is the size limit of a message, in bytes (default 1 MiB).
	MaxMessage int

	// Logger is the server's log (default [slog.Default]). It also gets the messages that handlers
	// send with [Logger].
	Logger *slog.Logger

	// CallLog gets a line for each request, at level info. With LogArguments, the line has the params
	// of the request too. If CallLog is nil, requests are not logged.
	CallLog      *slog.Logger
	LogArguments bool

	// Tools, Resources and Prompts declare a capability even if the server has no such component yet.
	// Clients read capabilities only once, so declare kinds that you add later.
	Tools, Resources, Prompts bool

	// StateKey signs requestState, which clients of revision 2026-07-28 return with their answers
	// (default: a random key). Servers behind one load balancer need the same key, because the answer
	// may reach another server. Each server accepts a state once, but does not know which states the
	// others have accepted.
	StateKey []byte

	// ListCache is how long clients may cache lists of components and the result of server/discover.
	// [Resource] has a separate setting for its contents.
	ListCache Cache
}

// A Server offers tools, resources and prompts to clients. Several goroutines may call its methods,
// before and while it serves. Clients are notified when components are added or removed.
type Server struct {
	info       Implementation
	o          Options
	resultInfo json.RawMessage // the serverInfo of stateless results
	methods    map[string]method
	ordered    map[string]bool // methods that are served before the next message is read
	states     *stateKeeper
	provided   atomic.Pointer[context.Context] // the values of [Server.Provide]

	requestPrefix string // random, so that the ids of requests differ between servers
	requests      atomic.Uint64

	tools     registry[*tool]
	resources registry[*resource]
	templates registry[*template]
	prompts   registry[*prompt]

	mu       sync.RWMutex
	watchers map[*changes]struct{}
	declared map[string]bool // kinds of components, and completions
}

// NewServer returns a server that describes itself as info.
func NewServer(info Implementation, o Options) *Server {
	if o.PageSize <= 0 {
		o.PageSize = 1000
	}
	if o.MaxMessage <= 0 {
		o.MaxMessage = jsonrpc.DefaultMaxMessage
	}
	o.Logger = cmp.Or(o.Logger, slog.Default())
	o.CallLog = cmp.Or(o.CallLog, slog.New(slog.DiscardHandler))
	s := &Server{
		info:   info,
		o:      o,
		states: newStateKeeper(o.StateKey),

		requestPrefix: strings.ToLower(rand.Text()[:10]) + "-",

		tools:     registry[*tool]{noun: "tool", kind: "tools"},
		resources: registry[*resource]{noun: "resource", kind: "resources"},
		templates: registry[*template]{noun: "resource template", kind: "resources"},
		prompts:   registry[*prompt]{noun: "prompt", kind: "prompts"},
		watchers:  make(map[*changes]struct{}),
		declared:  map[string]bool{"tools": o.Tools, "resources": o.Resources, "prompts": o.Prompts},
	}
	// Strings always encode.
	s.resultInfo, _ = strictjson.Marshal(Implementation{Name: info.Name, Title: info.Title, Version: info.Version})
	s.methods = s.methodTable()
	s.ordered = map[string]bool{"initialize": true}
	for name, m := range s.methods {
		if m.ordered {
			s.ordered[name] = true
		}
	}
	return s
}

// AddTool adds a tool whose handler takes its arguments as JSON. The function [AddTool] adds a typed
// Go function. AddTool fails if the name or a schema is invalid, or if the tool already exists.
func (s *Server) AddTool(t Tool, h ToolHandler) error {
	t.Name = s.o.NamePrefix + t.Name
	made, err := newTool(t, h)
	return add(s, &s.tools, t.Name, made, err)
}

// add adds a component. If err is not nil, add returns it with the kind and name.
func add[T component](s *Server, to *registry[T], name string, item T, err error) error {
	if err == nil {
		err = to.add(name, item)
	}
	if err != nil {
		return fmt.Errorf("add %s %s: %w", to.noun, name, err)
	}
	s.notifyChanged(to.kind, item.cached().completes)
	return nil
}

// RemoveTool removes a tool, and reports whether it existed.
func (s *Server) RemoveTool(name string) bool {
	return remove(s, &s.tools, s.o.NamePrefix+name)
}

// AddResource adds a resource that h reads. The function [AddResource] adds a typed Go function.
func (s *Server) AddResource(r Resource, h ResourceHandler) error {
	made, err := newResource(r, h)
	return add(s, &s.resources, r.URI, made, err)
}

// RemoveResource removes a resource, and reports whether it existed.
func (s *Server) RemoveResource(uri string) bool { return remove(s, &s.resources, uri) }

// AddResourceTemplate adds a resource template that h reads. The function
// [AddResourceTemplate] adds a typed Go function. In the template, {name} matches characters other
// than / ? and # (but it matches %2F), {+name} matches any characters, and {?a,b} at the end matches
// optional query parameters.
func (s *Server) AddResourceTemplate(t ResourceTemplate, h ResourceHandler) error {
	made, err := newTemplate(t, h)
	return add(s, &s.templates, t.URITemplate, made, err)
}

// RemoveResourceTemplate removes a resource template, and reports whether it existed.
func (s *Server) RemoveResourceTemplate(uriTemplate string) bool {
	return remove(s, &s.templates, uriTemplate)
}

// AddPrompt adds a prompt whose handler takes its arguments as text. The function [AddPrompt] adds a
// typed Go function.
func (s *Server) AddPrompt(p Prompt, h PromptHandler) error {
	p.Name = s.o.NamePrefix + p.Name
	made, err := newPrompt(p, h)
	return add(s, &s.prompts, p.Name, made, err)
}

// RemovePrompt removes a prompt, and reports whether it existed.
func (s *Server) RemovePrompt(name string) bool {
	return remove(s, &s.prompts, s.o.NamePrefix+name)
}

func remove[T component](s *Server, from *registry[T], name string) bool {
	existed := from.remove(name)
	if existed {
		s.notifyChanged(from.kind, false)
	}
	return existed
}

// ResourceUpdated notifies the clients that have subscribed to a resource that it has changed.
func (s *Server) ResourceUpdated(uri string) {
	s.ResourcesUpdated(func(other string) bool { return other == uri })
}

// ResourcesUpdated calls [Server.ResourceUpdated] for all subscribed URIs that match, such as those
// of one template. match must not call the server.
func (s *Server) ResourcesUpdated(match func(uri string) bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for w := range s.watchers {
		w.noteUpdates(match)
	}
}

// notifyChanged notifies clients that a list has changed. It also declares the capability and, if
// completes is true, completions.
func (s *Server) notifyChanged(kind string, completes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.declared[kind] = true
	s.declared["completions"] = s.declared["completions"] || completes
	for w := range s.watchers {
		w.noteList(kind)
	}
}

// Serve serves the client at the other end of t until the client closes the connection, ctx ends or
// the transport fails. Calls in flight may finish within the grace period. Serve returns an error
// only if the transport failed.
func (s *Server) Serve(ctx context.Context, t jsonrpc.Transport) error {
	session := s.newSession(t, jsonrpc.Options{Grace: s.o.Grace})
	s.watch(session.changes)
	defer s.unwatch(session.changes)
	return session.conn.Run(ctx)
}

func (s *Server) newSession(t jsonrpc.Transport, o jsonrpc.Options) *Session {
	session := &Session{server: s, log: s.o.Logger, ending: make(chan struct{})}
	o.Handle, o.OnNotification, o.Ordered = session.handle, session.handleNotification, s.ordered
	o.OnShutdown, o.Logger = session.end, s.o.Logger
	session.agreed.Store(&agreement{})
	session.conn = jsonrpc.NewConn(t, o)
	session.changes = sessionChanges(session)
	session.changes.begin()
	return session
}

// MaxMessage returns the size limit of a message, in bytes.
func (s *Server) MaxMessage() int { return s.o.MaxMessage }

// A method is one row of the table of methods, for all revisions.
type method struct {
	run        func(ctx context.Context, c *Call) (any, error)
	ordered    bool   // served in the order of messages; others may run concurrently
	capability string // the server must have declared it; may be empty
	era        era    // the era that has the method
	cached     bool   // stateless results have a cache lifetime
	mayAsk     bool   // its handlers may ask the client in the stateless era
}

// An era is a group of protocol revisions: with a handshake, or stateless.
type era int

const (
	bothEras era = iota
	handshakeEra
	statelessEra
)

// methodTable returns all methods except initialize.
func (s *Server) methodTable() map[string]method {
	return map[string]method{
		"ping":                     {run: func(context.Context, *Call) (any, error) { return struct{}{}, nil }, ordered: true, era: handshakeEra},
		"server/discover":          {run: s.discover, ordered: true, era: statelessEra, cached: true},
		"subscriptions/listen":     {run: withParams(s.listen), ordered: true, era: statelessEra},
		"tools/list":               {run: withParams(s.listMethod("tools", s.tools.page)), capability: "tools", cached: true},
		"tools/call":               {run: s.callTool, capability: "tools", mayAsk: true},
		"resources/list":           {run: withParams(s.listMethod("resources", s.resources.page)), capability: "resources", cached: true},
		"resources/templates/list": {run: withParams(s.listMethod("resourceTemplates", s.templates.page)), capability: "resources", cached: true},
		"resources/read":           {run: withURI(s.readResource), capability: "resources", cached: true, mayAsk: true},
		"resources/subscribe":      {run: withURI(s.subscribe), ordered: true, capability: "resources", era: handshakeEra},
		"resources/unsubscribe":    {run: withURI(s.unsubscribe), ordered: true, capability: "resources", era: handshakeEra},
		"prompts/list":             {run: withParams(s.listMethod("prompts", s.prompts.page)), capability: "prompts", cached: true},
		"prompts/get":              {run: withParams(s.getPrompt), capability: "prompts", mayAsk: true},
		"completion/complete":      {run: withParams(s.completeArgument), capability: "completions"},
		"logging/setLevel":         {run: withParams(s.setLevel), ordered: true, era: handshakeEra},
	}
}

// withParams returns a method that decodes its params for f.
func withParams[P any](f func(context.Context, *Call, *P) (any, error)) func(context.Context, *Call) (any, error) {
	decoder := new(strictjson.Decoder)
	return func(ctx context.Context, c *Call) (any, error) {
		p := new(P)
		if c.Params != nil {
			err := decoder.Decode(c.Params, p)
			if _, ok := errors.AsType[*strictjson.TypeError](err); ok {
				return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid params of %s: %v", c.Method, err)
			}
			if err != nil {
				return nil, err
			}
		}
		return f(ctx, c, p)
	}
}
