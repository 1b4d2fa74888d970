package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/petrock/petrock/core/internal/jsonschema"
	"github.com/petrock/petrock/core/internal/pace"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/plumbing/transport"
	"github.com/petrock/petrock/core/plumbing/uritemplate"
	"github.com/petrock/petrock/core/strictjson"
)

// A component is a registered tool, resource, resource template or prompt. It does not change once
// it is registered, except for its caches and its completer, so calls use it without a lock.
type component interface {
	describe(Revision) any // the description for clients
	cached() *descriptionCache
}

// A descriptionCache holds the encoded descriptions of a component, so that a list is a
// concatenation. Each component embeds one.
type descriptionCache struct {
	local      bool     // hidden from remote clients
	completes  bool     // suggests values for its arguments
	byRevision sync.Map // of json.RawMessage, by [Revision]
}

func (d *descriptionCache) cached() *descriptionCache { return d }

// appendDescription appends the description of a component for clients of a revision. It encodes
// each description once. It returns an error only if a Meta cannot be encoded.
func appendDescription(dst []byte, item component, r Revision) ([]byte, error) {
	cache := &item.cached().byRevision
	if raw, ok := cache.Load(r); ok {
		return append(dst, raw.(json.RawMessage)...), nil
	}
	raw, err := strictjson.Marshal(item.describe(r))
	if err != nil {
		return dst, fmt.Errorf("cannot be sent to clients: %w", err)
	}
	cache.Store(r, raw)
	return append(dst, raw...), nil
}

// encode encodes v as JSON. It is faster than strictjson.Marshal for an Appender.
func encode(v any) (json.RawMessage, error) {
	if a, ok := v.(jsonrpc.Appender); ok {
		return a.AppendJSON(nil)
	}
	return strictjson.Marshal(v)
}

// A tool is a registered [Tool] with its compiled schemas.
type tool struct {
	Tool
	descriptionCache
	pace            pace.Pace          // of the handler
	input, output   *jsonschema.Schema // output is nil if none is declared
	headerArguments []transport.HeaderArgument
	handler         ToolHandler
}

// describe omits an output schema that older clients would refuse: before 2026-07-28 it must
// describe an object.
func (t *tool) describe(r Revision) any {
	shown := t.Tool.forRevision(r)
	if r < Revision20260728 && t.output != nil && !t.output.RootIsObject() {
		shown.OutputSchema = nil
	}
	return shown
}

// newTool checks a tool and compiles its schemas, so that a call needs no further checks of either.
func newTool(t Tool, h ToolHandler) (*tool, error) {
	if err := checkName(t.Name); err != nil {
		return nil, err
	}
	if h == nil {
		return nil, errors.New("has no handler")
	}
	if t.InputSchema == nil {
		t.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	made := &tool{Tool: t, handler: h}
	var err error
	if made.input, err = compileInput(t.InputSchema); err != nil {
		return nil, err
	}
	if made.headerArguments, err = transport.HeaderArguments(t.InputSchema); err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	if t.OutputSchema != nil {
		if made.output, err = jsonschema.Compile(t.OutputSchema); err != nil {
			return nil, fmt.Errorf("output schema: %w", err)
		}
	}
	return made, nil
}

// A prompt is a registered [Prompt].
type prompt struct {
	Prompt
	descriptionCache
	pace    pace.Pace
	names   []string // of the arguments
	input   *textInput
	handler PromptHandler
}

func (p *prompt) describe(r Revision) any { return p.Prompt.forRevision(r) }

// newPrompt checks a prompt. Without arguments, those of the schema become its arguments.
func newPrompt(p Prompt, h PromptHandler) (*prompt, error) {
	if err := checkName(p.Name); err != nil {
		return nil, err
	}
	if h == nil {
		return nil, errors.New("has no handler")
	}
	input, err := newTextInput(p.InputSchema)
	if err != nil {
		return nil, err
	}
	if p.Arguments == nil && input.schema != nil {
		for _, a := range input.schema.Properties() {
			p.Arguments = append(p.Arguments, PromptArgument{Name: a.Name, Description: a.Description, Required: a.Required})
		}
	}
	names := make([]string, len(p.Arguments))
	for i, a := range p.Arguments {
		if a.Name == "" {
			return nil, fmt.Errorf("argument %d has no name", i+1)
		}
		if slices.Contains(names[:i], a.Name) {
			return nil, fmt.Errorf("duplicate argument %q", a.Name)
		}
		names[i] = a.Name
	}
	made := &prompt{Prompt: p, names: names, input: input, handler: h}
	made.completes = input.complete != nil
	return made, nil
}

// A resource is a registered [Resource].
type resource struct {
	Resource
	descriptionCache
	reader
}

func (r *resource) describe(v Revision) any { return r.Resource.forRevision(v) }

// newResource checks a resource: its URI must be absolute.
func newResource(r Resource, h ResourceHandler) (*resource, error) {
	u, err := url.Parse(r.URI)
	switch {
	case err != nil:
		return nil, fmt.Errorf("URI: %w", err)
	case u.Scheme == "":
		return nil, errors.New("URI: must begin with a scheme, such as note://")
	case r.Name == "":
		return nil, errors.New("has no name")
	case h == nil:
		return nil, errors.New("has no handler")
	}
	made := &resource{Resource: r, descriptionCache: descriptionCache{local: r.Local}}
	made.reader = reader{handler: h, mimeType: r.MIMEType, cache: r.Cache, scopes: r.Scopes}
	return made, nil
}

// A template is a registered [ResourceTemplate].
type template struct {
	ResourceTemplate
	descriptionCache
	reader
	uri   *uritemplate.Template
	input *textInput
}

func (t *template) describe(r Revision) any { return t.ResourceTemplate.forRevision(r) }

// newTemplate checks a resource template and compiles its pattern and its schema.
func newTemplate(t ResourceTemplate, h ResourceHandler) (*template, error) {
	uri, err := uritemplate.Parse(t.URITemplate)
	switch {
	case err != nil:
		return nil, err
	case len(uri.Variables()) == 0:
		return nil, errors.New("has no variable such as {id}; add it as a resource instead")
	case t.Name == "":
		return nil, errors.New("has no name")
	case h == nil:
		return nil, errors.New("has no handler")
	}
	input, err := newTextInput(t.InputSchema)
	if err != nil {
		return nil, err
	}
	made := &template{ResourceTemplate: t, descriptionCache: descriptionCache{local: t.Local}, uri: uri, input: input}
	made.reader = reader{handler: h, mimeType: t.MIMEType, cache: t.Cache, scopes: t.Scopes}
	made.completes = input.complete != nil
	return made, nil
}

// A reader reads a resource, or the resources of a template.
type reader struct {
	handler  ResourceHandler
	mimeType string // default of the contents
	cache    Cache
	scopes   []string
	pace     pace.Pace
}

// A registry holds the components of one kind, in the order of their names. Several goroutines may
// use it.
type registry[T component] struct {
	noun  string // for errors, such as "resource template"
	kind  string // the capability, such as "resources"
	field string // the member of a list, such as "resourceTemplates"
	mu    sync.RWMutex
	items map[string]T
	names []string // sorted
}

// add adds a component. It returns an error if the name is taken.
func (r *registry[T]) add(name string, item T) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, taken := slices.BinarySearch(r.names, name)
	if taken {
		return errors.New("already exists; remove it first to replace it")
	}
	if r.items == nil {
		r.items = make(map[string]T)
	}
	r.names = slices.Insert(r.names, at, name)
	r.items[name] = item
	return nil
}

// remove removes a component, and reports whether it existed.
func (r *registry[T]) remove(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := slices.BinarySearch(r.names, name)
	if ok {
		r.names = slices.Delete(r.names, at, at+1)
		delete(r.items, name)
	}
	return ok
}

// get returns the component with that name.
func (r *registry[T]) get(name string) (T, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	item, ok := r.items[name]
	return item, ok
}

// all iterates over the components in the order of their names. The loop must not use the registry,
// whose lock is held.
func (r *registry[T]) all() iter.Seq[T] {
	return func(yield func(T) bool) {
		r.mu.RLock()
		defer r.mu.RUnlock()
		for _, name := range r.names {
			if !yield(r.items[name]) {
				return
			}
		}
	}
}

// A textInput validates and completes the arguments of a prompt or the variables of a template. The
// schema does not change; Server.mu guards the completer.
type textInput struct {
	schema   *jsonschema.Schema // nil allows any text
	complete Completer          // by default suggests the enums of the schema; may be nil
}

// newTextInput compiles the schema, which may be nil.
func newTextInput(raw json.RawMessage) (*textInput, error) {
	in := &textInput{}
	if raw == nil {
		return in, nil
	}
	var err error
	if in.schema, err = compileInput(raw); err != nil {
		return nil, err
	}
	choices := make(map[string][]string)
	for _, p := range in.schema.Properties() {
		if texts := p.Choices(); texts != nil {
			choices[p.Name] = texts
		}
	}
	if len(choices) > 0 {
		in.complete = func(_ context.Context, argument, prefix string, _ map[string]string) ([]string, error) {
			isOther := func(choice string) bool { return !strings.HasPrefix(choice, prefix) }
			return slices.DeleteFunc(slices.Clone(choices[argument]), isOther), nil
		}
	}
	return in, nil
}

// compileInput compiles the schema of an input, which is always an object.
func compileInput(raw json.RawMessage) (*jsonschema.Schema, error) {
	s, err := jsonschema.Compile(raw)
	if err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	if !s.RootIsObject() {
		return nil, errors.New(`input schema: must have "type":"object" at its root`)
	}
	return s, nil
}

// check validates values. what and name describe them in errors.
func (in *textInput) check(what, name string, values map[string]string) error {
	if in.schema == nil {
		return nil
	}
	if err := in.schema.Validate(textObject(values)); err != nil {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid %s %s:\n%v", what, name, err)
	}
	return nil
}

// textObject returns values as a JSON object of strings.
func textObject(values map[string]string) json.RawMessage {
	object := []byte{'{'}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		object = strictjson.AppendMember(object, name, strictjson.AppendString(nil, values[name]))
	}
	return append(object, '}')
}

// A Completer suggests values for an argument of a prompt or a variable of a resource template,
// best first. prefix is the text typed so far; known holds the values of other arguments, and is
// nil if there are none. The client gets the first hundred values. An error fails the request.
type Completer func(ctx context.Context, argument, prefix string, known map[string]string) ([]string, error)
