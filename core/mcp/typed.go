package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/internal/jsonschema"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/core/strictjson"
)

// AddTool adds a tool that is a Go function. In is a struct or a map that the arguments are decoded
// into; missing fields get the defaults in their schema tags. Out is sent as structured content and
// as text, which is the string itself for a string and JSON for any other type. nil slices and maps
// encode as [] and {}. If Out is [ToolResult] or a pointer to one, the function returns the whole
// result.
//
// A schema that is not set is inferred from the type by [schema.Infer]. A schema that is set must
// match the type: properties are fields, and have a type that the field decodes or encodes. Otherwise
// AddTool returns an error.
func AddTool[In, Out any](s *Server, t Tool, f func(context.Context, In) (Out, error)) error {
	return s.addTyped(t, f, func(ctx context.Context, in any) (any, error) { return f(ctx, *in.(*In)) }, infer)
}

// AddDerivedTool is [AddTool] for derived code. It requires schemas that match the function's types
// exactly, unless OwnSchema is set. Otherwise the derived file is stale, and AddDerivedTool returns an
// error.
func AddDerivedTool[In, Out any](s *Server, t Tool, f func(context.Context, In) (Out, error)) error {
	return s.addTyped(t, f, func(ctx context.Context, in any) (any, error) { return f(ctx, *in.(*In)) }, nil)
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

type inferrer func(reflect.Type, schema.Direction) (json.RawMessage, error)

// addTyped adds a tool that calls f. infer is nil for derived code. addError finds derived code by the
// depth of the call stack, so only AddTool and AddDerivedTool may call addTyped.
func (s *Server) addTyped(t Tool, f any, call typedCall, infer inferrer) error {
	signature := reflect.TypeOf(f)
	if reflect.ValueOf(f).IsNil() {
		call = nil
	}
	t.Name = s.o.NamePrefix + t.Name
	made, err := typedTool{signature.In(1), signature.Out(0), call}.tool(t, infer)
	return add(s, &s.tools, t.Name, made, err)
}

// isDerived reports whether derived code called AddPrompt or AddResourceTemplate with a schema that
// must match the Go type exactly.
func isDerived(ownSchema bool) bool {
	if ownSchema {
		return false
	}
	_, file, _, _ := runtime.Caller(3)
	return strings.HasSuffix(file, "_gen.go")
}

// A mismatch is the error of a schema that does not match its Go type.
type mismatch struct{ error }

// addError returns the error of add. If derived code called AddTool or a similar function, a mismatch
// means that the code is stale.
func addError(kind, name string, err error) error {
	if wrong, ok := errors.AsType[mismatch](err); ok {
		if _, file, _, _ := runtime.Caller(4); strings.HasSuffix(file, "_gen.go") {
			return fmt.Errorf("%s is stale: %w; run petrock sync", filepath.Base(file), wrong)
		}
	}
	return fmt.Errorf("add %s %s: %w", kind, name, err)
}

// tool returns the tool that calls the function. If infer is nil, t has derived schemas.
func (f typedTool) tool(t Tool, infer inferrer) (*tool, error) {
	if f.in.Kind() != reflect.Struct && f.in.Kind() != reflect.Map {
		return nil, fmt.Errorf("input %v: must be a struct or a map", f.in)
	}
	out := f.output()
	inferIn := infer != nil && t.InputSchema == nil
	inferOut := infer != nil && t.OutputSchema == nil && out != nil
	exact := infer == nil && !t.OwnSchema
	var err error
	if inferIn {
		if t.InputSchema, err = infer(f.in, schema.Input); err != nil {
			return nil, err
		}
	}
	if inferOut {
		if t.OutputSchema, err = infer(out, schema.Output); err != nil {
			return nil, fmt.Errorf("%w, or return *mcp.ToolResult", err)
		}
	}
	handler, err := f.handler()
	if err != nil {
		return nil, err
	}
	made, err := newTool(t, handler)
	if err != nil {
		return nil, err
	}
	if !inferIn {
		err = checkFits(made.input, f.in, schema.Input, exact)
	}
	if inferOut || err != nil || out == nil {
		return made, err
	}
	if made.output == nil {
		return made, mismatch{fmt.Errorf("%v has no output schema", out)}
	}
	return made, checkFits(made.output, out, schema.Output, exact)
}

func infer(t reflect.Type, d schema.Direction) (json.RawMessage, error) {
	return schema.Infer(t, d)
}

func checkFits(s *jsonschema.Schema, t reflect.Type, d schema.Direction, exact bool) error {
	match := jsonschema.Compatible
	if exact {
		match = jsonschema.Exact
	}
	if err := s.CheckType(t, d, match); err != nil {
		return mismatch{err}
	}
	return nil
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
	decoder := new(strictjson.Decoder)
	return func(ctx context.Context, arguments json.RawMessage) (*ToolResult, error) {
		pointer := reflect.New(f.in)
		pointer.Elem().Set(defaults)
		in := pointer.Interface()
		if err := decoder.Decode(arguments, in); err != nil {
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
			if result.StructuredContent, err = strictjson.MarshalOutput(output); err != nil {
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
		if p.Choices != nil {
			choices[p.Name] = p.Choices
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
