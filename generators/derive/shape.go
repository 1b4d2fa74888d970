package derive

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/schema"
)

// checkSignature checks the signature of a component and derives its schemas.
func (f *finder) checkSignature(c *Component, decl *ast.FuncDecl) {
	signature := f.signature(decl)
	if signature == nil {
		f.problem(decl.Name.Pos(), "%s is declared more than once", decl.Name.Name)
		return
	}
	in, out, ok := inAndOut(c, signature)
	if !ok {
		remedy := "change it"
		if (c.Kind == Prompt || c.Kind == Resource) && isCompleter(signature) {
			remedy = fmt.Sprintf("if it completes arguments, put //petrock:completes and the name of the %s into its doc comment", c.Kind)
		}
		f.problem(decl.Name.Pos(), "%s is exported but does not have the signature of a %s, %s; %s, unexport it, or put //petrock:ignore into its doc comment", decl.Name.Name, c.Kind, f.wantedSignature(decl.Name.Name), remedy)
		return
	}
	if in != nil && !f.setInput(c, decl.Name, in) {
		return
	}
	switch c.Kind {
	case Tool:
		if !f.isOneOf(out, "ToolResult", "*ToolResult") { // those have no schema
			f.setOutput(c, decl.Name, out)
		}
	case Resource:
		f.checkResource(c, decl, in, out)
	case Prompt:
		if !f.isOneOf(out, "string", "[]PromptMessage", "PromptResult", "*PromptResult") {
			f.problem(decl.Name.Pos(), "%s returns %s; a prompt returns string, []mcp.PromptMessage or *mcp.PromptResult", decl.Name.Name, f.name(out))
		}
	}
}

func (f *finder) signature(decl *ast.FuncDecl) *types.Signature {
	object := f.pkg.Scope().Lookup(decl.Name.Name)
	if decl.Recv != nil {
		if object = f.pkg.Scope().Lookup(f.place.receiver()); object != nil {
			object, _, _ = types.LookupFieldOrMethod(object.Type(), true, f.pkg, decl.Name.Name)
		}
	}
	if function, ok := object.(*types.Func); ok {
		return function.Signature()
	}
	return nil
}

func (f *finder) wantedSignature(name string) string {
	switch f.place.Kind {
	case Resource:
		return fmt.Sprintf("func %s(context.Context, %[1]sInput) (T, error), or without the input", name)
	case Generator:
		return fmt.Sprintf("func %s(gen.Project, %[1]sInput) (gen.Draft, error)", name)
	}
	return fmt.Sprintf("func %s(context.Context, %[1]sInput) (T, error) with a struct %[1]sInput", name)
}

// inAndOut returns the input type of a component, which may be nil, and the output type.
func inAndOut(c *Component, s *types.Signature) (in, out types.Type, ok bool) {
	params, results := s.Params(), s.Results()
	if s.TypeParams() != nil || s.Variadic() || params.Len() == 0 || params.Len() > 2 || results.Len() != 2 || !IsError(results.At(1).Type()) {
		return nil, nil, false
	}
	first := params.At(0).Type()
	if c.Kind == Generator {
		if !isNamed(first, "Project") {
			return nil, nil, false
		}
	} else if !IsContext(first) {
		return nil, nil, false
	}
	out = results.At(0).Type()
	if params.Len() == 1 {
		return nil, out, c.Kind == Resource
	}
	in = params.At(1).Type()
	if isInvalid(in) || isInvalid(out) {
		return in, out, true // setInput and setOutput report the error
	}
	return in, out, isStruct(in)
}

func isInvalid(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Kind() == types.Invalid
}

// IsError reports whether a type is error.
func IsError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }

func isNamed(t types.Type, name string) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == name && named.Obj().Pkg() != nil
}

// isOneOf reports whether a type is one of names. Names without a package path are predeclared or from
// package mcp.
func (f *finder) isOneOf(t types.Type, names ...string) bool {
	text := types.TypeString(types.Unalias(t), func(p *types.Package) string {
		if p.Path() == f.Core+"/mcp" {
			return ""
		}
		return p.Path()
	})
	return slices.Contains(names, text)
}

func (f *finder) returnsDraft(decl *ast.FuncDecl) bool {
	s := f.signature(decl)
	return s != nil && s.Results().Len() > 0 && isNamed(s.Results().At(0).Type(), "Draft")
}

func (f *finder) checkConstructor(decl *ast.FuncDecl) {
	s := f.signature(decl)
	if s == nil {
		return // the compiler reports it
	}
	params, results := s.Params(), s.Results()
	pointer := ""
	if results.Len() == 2 {
		pointer = f.name(results.At(0).Type())
	}
	found, valid := constructor{exists: true}, !s.Variadic()
	for param := range params.Variables() {
		switch {
		case IsContext(param.Type()) && !found.context && !found.server:
			found.context = true
		case f.isOneOf(param.Type(), "*Server") && !found.server:
			found.server = true
		default:
			valid = false
		}
	}
	if !valid || pointer != "*"+f.place.receiver() || !IsError(results.At(1).Type()) {
		f.problem(decl.Name.Pos(), "the server calls New at startup, so it must be func New() (*%s, error), optionally with a context and a *mcp.Server, in this order; read other settings from the environment", f.place.receiver())
		return
	}
	f.found.constructor = found
}

// setInput derives the schema of the input. It reports false if there is none.
func (f *finder) setInput(c *Component, name *ast.Ident, t types.Type) bool {
	s := &schemaBuilder{finder: f, at: name.Pos()}
	text, ok := s.build(t)
	if !ok {
		return false
	}
	if !IsObject(text) {
		f.problem(name.Pos(), "the input of %s is %s, whose schema is not an object; use a plain struct", name.Name, f.name(t))
		return false
	}
	c.Input, c.ownSchema = json.RawMessage(text), s.own
	if s.HasDefaults && !c.Kind.IsTool() {
		f.problem(name.Pos(), "the input of %s has defaults, which only tools support; set them in the function", name.Name)
	}
	if s.HasHeaders && !c.Kind.IsTool() {
		f.problem(name.Pos(), "the input of %s has headers, which only tools support; remove them", name.Name)
	}
	if c.Kind == Resource || c.Kind == Prompt {
		f.checkStringFields(c, name, t)
	}
	if !c.Internal {
		f.warnUndocumented(t)
	}
	return true
}

// IsObject reports whether a schema has the type object.
func IsObject(text string) bool {
	var document struct {
		Type any `json:"type"`
	}
	return json.Unmarshal([]byte(text), &document) == nil && document.Type == "object"
}

// checkStringFields checks that all fields are strings, as prompts and resources require.
func (f *finder) checkStringFields(c *Component, name *ast.Ident, t types.Type) {
	var document struct {
		Properties map[string]struct{ Type any }
	}
	if err := json.Unmarshal(c.Input, &document); err != nil {
		f.problem(name.Pos(), "parse the schema of %s: %v", name.Name, err)
		return
	}
	for _, m := range JSONFields(t.Underlying().(*types.Struct), false) {
		if !isText(document.Properties[m.Key].Type) {
			at := name.Pos()
			if f.isInProject(m.Var) {
				at = m.Var.Pos()
			}
			f.problem(at, "%s is %s, and a %s supports only strings; make it a string, and parse it in the function", m.Var.Name(), f.name(m.Var.Type()), c.Kind)
		}
		c.arguments = append(c.arguments, m.Key)
	}
}

// isText reports whether the type in a schema is string, or string or null.
func isText(t any) bool {
	list, ok := t.([]any)
	return t == "string" || ok && len(list) == 2 && list[0] == "string" && list[1] == "null"
}

func (f *finder) warnUndocumented(t types.Type) {
	for _, m := range JSONFields(t.Underlying().(*types.Struct), false) {
		tag, err := schema.ParseTag(m.Tag)
		if field := f.field(m.Var.Pos()); err == nil && tag.Description == "" && field != nil && fieldText(field) == "" {
			f.warn(m.Var.Pos(), "field %s has no comment; models need it to fill in the field", m.Var.Name())
		}
	}
}

func (f *finder) setOutput(c *Component, name *ast.Ident, t types.Type) {
	s := &schemaBuilder{finder: f, at: name.Pos(), output: true}
	text, ok := s.build(t)
	if !ok {
		return
	}
	c.Output, c.ownSchema = json.RawMessage(text), c.ownSchema || s.own
}

// checkResource checks the URI, input and content type of a resource.
func (f *finder) checkResource(c *Component, decl *ast.FuncDecl, in, out types.Type) {
	name := decl.Name.Name
	if c.URI == "" {
		f.problem(decl.Name.Pos(), "%s has no URI; put //petrock:uri %s://{id} into its doc comment", name, strings.ReplaceAll(c.Name, "_", "-"))
		return
	}
	variables, err := Variables(c.URI)
	if err != nil {
		f.problem(decl.Name.Pos(), "%s: %v", name, err)
		return
	}
	fields := slices.Sorted(slices.Values(c.arguments))
	sorted := slices.Sorted(slices.Values(variables))
	switch {
	case len(variables) == 0 && in != nil:
		f.problem(decl.Name.Pos(), "the URI %s has no variables, so %s must not have an input; add a variable such as {name} to the URI, or remove the input", c.URI, name)
	case !slices.Equal(fields, sorted):
		f.problem(decl.Name.Pos(), "the URI %s has the variables %s, but the input of %s has the fields %s; they must match", c.URI, joinOrNone(sorted), name, joinOrNone(fields))
	}
	f.setMIMEType(c, decl, out)
}

func (f *finder) setMIMEType(c *Component, decl *ast.FuncDecl, out types.Type) {
	mime := "application/json"
	switch {
	case f.isOneOf(out, "string"):
		mime = "text/plain"
	case f.isOneOf(out, "[]byte", "[]uint8"):
		mime = "application/octet-stream"
	case f.isOneOf(out, "ResourceContents", "*ResourceContents", "[]ResourceContents"):
		mime = ""
	default:
		s := &schemaBuilder{finder: f, at: decl.Name.Pos(), output: true}
		s.build(out)
		if c.MIMEType != "" && c.MIMEType != mime {
			f.problem(decl.Name.Pos(), "%s returns %s, which is sent as %s, not as %s; return a string", decl.Name.Name, f.name(out), mime, c.MIMEType)
		}
	}
	c.MIMEType = cmp.Or(c.MIMEType, mime)
}

func joinOrNone(words []string) string {
	if len(words) == 0 {
		return "(none)"
	}
	return strings.Join(words, ", ")
}
