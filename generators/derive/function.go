package derive

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/types"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/plumbing/transport"
	"github.com/petrock/petrock/core/plumbing/uritemplate"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// visitFunc adds a function or method that is a component, or reports its errors.
func (f *finder) visitFunc(file *typecheck.File, decl *ast.FuncDecl) {
	name := decl.Name.Name
	receiver := ""
	if decl.Recv != nil && len(decl.Recv.List) == 1 {
		receiver = strings.Trim(types.ExprString(decl.Recv.List[0].Type), "*()")
	}
	switch {
	case f.visitCompleter(decl, receiver):
		return
	case !decl.Name.IsExported(), decl.Recv != nil && receiver != f.place.receiver(), isIgnored(decl.Doc):
		return
	case f.place.Kind == Generator && receiver == "" && !f.returnsDraft(decl):
		return // other functions are allowed
	case isConstrained(file):
		f.problem(decl.Name.Pos(), constrainedProblem, name, f.place.Kind)
		return
	case f.function(decl) == nil:
		return // the compiler reports a declaration with the same name
	case receiver == "" && name == "New" && f.place.receiver() != "":
		f.checkConstructor(decl)
		return
	case name == f.place.derivedFunc():
		f.problem(decl.Name.Pos(), "%s is the name of a derived function; rename yours", name)
		return
	}
	c := Component{Kind: f.place.Kind, Func: name, Name: gen.WireName(name), File: file.Path, Line: f.fset.PositionFor(decl.Name.Pos(), false).Line}
	if receiver != "" {
		c.Func = receiver + "." + name
	}
	c.Description = describe(decl.Doc, name)
	f.applyDirectives(&c, directives(decl.Doc))
	if c.Description == "" {
		f.warnUndescribed(decl.Name, f.place.Kind)
	}
	if err := f.checkName(c.Name); err != nil {
		f.problem(decl.Name.Pos(), "%v", err)
		return
	}
	before := len(f.found.Problems)
	f.checkSignature(&c, decl)
	if len(f.found.Problems) == before {
		f.found.Components = append(f.found.Components, c)
	}
}

func isConstrained(file *typecheck.File) bool {
	isConstraint := func(c *ast.Comment) bool { return constraint.IsGoBuild(c.Text) }
	return gen.HasBuildSuffix(path.Base(file.Path)) || slices.ContainsFunc(file.Syntax.Comments, func(group *ast.CommentGroup) bool {
		return group.Pos() < file.Syntax.Package && slices.ContainsFunc(group.List, isConstraint)
	})
}

const constrainedProblem = "%s is in a file with a build constraint, and a %s must be part of every build; move it to another file, or put //petrock:ignore into its doc comment"

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
	f.problem(decl.Name.Pos(), "the server calls New at startup, so its parameters must be (), (context.Context), (*mcp.Server) or (context.Context, *mcp.Server), and its results (*%s, error); read other settings from the environment, or rename the function", f.place.receiver())
}

// requireConstructor refuses methods if the package has no constructor of their receiver.
func (f *finder) requireConstructor() {
	at := slices.IndexFunc(f.found.Components, func(c Component) bool { _, isMethod := c.method(); return isMethod })
	if at >= 0 && len(f.found.Problems) == 0 && f.place.Wired && !f.found.hasNew {
		c := f.found.Components[at]
		f.problemAt(c.File, c.Line, "%s is a method, and the package has no constructor of %s; write func New() (*%[2]s, error), which may take a context and the *mcp.Server", c.Func, f.place.receiver())
	}
}

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

// notInURI matches a character that neither a URI nor a template has.
var notInURI = regexp.MustCompile("[^!-~]|[\"<>\\\\^`|]")

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

func (f *finder) warnUndescribed(name *ast.Ident, kind Kind) {
	d := f.diagnostic(name.Pos(), "%s has no description, and %s choose a %s by it; write one in its doc comment: // %[1]s …", name.Name, gen.ChosenBy(string(kind)), kind)
	f.found.Warnings = append(f.found.Warnings, d)
}

// visitCompleter checks a function with the directive completes and reports whether it has one. The
// function need not be exported.
//
//	//petrock:completes greet
//	func completeGreet(
//		ctx context.Context, argument, prefix string, known map[string]string,
//	) ([]string, error)
func (f *finder) visitCompleter(decl *ast.FuncDecl, receiver string) bool {
	d, ok := findDirective("completes", decl.Doc)
	if !ok || f.place.Kind != Prompt && f.place.Kind != Resource || isIgnored(decl.Doc) {
		return false
	}
	name := decl.Name.Name
	switch function := f.function(decl); {
	case len(directives(decl.Doc)) > 1:
		f.problem(d.pos, "%s has //petrock:completes, which allows no other directive; remove the others", name)
	case d.text == "":
		f.problem(d.pos, "//petrock:completes needs the name of a %s", f.place.Kind)
	case decl.Recv != nil && receiver != f.place.receiver():
		f.problem(decl.Name.Pos(), "%s is a method of %s; make it a function, or a method of %s", name, receiver, f.place.receiver())
	case function == nil || !f.hasSignature(function, f.pkg, completerSignature()):
		f.problem(decl.Name.Pos(), "%s does not have the signature of a completer, func %[1]s%s; change it, or remove //petrock:completes", name, completerSignature())
	default:
		c := completer{function: name, of: d.text, pos: d.pos}
		if receiver != "" {
			c.function = receiver + "." + name
		}
		f.found.completers = append(f.found.completers, c)
	}
	return true
}

func completerSignature() signature {
	return signature{"context.Context string string map[string]string", "[]string error"}
}

func (f *finder) linkCompleters() {
	for _, completer := range f.found.completers {
		at := slices.IndexFunc(f.found.Components, func(c Component) bool { return c.Name == completer.of })
		if at < 0 {
			f.problem(completer.pos, "%s completes %q, but the package has no such %s", completer.function, completer.of, f.place.Kind)
			continue
		}
		c := &f.found.Components[at]
		_, method := c.method()
		switch {
		case len(c.arguments) == 0:
			f.problem(completer.pos, "%s completes %s, which has no arguments", completer.function, c.Name)
		case c.completer != "":
			f.problem(completer.pos, "%s completes %s, which %s already completes; remove one", completer.function, c.Name, c.completer)
		case strings.Contains(completer.function, ".") && !method:
			f.problem(completer.pos, "%s is a method, but completes %s, which is a function; make both methods or both functions", completer.function, c.Name)
		default:
			c.completer = completer.function
		}
	}
}

// checkMethod checks the receiver and signature of a method of a command or query.
func (f *finder) checkMethod(c *Component, name *ast.Ident, t *types.Named, m *types.Func) bool {
	pos := f.posOf(m, name.Pos())
	switch {
	case !f.hasSignature(m, t.Obj().Pkg(), methodSignature(m.Name())):
		f.problem(pos, wrongSignature, m.Name(), name.Name, c.Kind, wantedMethod(name.Name, m.Name()), orIgnore)
		return false
	case !hasValueReceiver(t, m.Name()):
		f.problem(pos, "%s of %s has a pointer receiver, but a %s needs a value receiver: %s", m.Name(), name.Name, c.Kind, wantedMethod(name.Name, m.Name()))
		return false
	}
	return true
}

const wrongSignature = "the method %s of %s does not have the signature of a %s: %s; change it, %s"

const orIgnore = "or put //petrock:ignore into the doc comment of the type or of the method"

// methods are the methods of commands, queries and workers, with their signatures.
var methods = map[string]struct {
	kind Kind
	signature
}{
	"Check":  {Command, signature{"context.Context *State", "error"}},
	"Apply":  {Command, signature{"*State app.Event", "T"}},
	"Answer": {Query, signature{"context.Context *State", "T error"}},
	"Every":  {Worker, signature{"context.Context", "error"}},
}

// kindByMethod returns the kind of a type with a method.
func kindByMethod(name string) (Kind, bool) {
	if m, ok := methods[name]; ok {
		return m.kind, true
	}
	return Worker, triggerMethod.MatchString(name)
}

var triggerMethod = regexp.MustCompile(`^On(\P{Ll}|$)`) // OnCreate, but not Once

// methodSignature returns the signature of a method of a command, query or worker.
func methodSignature(name string) signature {
	if m, ok := methods[name]; ok {
		return m.signature
	}
	return signature{"context.Context T app.Event", "error"} // OnCreate
}

func wantedMethod(name, method string) string {
	if kind, _ := kindByMethod(method); kind == Worker {
		name = "*" + name
	}
	return fmt.Sprintf("func (%s) %s%s", name, method, methodSignature(method))
}

// A signature is the types of parameters and results, separated by spaces. T is any type.
type signature struct{ params, results string }

// String returns the signature as Go writes it.
func (s signature) String() string {
	params, results := strings.ReplaceAll(s.params, " ", ", "), strings.ReplaceAll(s.results, " ", ", ")
	if strings.Contains(results, ",") {
		results = "(" + results + ")"
	}
	return "(" + params + ") " + results
}

// hasSignature reports whether a function has a signature, with types as a package names them.
func (f *finder) hasSignature(function *types.Func, pkg *types.Package, want signature) bool {
	are := func(tuple *types.Tuple, names []string) bool {
		for i, name := range names {
			if tuple.Len() != len(names) || name != "T" && name != f.nameIn(pkg, tuple.At(i).Type()) {
				return false
			}
		}
		return tuple.Len() == len(names)
	}
	s := function.Signature()
	return s.TypeParams() == nil && !s.Variadic() && are(s.Params(), strings.Fields(want.params)) && are(s.Results(), strings.Fields(want.results))
}

// isOneOf reports whether a type has one of the names.
func (f *finder) isOneOf(t types.Type, names ...string) bool {
	return slices.Contains(names, f.name(t))
}

// IsContext reports whether a type is context.Context.
func IsContext(t types.Type) bool { return typecheck.IsType(t, "context", "Context") }

// IsError reports whether a type is error.
func IsError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }
