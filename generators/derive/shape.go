package derive

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/schema"
)

func (f *finder) shape(c *Component, decl *ast.FuncDecl) {
	signature := f.signature(decl)
	if signature == nil {
		f.problem(decl.Name.Pos(), "%s is declared more than once", decl.Name.Name)
		return
	}
	in, out, ok := inAndOut(c, signature)
	if !ok {
		way := "change it"
		if (c.Kind == Prompt || c.Kind == Resource) && isCompleter(signature) {
			way = "if it completes one, put //petrock:completes and its name into its doc comment"
		}
		f.problem(decl.Name.Pos(), "%s is exported and is no %s: that is %s; %s, or begin its name with a small letter, or put //petrock:ignore into its doc comment", decl.Name.Name, c.Kind, f.wanted(decl.Name.Name), way)
		return
	}
	if in != nil && !f.input(c, decl.Name, in) {
		return
	}
	switch c.Kind {
	case Tool:
		if !f.isOneOf(out, "ToolResult", "*ToolResult") { // or else it decides for itself
			f.output(c, decl.Name, out)
		}
	case Resource:
		f.resource(c, decl, in, out)
	case Prompt:
		if !f.isOneOf(out, "string", "[]PromptMessage", "PromptResult", "*PromptResult") {
			f.problem(decl.Name.Pos(), "%s returns %s; a prompt returns string, []mcp.PromptMessage or *mcp.PromptResult", decl.Name.Name, f.name(out))
		}
	}
}

func (f *finder) signature(decl *ast.FuncDecl) *types.Signature {
	scope := f.pkg.Scope()
	if decl.Recv == nil {
		object, _ := scope.Lookup(decl.Name.Name).(*types.Func)
		if object == nil {
			return nil
		}
		return object.Signature()
	}
	holder := scope.Lookup(f.place.receiver())
	if holder == nil {
		return nil
	}
	object, _, _ := types.LookupFieldOrMethod(holder.Type(), true, f.pkg, decl.Name.Name)
	method, _ := object.(*types.Func)
	if method == nil {
		return nil
	}
	return method.Signature()
}

func (f *finder) wanted(name string) string {
	switch f.place.Kind {
	case Resource:
		return fmt.Sprintf("func %s(context.Context, %[1]sInput) (T, error), or without the input", name)
	case Generator:
		return fmt.Sprintf("func %s(gen.Project, %[1]sInput) (gen.Draft, error)", name)
	}
	return fmt.Sprintf("func %s(context.Context, %[1]sInput) (T, error), %[1]sInput being a struct", name)
}

// inAndOut are the types of what a component takes, which may be nothing, and of what it returns.
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
		return in, out, true // what is wrong is said where it is looked at
	}
	_, isStruct := in.Underlying().(*types.Struct)
	return in, out, isStruct
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

// isOneOf reports whether a type is one of those names, which are of package mcp, but for string.
func (f *finder) isOneOf(t types.Type, names ...string) bool {
	text := types.TypeString(types.Unalias(t), func(p *types.Package) string {
		if p.Path() == f.Core+"/mcp" {
			return ""
		}
		return p.Path()
	})
	return slices.Contains(names, text)
}

func (f *finder) makesDraft(decl *ast.FuncDecl) bool {
	s := f.signature(decl)
	return s != nil && s.Results().Len() > 0 && isNamed(s.Results().At(0).Type(), "Draft")
}

// maker looks at the function that makes the type whose methods are components.
func (f *finder) maker(decl *ast.FuncDecl) {
	s := f.signature(decl)
	if s == nil {
		return // the compiler speaks of it
	}
	params, results := s.Params(), s.Results()
	pointer := ""
	if results.Len() == 2 {
		pointer = f.name(results.At(0).Type())
	}
	made, takes := maker{known: true}, !s.Variadic()
	for param := range params.Variables() {
		switch {
		case isNamed(param.Type(), "Context") && !made.context && !made.server:
			made.context = true
		case f.isOneOf(param.Type(), "*Server") && !made.server:
			made.server = true
		default:
			takes = false
		}
	}
	if !takes || pointer != "*"+f.place.receiver() || !IsError(results.At(1).Type()) {
		f.problem(decl.Name.Pos(), "New is called when the server starts, and has to be func New() (*%s, error), which may take a context and the *mcp.Server, in this order; what else it needs it finds itself, in the environment for instance", f.place.receiver())
		return
	}
	f.found.maker = made
}

func (f *finder) input(c *Component, name *ast.Ident, t types.Type) bool {
	s := &schemer{finder: f, at: name.Pos()}
	text, ok := s.root(t)
	if !ok {
		return false
	}
	if !IsObject(text) {
		f.problem(name.Pos(), "%s takes %s, whose schema is no object's; take a plain struct", name.Name, f.name(t))
		return false
	}
	c.Input, c.ownSchema = json.RawMessage(text), s.own
	if s.HasDefaults && !c.Kind.IsTool() {
		f.problem(name.Pos(), "the input of %s has defaults, which only tools have; fill them in in the function", name.Name)
	}
	if s.HasHeaders && !c.Kind.IsTool() {
		f.problem(name.Pos(), "the input of %s has headers, which only tools have; leave them out", name.Name)
	}
	if c.Kind == Resource || c.Kind == Prompt {
		f.texts(c, name, t)
	}
	if !c.Internal {
		f.described(t)
	}
	return true
}

// IsObject reports whether a schema is that of an object.
func IsObject(text string) bool {
	var document struct {
		Type any `json:"type"`
	}
	return json.Unmarshal([]byte(text), &document) == nil && document.Type == "object"
}

// texts checks that all fields of an input are text, which is all that prompts and resources are given.
func (f *finder) texts(c *Component, name *ast.Ident, t types.Type) {
	var document struct {
		Properties map[string]struct{ Type any }
	}
	if err := json.Unmarshal(c.Input, &document); err != nil {
		f.problem(name.Pos(), "reading the schema of %s again: %v", name.Name, err)
		return
	}
	for _, m := range JSONFields(t.Underlying().(*types.Struct), false) {
		if !isText(document.Properties[m.Key].Type) {
			at := name.Pos()
			if f.isOurs(m.Var) {
				at = m.Var.Pos()
			}
			f.problem(at, "%s is %s, and a %s is given text alone; make it a string, and read the text in the function", m.Var.Name(), f.name(m.Var.Type()), c.Kind)
		}
		c.arguments = append(c.arguments, m.Key)
	}
}

// isText reports whether the type that a schema names is text, or text or nothing.
func isText(t any) bool {
	list, ok := t.([]any)
	return t == "string" || ok && len(list) == 2 && list[0] == "string" && list[1] == "null"
}

// described warns of fields of an input that say nothing about themselves.
func (f *finder) described(t types.Type) {
	for _, m := range JSONFields(t.Underlying().(*types.Struct), false) {
		tag, err := schema.ParseTag(m.Tag)
		if field := f.field(m.Var.Pos()); err == nil && tag.Description == "" && field != nil && fieldText(field) == "" {
			f.warn(m.Var.Pos(), "the field %s has no comment; models fill it in by what that says", m.Var.Name())
		}
	}
}

func (f *finder) output(c *Component, name *ast.Ident, t types.Type) {
	s := &schemer{finder: f, at: name.Pos(), output: true}
	made, ok := s.root(t)
	if !ok {
		return
	}
	c.Output, c.ownSchema = json.RawMessage(made), c.ownSchema || s.own
}

// resource checks the address of a resource and what is read there.
func (f *finder) resource(c *Component, decl *ast.FuncDecl, in, out types.Type) {
	name := decl.Name.Name
	if c.URI == "" {
		f.problem(decl.Name.Pos(), "%s has no address; put one into its doc comment: //petrock:uri %s://{id}", name, strings.ReplaceAll(c.Name, "_", "-"))
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
		f.problem(decl.Name.Pos(), "the address %s has no variables, so %s takes nothing but a context; write a field as {name} into the address, or leave the input out", c.URI, name)
	case !slices.Equal(fields, sorted):
		f.problem(decl.Name.Pos(), "the address %s has the variables %s, and the input of %s the fields %s: they have to be the same", c.URI, listOr(sorted), name, listOr(fields))
	}
	f.contents(c, decl, out)
}

func (f *finder) contents(c *Component, decl *ast.FuncDecl, out types.Type) {
	mime := "application/json"
	switch {
	case f.isOneOf(out, "string"):
		mime = "text/plain"
	case f.isOneOf(out, "[]byte", "[]uint8"):
		mime = "application/octet-stream"
	case f.isOneOf(out, "ResourceContents", "*ResourceContents", "[]ResourceContents"):
		mime = ""
	default:
		s := &schemer{finder: f, at: decl.Name.Pos(), output: true}
		s.root(out)
		if c.MIMEType != "" && c.MIMEType != mime {
			f.problem(decl.Name.Pos(), "%s returns %s, which is sent as %s, and not as %s; return a string", decl.Name.Name, f.name(out), mime, c.MIMEType)
		}
	}
	if c.MIMEType == "" {
		c.MIMEType = mime
	}
}

func listOr(words []string) string {
	if len(words) == 0 {
		return "(none)"
	}
	return strings.Join(words, ", ")
}
