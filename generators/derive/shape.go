package derive

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/types"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/plumbing/transport"
	"github.com/petrock/petrock/core/plumbing/uritemplate"
	"github.com/petrock/petrock/core/strictjson"
)

// checkSignature checks the signature of a component and derives its schemas.
func (f *finder) checkSignature(c *Component, decl *ast.FuncDecl) {
	function := f.function(decl)
	want := signature{"context.Context T", "T error"}
	if c.Kind == Generator {
		want = signature{"gen.Project T", "gen.Draft error"}
	}
	var in types.Type // nil for a resource without variables
	hasInput := f.hasSignature(function, f.pkg, want)
	if hasInput {
		in = function.Signature().Params().At(1).Type()
		hasInput = isStruct(in) || isInvalid(in)
	}
	if !hasInput && (c.Kind != Resource || !f.hasSignature(function, f.pkg, signature{"context.Context", "T error"})) {
		f.problem(decl.Name.Pos(), "%s is exported but does not have the signature of a %s, func %[1]s%[3]s with a struct %[1]sInput; change it, unexport it, or put //petrock:ignore into its doc comment",
			decl.Name.Name, c.Kind, strings.Replace(want.String(), " T", " "+decl.Name.Name+"Input", 1))
		return
	}
	if in != nil && !f.setInput(c, decl.Name, in) {
		return
	}
	out := function.Signature().Results().At(0).Type()
	switch c.Kind {
	case Tool:
		if !f.isOneOf(out, "mcp.ToolResult", "*mcp.ToolResult") { // those have no schema
			f.setOutput(c, decl.Name, out)
		}
	case Resource:
		f.checkResource(c, decl, in, out)
	case Prompt:
		if !f.isOneOf(out, "string", "[]mcp.PromptMessage", "mcp.PromptResult", "*mcp.PromptResult") {
			f.problem(decl.Name.Pos(), "%s returns %s; a prompt returns string, []mcp.PromptMessage or *mcp.PromptResult", decl.Name.Name, f.name(out))
		}
	}
}

// function returns the function or method that a declaration declares, or nil if another one has
// its name.
func (f *finder) function(decl *ast.FuncDecl) *types.Func {
	object := f.pkg.Scope().Lookup(decl.Name.Name)
	if decl.Recv != nil {
		if object = f.pkg.Scope().Lookup(f.place.receiver()); object != nil {
			object, _, _ = types.LookupFieldOrMethod(object.Type(), true, f.pkg, decl.Name.Name)
		}
	}
	function, _ := object.(*types.Func)
	return function
}

func isInvalid(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Kind() == types.Invalid
}

// IsError reports whether a type is error.
func IsError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }

// isOneOf reports whether a type has one of the names.
func (f *finder) isOneOf(t types.Type, names ...string) bool {
	return slices.Contains(names, f.name(t))
}

func (f *finder) returnsDraft(decl *ast.FuncDecl) bool {
	function := f.function(decl)
	return function != nil && function.Signature().Results().Len() > 0 && f.isOneOf(function.Signature().Results().At(0).Type(), "gen.Draft")
}

func (f *finder) checkConstructor(decl *ast.FuncDecl) {
	for _, params := range []string{"", "context.Context", "*mcp.Server", "context.Context *mcp.Server"} {
		if f.hasSignature(f.function(decl), f.pkg, signature{params, "*" + f.place.receiver() + " error"}) {
			f.found.hasNew = true
			return
		}
	}
	f.problem(decl.Name.Pos(), "the server calls New at startup, so it must be func New() (*%s, error), optionally with a context and a *mcp.Server, in this order; read other settings from the environment", f.place.receiver())
}

// setInput derives the schema of the input. It returns false if the input has no valid schema,
// which it reports as a problem.
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
	if s.hasDefaults && !c.Kind.IsTool() {
		f.problem(name.Pos(), "the input of %s has defaults, which only tools support; set them in the function", name.Name)
	}
	switch headers, err := transport.HeaderArguments(c.Input); {
	case err != nil:
		f.problem(name.Pos(), "the input of %s: %v", name.Name, err)
	case len(headers) > 0 && !c.Kind.IsTool():
		f.problem(name.Pos(), "the input of %s has headers, which only tools support; remove them", name.Name)
	}
	if c.Kind == Resource || c.Kind == Prompt {
		f.checkStringFields(c, name, t)
	}
	return true
}

// IsObject reports whether a schema has the type object.
func IsObject(text string) bool {
	return string(strictjson.Member([]byte(text), "type")) == `"object"`
}

// checkStringFields checks that all fields are strings, as prompts and resources require.
func (f *finder) checkStringFields(c *Component, name *ast.Ident, t types.Type) {
	properties := strictjson.Member(c.Input, "properties")
	for _, m := range JSONFields(t.Underlying().(*types.Struct), false) {
		kind := string(strictjson.Member(strictjson.Member(properties, m.Key), "type"))
		if kind != `"string"` && kind != `["string","null"]` {
			f.problem(f.posOf(m.Var, name.Pos()), "%s is %s, and a %s supports only strings; make it a string, and parse it in the function", m.Var.Name(), f.name(m.Var.Type()), c.Kind)
		}
		c.arguments = append(c.arguments, m.Key)
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
	template, err := ParseURI(c.URI)
	if err != nil {
		f.problem(decl.Name.Pos(), "%s: %v", name, err)
		return
	}
	fields := slices.Sorted(slices.Values(c.arguments))
	sorted := slices.Sorted(slices.Values(template.Variables()))
	switch {
	case len(sorted) == 0 && in != nil:
		f.problem(decl.Name.Pos(), "the URI %s has no variables, so %s must not have an input; add a variable such as {name} to the URI, or remove the input", c.URI, name)
	case !slices.Equal(fields, sorted):
		f.problem(decl.Name.Pos(), "the URI %s has the variables (%s), but the input of %s has the fields (%s); they must match", c.URI, strings.Join(sorted, ", "), name, strings.Join(fields, ", "))
	}
	f.setMIMEType(c, decl, out)
}

// notInURI matches a character that neither a URI nor a template has.
var notInURI = regexp.MustCompile("[^!-~]|[\"<>\\\\^`|]")

// ParseURI parses the URI of a resource, or its URI template.
func ParseURI(text string) (*uritemplate.Template, error) {
	template, err := uritemplate.Parse(text)
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for _, name := range template.Required {
		values[name] = "x"
	}
	expanded, _ := template.Expand(values) // every variable has a value
	parsed, err := url.Parse(expanded)
	switch {
	case err != nil || notInURI.MatchString(text):
		return nil, fmt.Errorf("%q is not a URI; write one such as note://{id}", text)
	case parsed.Scheme == "":
		return nil, fmt.Errorf("the URI %q has no scheme; write one such as note://{id}", text)
	}
	return template, nil
}

func (f *finder) setMIMEType(c *Component, decl *ast.FuncDecl, out types.Type) {
	mime := "application/json"
	switch {
	case f.isOneOf(out, "string"):
		mime = "text/plain"
	case f.isOneOf(out, "[]byte", "[]uint8"):
		mime = "application/octet-stream"
	case f.isOneOf(out, "mcp.ResourceContents", "*mcp.ResourceContents", "[]mcp.ResourceContents"):
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
