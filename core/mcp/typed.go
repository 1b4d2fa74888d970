package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/internal/jsonschema"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// A Registrar is where [AddTool], [AddPrompt] and [AddResourceTemplate] register a component: a
// [*Server], or a [*Derived] in generated code.
type Registrar interface {
	derived() *Derived
}

func (s *Server) derived() *Derived { return &Derived{server: s} }

// Derived registers components whose schemas were derived from Go types by petrock. It makes sure that
// the schemas still match the types exactly. Only *_gen.go files need it.
type Derived struct {
	server *Server
	file   string // "" if the schemas are not derived
}

// Derived returns a registrar for the derived code in file, such as tools_gen.go. Components that are
// added to it must have schemas that match their Go types exactly. Otherwise the file is stale, and
// the functions that add them return an error that says so.
func (s *Server) Derived(file string) *Derived { return &Derived{s, file} }

func (d *Derived) derived() *Derived { return d }

// isExact reports whether schemas must match the Go types exactly. They are not inferred then.
func (d *Derived) isExact() bool { return d.file != "" }

// A mismatch is the error of a schema that does not match its Go type.
type mismatch struct{ error }

// check returns an error if a schema does not match its Go type.
func (d *Derived) check(s *jsonschema.Schema, t reflect.Type, dir jsonschema.Direction) error {
	match := jsonschema.Compatible
	if d.isExact() {
		match = jsonschema.Exact
	}
	if err := s.CheckType(t, dir, match); err != nil {
		return mismatch{err}
	}
	return nil
}

// describe returns err as the error of derived code that is stale, if it is.
func (d *Derived) describe(err error) error {
	if wrong, ok := errors.AsType[mismatch](err); ok && d.isExact() {
		return fmt.Errorf("%s is stale: %w; run petrock sync", d.file, wrong)
	}
	return err
}

// AddTool adds a tool that is a Go function. In is a struct or a map that the arguments are decoded
// into; missing fields get the defaults in their schema tags. Out is sent as structured content and
// as text, which is the string itself for a string and JSON for any other type. nil slices and maps
// encode as [] and {} at every depth, see [strictjson.OutputEncoder]. If Out is [ToolResult] or a
// pointer to one, the function returns the whole result.
//
// A schema that is not set is inferred from the type as in package schema. A schema that is set must
// match the type: properties are fields, and have a type that the field decodes or encodes. Otherwise
// AddTool returns an error.
func AddTool[In, Out any](to Registrar, t Tool, f func(context.Context, In) (Out, error)) error {
	return addTyped(to.derived(), t, f, func(ctx context.Context, in any) (any, error) { return f(ctx, *in.(*In)) })
}

// Encoded is the output of a tool that is already encoded as JSON. The tool has the output schema of
// T.
type Encoded[T any] struct{ JSON json.RawMessage }

type encoded interface {
	outputType() reflect.Type
	outputJSON() json.RawMessage
}

func (Encoded[T]) outputType() reflect.Type      { return reflect.TypeFor[T]() }
func (e Encoded[T]) outputJSON() json.RawMessage { return e.JSON }

// A typedTool is a tool that is a Go function.
type typedTool struct {
	in, out reflect.Type
	call    typedCall // nil if the function is nil
}

// A typedCall calls the function of a tool. in points to its input. The compiler generates one for
// each function, so keep it small.
type typedCall func(ctx context.Context, in any) (any, error)

func addTyped(d *Derived, t Tool, f any, call typedCall) error {
	signature := reflect.TypeOf(f)
	if reflect.ValueOf(f).IsNil() {
		call = nil
	}
	t.Name = d.server.o.NamePrefix + t.Name
	made, err := typedTool{signature.In(1), signature.Out(0), call}.tool(t, d)
	return d.describe(add(d.server, &d.server.tools, t.Name, made, err))
}

// tool returns the tool that calls the function. It infers missing schemas and checks the others.
func (f typedTool) tool(t Tool, d *Derived) (*tool, error) {
	if f.in.Kind() != reflect.Struct && f.in.Kind() != reflect.Map {
		return nil, fmt.Errorf("input %v: must be a struct or a map", f.in)
	}
	out := f.output()
	inferIn := t.InputSchema == nil && !d.isExact()
	inferOut := t.OutputSchema == nil && !d.isExact() && out != nil
	var err error
	if inferIn {
		if t.InputSchema, err = jsonschema.Infer(f.in, jsonschema.Input); err != nil {
			return nil, err
		}
	}
	if inferOut {
		if t.OutputSchema, err = jsonschema.Infer(out, jsonschema.Output); err != nil {
			return nil, fmt.Errorf("%w, or return *mcp.ToolResult", err)
		}
	}
	handler, err := f.handler()
	if err != nil {
		return nil, err
	}
	made, err := newTool(t, handler)
	if err == nil && !inferIn {
		err = d.check(made.input, f.in, jsonschema.Input)
	}
	if err != nil || inferOut || out == nil {
		return made, err
	}
	if made.output == nil {
		return made, mismatch{fmt.Errorf("%v has no output schema", out)}
	}
	return made, d.check(made.output, out, jsonschema.Output)
}

// output returns the type of the structured content, or nil if the function returns the whole result.
func (f typedTool) output() reflect.Type {
	switch f.out {
	case reflect.TypeFor[ToolResult](), reflect.TypeFor[*ToolResult]():
		return nil
	}
	if f.out.Kind() == reflect.Struct && f.out.Implements(reflect.TypeFor[encoded]()) {
		return reflect.Zero(f.out).Interface().(encoded).outputType()
	}
	return f.out
}

func (f typedTool) handler() (ToolHandler, error) {
	if f.call == nil {
		return nil, nil
	}
	defaults := reflect.New(f.in).Elem()
	if err := jsonschema.SetDefaults(defaults); err != nil {
		return nil, err
	}
	isText := f.output() == reflect.TypeFor[string]()
	decoder, encoder := new(strictjson.Decoder), new(strictjson.OutputEncoder)
	return func(ctx context.Context, arguments json.RawMessage) (*ToolResult, error) {
		pointer := reflect.New(f.in)
		pointer.Elem().Set(defaults)
		in := pointer.Interface()
		if err := decoder.DecodeChecked(arguments, pointer); err != nil {
			return nil, fmt.Errorf("invalid arguments: %w", err)
		}
		output, err := f.call(ctx, in)
		if err != nil {
			return nil, err
		}
		result := &ToolResult{}
		switch out := output.(type) {
		case *ToolResult:
			return out, nil
		case ToolResult:
			return &out, nil
		case encoded:
			result.StructuredContent = out.outputJSON()
		default:
			if result.StructuredContent, err = encoder.Encode(output); err != nil {
				return nil, fmt.Errorf("encode output: %w", err)
			}
		}
		if text, ok := strictjson.Unquote(result.StructuredContent); ok && isText {
			result.Content = []Content{Text{Text: text}}
		}
		return result, nil
	}, nil
}

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

// A textInput validates and completes the arguments of a prompt or the variables of a template.
type textInput struct {
	schema   *jsonschema.Schema // nil allows any text
	complete Completer          // by default suggests the enums of the schema; may be nil
}

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

func textObject(values map[string]string) json.RawMessage {
	object := []byte{'{'}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		object = strictjson.AppendMember(object, name, strictjson.AppendString(nil, values[name]))
	}
	return append(object, '}')
}

// Provide adds values to the contexts of further calls. with returns its context with the values
// added. The values of a request take precedence.
func (s *Server) Provide(with func(context.Context) context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := context.Background()
	if p := s.provided.Load(); p != nil {
		before = *p
	}
	after := with(before)
	s.provided.Store(&after)
}

// value returns the provided value for a key, or nil.
func (s *Server) value(key any) any {
	if p := s.provided.Load(); p != nil {
		return (*p).Value(key)
	}
	return nil
}
