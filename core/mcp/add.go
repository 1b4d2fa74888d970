package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/petrock/petrock/core/internal/jsonschema"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/plumbing/jsonfield"
	"github.com/petrock/petrock/core/strictjson"
)

// AddTool adds a tool that is a Go function. In is a struct or a map that the arguments are decoded
// into; missing fields get the defaults in their schema tags. Out is sent as structured content and
// as text, which is the string itself for a string and JSON for any other type. nil slices and maps
// encode as [] and {} at every depth, see [strictjson.OutputEncoder]. If Out is [ToolResult] or a
// pointer to one, the function returns the whole result.
//
// A schema that is not set is inferred from the type as in package schema. A schema that is set
// must match the type: properties are fields, and have a type that the field decodes or encodes.
// Otherwise AddTool returns an error.
func AddTool[In, Out any](to Registrar, t Tool, f func(context.Context, In) (Out, error)) error {
	return addTyped(to.derived(), t, f, func(ctx context.Context, in any) (any, error) { return f(ctx, *in.(*In)) })
}

// AddPrompt adds a prompt that is a Go function. In is a struct that the arguments are decoded
// into. Its fields are strings, types that implement [encoding.TextUnmarshaler], or numbers and
// booleans with the option "string" in their json tag. Arguments that cannot be decoded fail the
// request.
//
// If p has neither arguments nor a schema, both are inferred from In. Otherwise they must match In.
func AddPrompt[In any, Out PromptOutput](to Registrar, p Prompt, f func(context.Context, In) (Out, error)) error {
	var handler PromptHandler
	if f != nil {
		call := textFunc("arguments", f)
		handler = func(ctx context.Context, arguments map[string]string) (*PromptResult, error) {
			return promptResultOf(call(ctx, arguments))
		}
	}
	return addTypedPrompt(to.derived(), p, reflect.TypeFor[In](), handler)
}

// AddResource adds a resource that a Go function reads. A string is sent as text, a []byte as a
// blob, a [ResourceContents], a pointer to one or a slice unchanged, and any other Out as JSON. The
// MIME type of r defaults to text/plain, application/octet-stream or application/json, depending on
// Out.
func AddResource[Out any](s *Server, r Resource, f func(context.Context) (Out, error)) error {
	var handler ResourceHandler
	if f != nil {
		handler = func(ctx context.Context, _ string, _ map[string]string) ([]ResourceContents, error) {
			return contentsOf(f(ctx))
		}
	}
	var err error
	if r.MIMEType, err = contentType(reflect.TypeFor[Out](), r.MIMEType); err != nil {
		return add(s, &s.resources, r.URI, nil, err)
	}
	return s.AddResource(r, handler)
}

// AddResourceTemplate adds a resource template that a Go function reads. In is a struct whose
// fields are the variables of the template, decoded as [AddPrompt] decodes arguments. Out is as in
// [AddResource].
//
// If t has no schema, it is inferred from In. Otherwise it must match In.
func AddResourceTemplate[In, Out any](to Registrar, t ResourceTemplate, f func(context.Context, In) (Out, error)) error {
	var handler ResourceHandler
	if f != nil {
		call := textFunc("variables", f)
		handler = func(ctx context.Context, _ string, variables map[string]string) ([]ResourceContents, error) {
			return contentsOf(call(ctx, variables))
		}
	}
	return addTypedTemplate(to.derived(), t, reflect.TypeFor[In](), reflect.TypeFor[Out](), handler)
}

// addTyped adds a tool that calls f. f is only used for its signature; call calls it.
func addTyped(d *Derived, t Tool, f any, call typedCall) error {
	signature := reflect.TypeOf(f)
	if reflect.ValueOf(f).IsNil() {
		call = nil
	}
	t.Name = d.server.o.NamePrefix + t.Name
	made, err := newTypedTool(d, t, signature.In(1), structuredType(signature.Out(0)), call)
	return add(d.server, &d.server.tools, t.Name, made, err)
}

// A typedCall calls the function of a tool. in points to its input. The compiler generates one for
// each function, so it only calls the function; the rest is code that all tools share.
type typedCall func(ctx context.Context, in any) (any, error)

// newTypedTool returns a tool that calls a function. It infers missing schemas and checks the
// others. out is nil if the function returns the whole result, and call is nil if it is nil.
func newTypedTool(d *Derived, t Tool, in, out reflect.Type, call typedCall) (*tool, error) {
	if in.Kind() != reflect.Struct && in.Kind() != reflect.Map {
		return nil, fmt.Errorf("input %v: must be a struct or a map", in)
	}
	inferIn := t.InputSchema == nil && !d.isExact()
	inferOut := t.OutputSchema == nil && !d.isExact() && out != nil
	var err error
	if inferIn {
		if t.InputSchema, err = jsonschema.Infer(in, jsonschema.Input); err != nil {
			return nil, err
		}
	}
	if inferOut {
		if t.OutputSchema, err = jsonschema.Infer(out, jsonschema.Output); err != nil {
			return nil, fmt.Errorf("%w, or return *mcp.ToolResult", err)
		}
	}
	handler, err := typedHandler(in, out, call)
	if err != nil {
		return nil, err
	}
	made, err := newTool(t, handler)
	if err == nil && !inferIn {
		err = d.check(made.input, in, jsonschema.Input)
	}
	if err == nil && !inferOut && out != nil {
		err = d.check(made.output, out, jsonschema.Output)
	}
	return made, err
}

// structuredType returns the type of the structured content of a function that returns out, or nil
// if it returns the whole result.
func structuredType(out reflect.Type) reflect.Type {
	switch out {
	case reflect.TypeFor[ToolResult](), reflect.TypeFor[*ToolResult]():
		return nil
	}
	if out.Kind() == reflect.Struct && out.Implements(reflect.TypeFor[encoded]()) {
		return reflect.Zero(out).Interface().(encoded).outputType()
	}
	return out
}

// typedHandler returns a handler that decodes the arguments over the defaults of the input, calls
// the function and encodes its output. It returns nil for a nil function.
func typedHandler(inType, out reflect.Type, call typedCall) (ToolHandler, error) {
	if call == nil {
		return nil, nil
	}
	defaults := reflect.New(inType).Elem()
	if err := jsonschema.SetDefaults(defaults); err != nil {
		return nil, err
	}
	isText := out == reflect.TypeFor[string]()
	decoder, encoder := new(strictjson.Decoder), new(strictjson.OutputEncoder)
	return func(ctx context.Context, arguments json.RawMessage) (*ToolResult, error) {
		pointer := reflect.New(inType)
		pointer.Elem().Set(defaults)
		in := pointer.Interface()
		if err := decoder.DecodeChecked(arguments, pointer); err != nil {
			return nil, fmt.Errorf("invalid arguments: %w", err)
		}
		output, err := call(ctx, in)
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

// Encoded is the output of a tool that is already encoded as JSON. Return it from a function for
// [AddTool] that has the JSON at hand, such as from a cache. The tool has the output schema of T.
// JSON that does not match the schema becomes an error result.
type Encoded[T any] struct{ JSON json.RawMessage }

// encoded is implemented by every [Encoded].
type encoded interface {
	outputType() reflect.Type
	outputJSON() json.RawMessage
}

func (Encoded[T]) outputType() reflect.Type { return reflect.TypeFor[T]() }

func (e Encoded[T]) outputJSON() json.RawMessage { return e.JSON }

// addTypedPrompt adds a prompt whose arguments are decoded into in.
func addTypedPrompt(d *Derived, p Prompt, in reflect.Type, h PromptHandler) error {
	p.Name = d.server.o.NamePrefix + p.Name
	err := d.setTextSchema(&p.InputSchema, in, p.Arguments == nil)
	var made *prompt
	if err == nil {
		made, err = newPrompt(p, h)
	}
	if err == nil {
		err = d.checkNames(in, "the prompt", made.names)
	}
	return add(d.server, &d.server.prompts, p.Name, made, err)
}

// A PromptOutput is the output of a function for [AddPrompt]: the text of one user message,
// messages, or the whole result.
type PromptOutput interface {
	string | []PromptMessage | PromptResult | *PromptResult
}

// promptResultOf returns the output of a function for [AddPrompt] as a result.
func promptResultOf(out any, err error) (*PromptResult, error) {
	if err != nil {
		return nil, err
	}
	switch out := out.(type) {
	case string:
		return &PromptResult{Messages: []PromptMessage{{RoleUser, Text{Text: out}}}}, nil
	case []PromptMessage:
		return &PromptResult{Messages: out}, nil
	case PromptResult:
		return &out, nil
	}
	return out.(*PromptResult), nil
}

// addTypedTemplate adds a template whose variables are decoded into in, and whose contents are out.
func addTypedTemplate(d *Derived, t ResourceTemplate, in, out reflect.Type, h ResourceHandler) error {
	err := d.setTextSchema(&t.InputSchema, in, true)
	if err == nil {
		t.MIMEType, err = contentType(out, t.MIMEType)
	}
	var made *template
	if err == nil {
		made, err = newTemplate(t, h)
	}
	if err == nil {
		err = d.checkNames(in, t.URITemplate, made.uri.Variables())
	}
	return add(d.server, &d.server.templates, t.URITemplate, made, err)
}

// contentType returns given or, if it is empty, the default MIME type of out.
func contentType(out reflect.Type, given string) (string, error) {
	const asJSON = "application/json"
	switch out {
	case reflect.TypeFor[string]():
		return cmp.Or(given, "text/plain"), nil
	case reflect.TypeFor[[]byte]():
		return cmp.Or(given, "application/octet-stream"), nil
	case reflect.TypeFor[ResourceContents](), reflect.TypeFor[*ResourceContents](), reflect.TypeFor[[]ResourceContents]():
		return given, nil
	}
	if given != "" && given != asJSON {
		return "", fmt.Errorf("%v is sent as %s, not as %s; return a string", out, asJSON, given)
	}
	return asJSON, nil
}

// contentsOf returns the output of a typed resource as contents. Their URI and MIME type are set
// when the resource is read.
func contentsOf(out any, err error) ([]ResourceContents, error) {
	if err != nil {
		return nil, err
	}
	switch out := out.(type) {
	case string:
		return []ResourceContents{{Text: out}}, nil
	case []byte:
		// The blob must not be nil, because nil would be sent as text.
		return []ResourceContents{{Blob: append([]byte{}, out...)}}, nil
	case ResourceContents:
		return []ResourceContents{out}, nil
	case *ResourceContents:
		if out == nil {
			return nil, nil
		}
		return []ResourceContents{*out}, nil
	case []ResourceContents:
		return out, nil
	}
	raw, err := strictjson.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode contents: %w", err)
	}
	return []ResourceContents{{MIMEType: "application/json", Text: string(raw)}}, nil
}

// textFunc returns a function that decodes text values and calls f. what names the values in
// errors.
func textFunc[In, Out any](what string, f func(context.Context, In) (Out, error)) func(context.Context, map[string]string) (Out, error) {
	decoder := new(strictjson.Decoder)
	return func(ctx context.Context, values map[string]string) (out Out, err error) {
		var in In
		if err := decoder.Decode(textObject(values), &in); err != nil {
			return out, jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid %s: %v", what, err)
		}
		return f(ctx, in)
	}
}

// setTextSchema sets the schema of a struct that is decoded from text, if it is nil: it infers the
// schema, unless the struct is empty or infer is false. Otherwise the schema must match the struct.
// Only tools support defaults and headers.
func (d *Derived) setTextSchema(schema *json.RawMessage, in reflect.Type, infer bool) error {
	if in.Kind() != reflect.Struct {
		return fmt.Errorf("input %v: must be a struct", in)
	}
	fields := jsonfield.Decoded(in)
	for _, f := range fields {
		tag, err := jsonschema.ParseTag(f.Tag)
		switch {
		case err != nil:
			return fmt.Errorf("schema tag of %v.%s: %w", in, f.Name, err)
		case tag.Default != nil:
			return fmt.Errorf("%v.%s: only tools support a default; set it in the function", in, f.Name)
		case tag.Header != "":
			return fmt.Errorf("%v.%s: only tools support a header; remove it", in, f.Name)
		}
	}
	if *schema != nil {
		s, err := compileInput(*schema)
		if err != nil {
			return err
		}
		return d.check(s, in, jsonschema.Input)
	}
	if !infer || d.isExact() || len(fields) == 0 {
		return nil
	}
	var err error
	*schema, err = jsonschema.Infer(in, jsonschema.Input)
	for i, p := range jsonschema.ReadProperties(*schema) {
		if !p.IsText() {
			return fmt.Errorf(`%v.%s: arguments are text, got %v; use a string, or the option "string" in its json tag`, in, fields[i].Name, fields[i].Type)
		}
	}
	return err
}

// checkNames returns an error if the fields of an input do not have the names of its values. what
// names their owner.
func (d *Derived) checkNames(in reflect.Type, what string, names []string) error {
	var fields []string
	for _, f := range jsonfield.Decoded(in) {
		fields = append(fields, f.Key)
	}
	if slices.Equal(slices.Sorted(slices.Values(fields)), slices.Sorted(slices.Values(names))) {
		return nil
	}
	return d.mismatch(fmt.Errorf("%s has %q, but %s has %q", cmp.Or(in.Name(), "the input"), fields, what, names))
}
