package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// Options are what a [Server] is made with. The zero value is a good one.
type Options struct {
	// Instructions tell the model how to use the server as a whole.
	Instructions string

	// Hook is called for every request; nil means none.
	Hook Hook

	// PageSize is how many entries of a list are sent at once; 0 means 1,000.
	PageSize int

	// Grace is how long calls in flight may go on when a session ends; 0 means five seconds, and a
	// negative value cancels them at once.
	Grace time.Duration

	// MaxMessage is the size limit of a message, in bytes; 0 means 1 MiB.
	MaxMessage int

	// Logger is the server's log, which also gets the messages that handlers send with [Logger]; nil
	// means [slog.Default].
	Logger *slog.Logger

	// CallLog gets a line for each request, at level info; nil means none. With LogArguments, the
	// line has the params of the request too.
	CallLog      *slog.Logger
	LogArguments bool

	// Tools, Resources and Prompts declare a capability before the server has a component of that
	// kind. Capabilities are part of the handshake: clients whose sessions began earlier do not see a
	// kind that is added later, unless it was declared. Kinds that exist are always declared.
	Tools, Resources, Prompts bool

	// StateKey signs the state that clients of revision 2026-07-28 carry from a question to its answer.
	// Servers behind one load balancer need the same key, because the answer may reach another server.
	// Each server accepts an answer once, but does not know which answers the others have accepted. If
	// it is empty, the server uses a random key.
	StateKey []byte

	// Lists says how long clients may cache lists of components and the result of server/discover.
	// [Resource] has its own setting for what is read.
	Lists Cache
}

// A Server offers tools, resources and prompts to clients. Its methods may be called by several
// goroutines, before and while it serves. Clients are notified about components that are added or
// removed.
type Server struct {
	info     Implementation
	o        Options
	card     json.RawMessage // the name that results are signed with
	methods  map[string]method
	ordered  map[string]bool // methods that are served before the next message is read
	states   *stateKeeper
	provided atomic.Pointer[context.Context] // of which calls have the values

	tools     registry[*tool]
	resources registry[*resource]
	templates registry[*template]
	prompts   registry[*prompt]

	mu       sync.RWMutex
	watchers map[*changes]struct{}
	offers   map[string]bool // kinds of components, and completions
}

// NewServer returns a server with this name and version.
func NewServer(info Implementation, o Options) *Server {
	if o.PageSize <= 0 {
		o.PageSize = 1000
	}
	if o.MaxMessage <= 0 {
		o.MaxMessage = jsonrpc.DefaultMaxMessage
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	s := &Server{
		info:      info,
		o:         o,
		states:    newStateKeeper(o.StateKey),
		tools:     registry[*tool]{what: "tool", kind: "tools"},
		resources: registry[*resource]{what: "resource", kind: "resources"},
		templates: registry[*template]{what: "resource template", kind: "resources"},
		prompts:   registry[*prompt]{what: "prompt", kind: "prompts"},
		watchers:  make(map[*changes]struct{}),
		offers:    map[string]bool{"tools": o.Tools, "resources": o.Resources, "prompts": o.Prompts},
	}
	s.card, _ = strictjson.Marshal(Implementation{Name: info.Name, Title: info.Title, Version: info.Version}) // strings, which cannot fail
	s.methods = s.methodTable()
	s.ordered = map[string]bool{"initialize": true}
	for name, m := range s.methods {
		if m.ordered {
			s.ordered[name] = true
		}
	}
	return s
}

// AddTool adds a tool whose handler takes its arguments as JSON. See the function [AddTool] for one
// that is a Go function. It fails if the name or a schema is invalid, or if a tool of that name
// exists.
func (s *Server) AddTool(t Tool, h ToolHandler) error {
	made, err := newTool(t, h)
	return add(s, &s.tools, t.Name, made, err)
}

// add adds a component, unless err says why it could not be made.
func add[T listed](s *Server, to *registry[T], name string, item T, err error) error {
	if err == nil {
		err = to.add(name, item)
	}
	if err != nil {
		return failed(to.what, name, err)
	}
	if c, ok := any(item).(completable); ok && c.completes() {
		s.offer("completions")
	}
	s.changed(to.kind)
	return nil
}

// RemoveTool removes a tool, and reports whether it existed.
func (s *Server) RemoveTool(name string) bool {
	return remove(s, &s.tools, name)
}

// AddResource adds a resource under its address. See the function [AddResource] for one that is
// read by a Go function.
func (s *Server) AddResource(r Resource, h ResourceHandler) error {
	made, err := newResource(r, h)
	return add(s, &s.resources, r.URI, made, err)
}

// RemoveResource removes a resource, and reports whether it existed.
func (s *Server) RemoveResource(uri string) bool {
	return remove(s, &s.resources, uri)
}

// AddResourceTemplate adds the resources whose addresses fit a pattern. See the function
// [AddResourceTemplate] for those that are read by a Go function. In the pattern, {name} stands for
// characters other than / ? and # (but %2F is one of them), {+name} for any characters, and {?a,b}
// at the end for optional parameters of a query.
func (s *Server) AddResourceTemplate(t ResourceTemplate, h ResourceHandler) error {
	made, err := newTemplate(t, h)
	return add(s, &s.templates, t.URITemplate, made, err)
}

// RemoveResourceTemplate removes a resource template, and reports whether it existed.
func (s *Server) RemoveResourceTemplate(uriTemplate string) bool {
	return remove(s, &s.templates, uriTemplate)
}

// AddPrompt adds a prompt whose handler takes its arguments as text. See the function [AddPrompt]
// for one that is a Go function.
func (s *Server) AddPrompt(p Prompt, h PromptHandler) error {
	made, err := newPrompt(p, h)
	return add(s, &s.prompts, p.Name, made, err)
}

// RemovePrompt removes a prompt, and reports whether it existed.
func (s *Server) RemovePrompt(name string) bool {
	return remove(s, &s.prompts, name)
}

func remove[T listed](s *Server, from *registry[T], name string) bool {
	existed := from.remove(name)
	if existed {
		s.changed(from.kind)
	}
	return existed
}

// ResourceUpdated tells the clients that have subscribed to a resource that it has changed.
func (s *Server) ResourceUpdated(uri string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for w := range s.watchers {
		w.update(uri)
	}
}

// ResourcesUpdated is [Server.ResourceUpdated] for all addresses that fit, such as those of one
// template. fits is called with addresses that clients have subscribed to. It must not call the
// server.
func (s *Server) ResourcesUpdated(fits func(uri string) bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for w := range s.watchers {
		w.updateAll(fits)
	}
}

func (s *Server) offer(capability string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offers[capability] = true
}

// changed tells the clients that a list has changed; its kind is offered from now on.
func (s *Server) changed(kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offers[kind] = true
	for w := range s.watchers {
		w.list(kind)
	}
}

// Serve serves the client at the other end of t until the client closes the connection, ctx ends or
// the transport fails. Calls in flight may finish within the grace. It returns an error only if the
// transport failed.
func (s *Server) Serve(ctx context.Context, t jsonrpc.Transport) error {
	session := s.newSession(t, jsonrpc.Options{Grace: s.o.Grace})
	s.watch(session.changes)
	defer s.unwatch(session.changes)
	return session.conn.Run(ctx)
}

func (s *Server) newSession(t jsonrpc.Transport, o jsonrpc.Options) *Session {
	session := &Session{server: s, log: s.o.Logger, ending: make(chan struct{})}
	o.Handle, o.Ordered, o.OnShutdown, o.Logger = session.handle, s.ordered, session.end, s.o.Logger
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
	ordered    bool   // it is served in the order of messages; others may run concurrently
	capability string // that the server must have offered, if any
	in         era    // that has the method, if not both do
	cached     bool   // its results tell a client of the stateless era how long they hold
	asks       bool   // its handlers may answer with questions in the stateless era
}

// An era is one of the two ways in which revisions of the protocol work.
type era int

const (
	bothEras era = iota
	handshakeEra
	statelessEra
)

// methodTable lists the methods, but for initialize, which makes a session.
func (s *Server) methodTable() map[string]method {
	return map[string]method{
		"ping":                     {run: ping, ordered: true, in: handshakeEra},
		"server/discover":          {run: s.discover, ordered: true, in: statelessEra, cached: true},
		"subscriptions/listen":     {run: typed(s.listen), ordered: true, in: statelessEra},
		"tools/list":               {run: typed(s.lister("tools", s.tools.page)), capability: "tools", cached: true},
		"tools/call":               {run: s.callTool, capability: "tools", asks: true},
		"resources/list":           {run: typed(s.lister("resources", s.resources.page)), capability: "resources", cached: true},
		"resources/templates/list": {run: typed(s.lister("resourceTemplates", s.templates.page)), capability: "resources", cached: true},
		"resources/read":           {run: typed(s.readResource), capability: "resources", cached: true, asks: true},
		"resources/subscribe":      {run: typed(s.subscribe), ordered: true, capability: "resources", in: handshakeEra},
		"resources/unsubscribe":    {run: typed(s.unsubscribe), ordered: true, capability: "resources", in: handshakeEra},
		"prompts/list":             {run: typed(s.lister("prompts", s.prompts.page)), capability: "prompts", cached: true},
		"prompts/get":              {run: typed(s.getPrompt), capability: "prompts", asks: true},
		"completion/complete":      {run: typed(s.completeArgument), capability: "completions"},
		"logging/setLevel":         {run: typed(s.setLevel), ordered: true, in: handshakeEra},
	}
}

func ping(context.Context, *Call) (any, error) { return struct{}{}, nil }

func typed[P any](f func(context.Context, *Call, *P) (any, error)) func(context.Context, *Call) (any, error) {
	decoder := strictjson.NewDecoder(reflect.TypeFor[P]())
	return func(ctx context.Context, c *Call) (any, error) {
		p := new(P)
		if c.Params != nil {
			if err := decoder.Decode(c.Params, p); err != nil {
				return nil, paramsError(c.Method, err)
			}
		}
		return f(ctx, c, p)
	}
}

func paramsError(method string, err error) error {
	var mistyped *strictjson.TypeError
	if errors.As(err, &mistyped) {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid params of %s: %v", method, err)
	}
	return err
}
