package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/petrock/petrock/core/internal/jsonschema"
)

// AddTool adds a tool whose handler takes its arguments as JSON, for tools that are only known at
// run time. The function [AddTool] adds a typed Go function. AddTool returns an error if the name
// or a schema is invalid, or if the tool already exists.
func (s *Server) AddTool(t Tool, h ToolHandler) error {
	t.Name = s.o.NamePrefix + t.Name
	made, err := newTool(t, h)
	return add(s, &s.tools, t.Name, made, err)
}

// AddPrompt adds a prompt whose handler takes its arguments as text. The function [AddPrompt] adds
// a typed Go function. AddPrompt returns an error if the name, an argument or the schema is
// invalid, or if the prompt already exists.
func (s *Server) AddPrompt(p Prompt, h PromptHandler) error {
	p.Name = s.o.NamePrefix + p.Name
	made, err := newPrompt(p, h)
	return add(s, &s.prompts, p.Name, made, err)
}

// AddResource adds a resource that h reads. The function [AddResource] adds a typed Go function.
// AddResource returns an error if the URI has no scheme, the resource has no name, or a resource
// with this URI already exists.
func (s *Server) AddResource(r Resource, h ResourceHandler) error {
	made, err := newResource(r, h)
	return add(s, &s.resources, r.URI, made, err)
}

// AddResourceTemplate adds a resource template that h reads. The function [AddResourceTemplate]
// adds a typed Go function. In the template, {name} matches characters other than / ? and # (but it
// matches %2F), {+name} matches any characters, and {?a,b} at the end matches optional query
// parameters. If several templates match a URI, the one with the most literal text is used; if they
// have as much, one without {+name}, or else the first in the order of their texts.
func (s *Server) AddResourceTemplate(t ResourceTemplate, h ResourceHandler) error {
	made, err := newTemplate(t, h)
	return add(s, &s.templates, t.URITemplate, made, err)
}

// RemoveTool removes a tool, and reports whether it existed. Calls in flight continue.
func (s *Server) RemoveTool(name string) bool {
	return remove(s, &s.tools, s.o.NamePrefix+name)
}

// RemovePrompt removes a prompt, and reports whether it existed.
func (s *Server) RemovePrompt(name string) bool {
	return remove(s, &s.prompts, s.o.NamePrefix+name)
}

// RemoveResource removes a resource, and reports whether it existed.
func (s *Server) RemoveResource(uri string) bool { return remove(s, &s.resources, uri) }

// RemoveResourceTemplate removes a resource template, and reports whether it existed.
func (s *Server) RemoveResourceTemplate(uriTemplate string) bool {
	return remove(s, &s.templates, uriTemplate)
}

// A Registrar is where [AddTool], [AddPrompt] and [AddResourceTemplate] register a component: a
// [*Server], or a [*Derived] in generated code. Other packages cannot implement it.
type Registrar interface {
	derived() *Derived
}

func (s *Server) derived() *Derived { return &Derived{server: s} }

// Derived registers components whose schemas were derived from Go types by petrock. It makes sure
// that the schemas still match the types exactly. It is for derived code: only *_gen.go files need
// it.
type Derived struct {
	server *Server
	file   string // "" if the schemas are not derived
}

// Derived is for derived code: it returns a registrar for the components in file, such as
// tools_gen.go. Their schemas must match their Go types exactly. Otherwise the file is stale, and
// the functions that add the components return an error that says so.
func (s *Server) Derived(file string) *Derived { return &Derived{s, file} }

func (d *Derived) derived() *Derived { return d }

// isExact reports whether schemas must match the Go types exactly. They are not inferred then.
func (d *Derived) isExact() bool { return d.file != "" }

// check returns an error if a schema does not match its Go type.
func (d *Derived) check(s *jsonschema.Schema, t reflect.Type, dir jsonschema.Direction) error {
	if s == nil {
		return d.mismatch(fmt.Errorf("%v has no %v schema", t, dir))
	}
	return d.mismatch(s.CheckType(t, dir, d.isExact()))
}

// mismatch returns the error of a schema that does not match its Go type. In derived code, it means
// that the file is stale.
func (d *Derived) mismatch(err error) error {
	if err == nil || !d.isExact() {
		return err
	}
	return fmt.Errorf("%s is stale: %w; run petrock sync", d.file, err)
}

// add adds a component and notifies clients. err is the error of creating item; if it is not nil,
// add only returns it with the kind and name.
func add[T component](s *Server, to *registry[T], name string, item T, err error) error {
	if err == nil {
		_, err = appendDescription(nil, item, LatestHandshake) // its Meta may not be encodable
	}
	if err == nil {
		err = to.add(name, item)
	}
	if err != nil {
		return fmt.Errorf("add %s %s: %w", to.noun, name, err)
	}
	s.notifyChanged(to.kind, item.cached().completes)
	return nil
}

// remove removes a component, notifies clients, and reports whether the component existed.
func remove[T component](s *Server, from *registry[T], name string) bool {
	existed := from.remove(name)
	if existed {
		s.notifyChanged(from.kind, false)
	}
	return existed
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

// ResourceUpdated notifies the clients that have subscribed to a resource that it has changed. It
// does not wait for them, and combines changes that follow one another closely.
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

// watch makes c collect all further changes, until unwatch. The caller must call unwatch.
func (s *Server) watch(c *changes) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers[c] = struct{}{}
}

// unwatch ends watch and closes c.
func (s *Server) unwatch(c *changes) {
	s.mu.Lock()
	delete(s.watchers, c)
	s.mu.Unlock()
	c.close()
}

// declares reports whether the server has declared a capability so far.
func (s *Server) declares(capability string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.declared[capability]
}

// capabilities returns the capabilities of the server. Logging is always one of them.
func (s *Server) capabilities() Capabilities {
	s.mu.RLock()
	defer s.mu.RUnlock()
	c := Capabilities{"logging": json.RawMessage(`{}`)}
	for kind, declared := range s.declared {
		switch {
		case !declared:
		case kind == "completions":
			c[kind] = json.RawMessage(`{}`)
		case kind == "resources":
			c[kind] = json.RawMessage(`{"subscribe":true,"listChanged":true}`)
		default:
			c[kind] = json.RawMessage(`{"listChanged":true}`)
		}
	}
	return c
}

// Provide adds values to the contexts of further calls, such as a database that all tools share.
// with returns the context that it gets with the values added; it must not call the server. The
// values of a request, such as the identity of the caller, take precedence.
func (s *Server) Provide(with func(context.Context) context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.provided.Store(new(with(*s.provided.Load())))
}

// ToolScopes returns the scopes of all tools, by name. It is for packages that add components to a
// server, such as appmcp; the code of a server knows its scopes. Do not modify the slices.
func (s *Server) ToolScopes() map[string][]string {
	all := map[string][]string{}
	for t := range s.tools.all() {
		all[t.Name] = t.Scopes
	}
	return all
}

// RemoteScopes returns the scopes of all tools, resources, resource templates and prompts that
// remote clients can see, by name. It is for packages that run a server, such as serve, which
// prints them.
func (s *Server) RemoteScopes() map[string][]string {
	all := s.ToolScopes()
	add := func(name string, scopes []string) { all[name] = slices.Concat(all[name], scopes) }
	for r := range s.resources.all() {
		if !r.Local {
			add(r.Name, r.Scopes)
		}
	}
	for t := range s.templates.all() {
		if !t.Local {
			add(t.Name, t.Scopes)
		}
	}
	for p := range s.prompts.all() {
		add(p.Name, p.Scopes)
	}
	return all
}

// MaxMessage returns the size limit of a message, in bytes. Transports enforce it.
func (s *Server) MaxMessage() int { return s.o.MaxMessage }
