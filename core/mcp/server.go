package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	info         Implementation
	instructions string
	hook         Hook
	pageSize     int
	grace        time.Duration
	maxMessage   int
	log          *slog.Logger
	lists        Cache
	card         json.RawMessage // the name that results are signed with
	methods      map[string]method
	ordered      map[string]bool // methods that are served before the next message is read
	states       *stateKeeper
	provided     atomic.Pointer[context.Context] // of which calls have the values

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
		info:         info,
		instructions: o.Instructions,
		hook:         o.Hook,
		pageSize:     o.PageSize,
		grace:        o.Grace,
		maxMessage:   o.MaxMessage,
		log:          o.Logger,
		lists:        o.Lists,
		states:       newStateKeeper(o.StateKey),
		watchers:     make(map[*changes]struct{}),
		offers:       map[string]bool{"tools": o.Tools, "resources": o.Resources, "prompts": o.Prompts},
	}
	s.card, _ = Implementation{Name: info.Name, Title: info.Title, Version: info.Version}.AppendJSON(nil) // strings, which cannot fail
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
	if err == nil {
		err = s.tools.add(t.Name, made)
	}
	if err != nil {
		return fmt.Errorf("add tool %s: %w", t.Name, err)
	}
	s.changed("tools")
	return nil
}

// RemoveTool takes a tool back and reports whether it was there.
func (s *Server) RemoveTool(name string) bool {
	return s.removed("tools", s.tools.remove(name))
}

// AddResource adds a resource under its address. See the function [AddResource] for one that is
// read by a Go function.
func (s *Server) AddResource(r Resource, h ResourceHandler) error {
	made, err := newResource(r, h)
	if err == nil {
		err = s.resources.add(r.URI, made)
	}
	if err != nil {
		return fmt.Errorf("add resource %s: %w", r.URI, err)
	}
	s.changed("resources")
	return nil
}

// RemoveResource takes a resource back and reports whether it was there.
func (s *Server) RemoveResource(uri string) bool {
	return s.removed("resources", s.resources.remove(uri))
}

// AddResourceTemplate adds the resources whose addresses fit a pattern. See the function
// [AddResourceTemplate] for those that are read by a Go function. In the pattern, {name} stands for
// characters other than / ? and # (but %2F is one of them), {+name} for any characters, and {?a,b}
// at the end for optional parameters of a query.
func (s *Server) AddResourceTemplate(t ResourceTemplate, h ResourceHandler) error {
	made, err := newTemplate(t, h)
	if err == nil {
		err = s.templates.add(t.URITemplate, made)
	}
	if err != nil {
		return fmt.Errorf("add resource template %s: %w", t.URITemplate, err)
	}
	s.offerChoices(made.input)
	s.changed("resources")
	return nil
}

// RemoveResourceTemplate takes a template back and reports whether it was there.
func (s *Server) RemoveResourceTemplate(uriTemplate string) bool {
	return s.removed("resources", s.templates.remove(uriTemplate))
}

// AddPrompt adds a prompt whose handler takes its arguments as text. See the function [AddPrompt]
// for one that is a Go function.
func (s *Server) AddPrompt(p Prompt, h PromptHandler) error {
	made, err := newPrompt(p, h)
	if err == nil {
		err = s.prompts.add(p.Name, made)
	}
	if err != nil {
		return fmt.Errorf("add prompt %s: %w", p.Name, err)
	}
	s.offerChoices(made.input)
	s.changed("prompts")
	return nil
}

// RemovePrompt takes a prompt back and reports whether it was there.
func (s *Server) RemovePrompt(name string) bool {
	return s.removed("prompts", s.prompts.remove(name))
}

// removed tells the clients that a list has changed, if it has.
func (s *Server) removed(kind string, was bool) bool {
	if was {
		s.changed(kind)
	}
	return was
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
// template. It is asked about addresses that clients have subscribed to, and is not to call the
// server.
func (s *Server) ResourcesUpdated(fits func(uri string) bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for w := range s.watchers {
		w.updateAll(fits)
	}
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

// Serve holds a conversation with the client at the other end of t, until the client
// has no more to say, ctx ends or the transport breaks. Calls in flight get
// the grace to finish. It returns an error only for the third of these.
func (s *Server) Serve(ctx context.Context, t jsonrpc.Transport) error {
	session := s.newSession(t, jsonrpc.Options{Grace: s.grace})
	s.watch(session.changes)
	defer s.unwatch(session.changes)
	return session.conn.Run(ctx)
}

// newSession returns a session over t, which is not told of changes before the server watches those
// for it.
func (s *Server) newSession(t jsonrpc.Transport, o jsonrpc.Options) *Session {
	session := &Session{server: s, log: s.log, ending: make(chan struct{})}
	o.Append, o.Ordered, o.Ending, o.Logger = session.handle, s.ordered, session.end, s.log
	session.conn = jsonrpc.NewConn(t, o)
	session.changes = sessionChanges(session)
	session.changes.begin()
	return session
}

// MaxMessage returns the size limit of a message, in bytes.
func (s *Server) MaxMessage() int { return s.maxMessage }

// A method is one row of the table: what a request of that name does, in
// whatever revision it came.
type method struct {
	run func(ctx context.Context, c *Call) (any, error)
	// ordered methods are served in the order of messages; others may run concurrently.
	ordered bool
	// capability is what the server must have offered; "" means nothing.
	capability string
	// in is the era that has the method, if not both do.
	in era
	// cached results tell a client of the stateless era how long they hold.
	cached bool
	// asks allows its handlers to answer with questions in the stateless era.
	asks bool
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
	decoder := strictjson.NewValueDecoder(reflect.TypeFor[P]())
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
