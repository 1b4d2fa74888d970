// Package derive derives code from plain Go: the registration of tools, resources, prompts and
// features, the JSON Schemas of their inputs and outputs, and the wiring of the server. The pages
// in generators/docs document the Go code and directives that it reads.
//
// A schema describes what encoding/json reads and writes. It equals the schema that [schema.Infer]
// infers by reflection, plus facts from source: comments are descriptions, and a type with
// constants is an enum. The methods JSONSchema and SchemaEnum do not run during derivation, so a
// type that has one needs the directive schema, or constants.
//
// Derived files are named *_gen.go and start with a generated-code line. They depend on the other
// files of their package, except tests and function bodies. The same source gives the same bytes.
// An exported function that is almost a component is an error, so that no component is missing
// silently.
package derive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/scanner"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// A Component is a tool, resource, prompt, generator, feature, command, query or worker.
type Component struct {
	Kind        Kind            `json:"kind"`                   // Kind of component
	Name        string          `json:"name"`                   // Name that clients use
	Title       string          `json:"title,omitempty"`        // Title for people
	Description string          `json:"description,omitempty"`  // Description for models
	Func        string          `json:"func,omitempty"`         // Go function, Type.Method, or the type of a command, query or worker
	File        string          `json:"file,omitempty"`         // Source file, from the project's root
	Line        int             `json:"line,omitempty"`         // Line in the source file
	URI         string          `json:"uri,omitempty"`          // URI or URI template of a resource
	MIMEType    string          `json:"mimeType,omitempty"`     // MIME type of a resource
	Input       json.RawMessage `json:"inputSchema,omitempty"`  // JSON Schema of the input
	Output      json.RawMessage `json:"outputSchema,omitempty"` // JSON Schema of the output
	Feature     string          `json:"feature,omitempty"`      // Feature that it belongs to
	EventType   string          `json:"eventType,omitempty"`    // Type of a command's events, such as posts/create
	Aliases     []string        `json:"aliases,omitempty"`      // Deprecated names of a tool, which clients can still call
	Internal    bool            `json:"internal,omitempty"`     // Whether the command or query is hidden from clients and only called from Go
	Retired     bool            `json:"retired,omitempty"`      // Whether the events of the command are replayed, but it is not a tool and cannot be executed
	Makes       []string        `json:"makes,omitempty"`        // Files of the components that a generator creates, such as macros/*.go

	arguments   []string // fields of the input of a prompt or resource
	ownSchema   bool     // a directive sets part of its schemas
	annotations *mcp.ToolAnnotations
	scopes      []string  // OAuth scopes that a call requires
	version     int       // of a command
	writes      int       // older version of the events and the input of a command; 0 means version
	triggers    []trigger // of a worker
	constructor string    // of a worker, as an expression
	fromStart   bool      // the worker starts at the first event of the log
	completer   string    // function, or Type.Method, that completes its arguments

	stored      contract.Shape // fields of a command's events
	oldVersions []oldVersion   // types of a command's older versions
}

// Tool returns the entry of a tool in tools/list.
func (c Component) Tool() mcp.Tool {
	return mcp.Tool{Name: c.Name, Title: c.Title, Description: c.Description, InputSchema: c.Input, OutputSchema: c.Output, Scopes: c.scopes, Annotations: c.annotations}
}

// WithAliases returns a tool and, for each of its deprecated names, the tool under that name.
func (c Component) WithAliases() []Component {
	all := []Component{c}
	for _, alias := range c.Aliases {
		old := c
		old.Name, old.Description, old.Aliases = alias, "Deprecated: use "+c.Name+". "+c.Description, nil
		all = append(all, old)
	}
	return all
}

// IsTool reports whether clients see the component as a tool.
func (c Component) IsTool() bool { return c.Kind.IsTool() && !c.isHidden() }

// isHidden reports whether clients do not see the component.
func (c Component) isHidden() bool { return c.Internal || c.Retired }

// Matches reports whether name is a name of the component: for clients, in Go, or in the event log.
func (c Component) Matches(name string) bool {
	if c.Kind == Feature {
		return c.Name == name
	}
	return c.Name == name || c.Func == name || slices.Contains(c.Aliases, name) || c.Name == strings.ReplaceAll(name, "-", "_") || strings.HasSuffix(c.Func, "."+name) ||
		c.Feature != "" && (name == c.Feature+"/"+c.localName() || name == c.Feature+"/"+gen.WireName(c.Func))
}

// method returns the name of the function or method, and whether it is a method.
func (c Component) method() (string, bool) {
	if _, name, isMethod := strings.Cut(c.Func, "."); isMethod {
		return name, true
	}
	return c.Func, false
}

// A Package is the result of deriving from a package.
type Package struct {
	Place
	Components []Component // sorted by name
	File       string      // path of the derived file
	Text       []byte      // its content; nil if the package has no components

	// Problems are errors. If there are any, the derived file does not change.
	Problems []typecheck.Diagnostic
	Warnings []typecheck.Diagnostic

	hasNew      bool // the package has func New, the constructor of the type whose methods are components
	completers  []completer
	hasMap      bool // the package has func Map
	mappers     []mapper
	oldVersions []oldVersion // types that may be older versions of commands
}

// A Project describes the project to derive from.
type Project struct {
	Name    string // of the project and its server
	Core    string // import path of core
	Checker *typecheck.Checker
}

// A finder finds the components of one package.
type finder struct {
	Project
	place Place
	view  *typecheck.View
	fset  *token.FileSet
	pkg   *types.Package
	found *Package

	structs []*types.Named // struct types in schemas

	scoped map[token.Pos]bool // positions of //petrock:scopes that apply to a component
}

// Packages derives from the packages in places. It returns one Package per place, empty if the
// folder does not exist. It does not read derived files of these places.
func (p Project) Packages(ctx context.Context, view *typecheck.View, places []Place) ([]*Package, error) {
	var dirs []string
	for _, place := range places {
		dirs = append(dirs, place.Dir)
	}
	pass, err := p.Checker.NewPass(ctx, view, dirs, typecheck.PassOptions{Skip: func(f *typecheck.File) bool {
		return f.IsTest() || f.IsDerived() && (slices.Contains(dirs, f.Dir()) || path.Dir(f.Dir()) == Features)
	}})
	if err != nil {
		return nil, err
	}
	var all []*Package
	for _, place := range places {
		f := p.newFinder(view, place)
		f.find(pass)
		all = append(all, f.found)
	}
	return all, pass.Err()
}

func (p Project) newFinder(view *typecheck.View, place Place) *finder {
	f := &finder{Project: p, place: place, view: view, fset: view.Fset(), scoped: map[token.Pos]bool{}}
	f.found = &Package{Place: place, File: place.derivedFile()}
	return f
}

func (f *finder) find(pass *typecheck.Pass) {
	var files []*typecheck.File
	if file := f.view.File(f.found.File); file != nil && !file.IsDerived() {
		f.addProblem(typecheck.Diagnostic{File: file.Path, Message: fmt.Sprintf("the name ends in _gen.go but the file has no line %q, so it is not a derived file; rename it, or remove it if petrock derived it", typecheck.DerivedMark+" …")})
		return
	}
	for _, file := range f.view.Files(f.place.Dir) {
		if file.IsTest() || file.IsDerived() {
			continue
		}
		files = append(files, file)
		var list scanner.ErrorList
		if errors.As(file.Err, &list) {
			f.addProblem(typecheck.Diagnostic{File: file.Path, Line: list[0].Pos.Line, Column: list[0].Pos.Column, Message: "syntax error: " + list[0].Msg})
		}
	}
	pkg, wrong := pass.Package(f.place.Dir)
	if pkg == nil || len(f.found.Problems) > 0 {
		return
	}
	f.pkg = pkg
	f.findComponents(files)
	f.linkCompleters()
	f.checkClashes()
	if len(f.found.Problems) > 0 {
		for _, d := range wrong { // may be the cause of the problems
			if !strings.HasPrefix(d.Message, "\t") {
				f.found.Problems = append(f.found.Problems, d)
			}
		}
		return
	}
	if len(f.found.Components) > 0 {
		var err error
		if f.found.Text, err = f.render(); err != nil {
			f.addProblem(typecheck.Diagnostic{File: f.found.File, Message: err.Error()})
		}
	}
}

func (f *finder) addProblem(d typecheck.Diagnostic) {
	d.Package = f.Checker.ImportPath(f.place.Dir)
	if !slices.Contains(f.found.Problems, d) {
		f.found.Problems = append(f.found.Problems, d)
	}
}

func (f *finder) problem(pos token.Pos, format string, args ...any) {
	f.addProblem(f.diagnostic(pos, format, args...))
}

func (f *finder) problemAt(file string, line int, format string, args ...any) {
	f.addProblem(typecheck.Diagnostic{File: file, Line: line, Message: fmt.Sprintf(format, args...)})
}

func (f *finder) diagnostic(pos token.Pos, format string, args ...any) typecheck.Diagnostic {
	at := f.fset.PositionFor(pos, false)
	return typecheck.Diagnostic{File: at.Filename, Line: at.Line, Column: at.Column, Message: fmt.Sprintf(format, args...), Package: f.Checker.ImportPath(f.place.Dir)}
}

func (f *finder) name(t types.Type) string { return f.nameIn(f.pkg, t) }

// nameIn returns a type as a package names it. Packages other than app, eventlog, mcp and gen have
// their paths.
func (f *finder) nameIn(pkg *types.Package, t types.Type) string {
	return types.TypeString(types.Unalias(t), func(p *types.Package) string {
		switch p.Path() {
		case pkg.Path():
			return ""
		case f.Core + "/app", f.Core + "/app/eventlog", f.Core + "/mcp", f.petrockPackage("generators/gen"):
			return p.Name()
		}
		return p.Path()
	})
}

// isThisPackage reports whether p is the package of f. Several values of p may stand for one
// package.
func (f *finder) isThisPackage(p *types.Package) bool { return p != nil && p.Path() == f.pkg.Path() }

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

const constrainedProblem = "%s is in a file with a build constraint, and a %s must be part of every build; move it to another file, or put //petrock:ignore into its doc comment"

func (f *finder) warnUndescribed(name *ast.Ident, kind Kind) {
	d := f.diagnostic(name.Pos(), "%s has no description, and %s choose a %s by it; write one in its doc comment: // %[1]s …", name.Name, gen.ChosenBy(string(kind)), kind)
	f.found.Warnings = append(f.found.Warnings, d)
}

func (f *finder) checkName(name string) error {
	switch f.place.Kind {
	case Tool, Prompt, Feature:
		return gen.CheckWireName(name, f.Name)
	case Generator:
		return gen.CheckGeneratorName(name)
	}
	return nil
}

func isConstrained(file *typecheck.File) bool {
	isConstraint := func(c *ast.Comment) bool { return constraint.IsGoBuild(c.Text) }
	return gen.HasBuildSuffix(path.Base(file.Path)) || slices.ContainsFunc(file.Syntax.Comments, func(group *ast.CommentGroup) bool {
		return group.Pos() < file.Syntax.Package && slices.ContainsFunc(group.List, isConstraint)
	})
}

// checkClashes sorts the components and refuses those with the same name or URI.
func (f *finder) checkClashes() {
	slices.SortStableFunc(f.found.Components, func(a, b Component) int { return strings.Compare(a.Name, b.Name) })
	keys := map[string]Component{}
	for _, c := range f.found.Components {
		if c.Kind == Feature || c.isHidden() {
			continue // clients do not see the name
		}
		reserved := []string{"app://log", "app://log{?}", "app://features", "app://workers"}
		if slices.Contains(reserved, withoutVariables(c.URI)) {
			f.problemAt(c.File, c.Line, "%s has the URI %s, which is reserved for a server with features; change it with //petrock:uri", c.Func, c.URI)
		}
		names := []string{"name " + c.Name, "URI " + c.URI}
		for _, alias := range c.Aliases {
			names = append(names, "name "+alias)
		}
		for _, key := range names {
			family := withoutVariables(key)
			other, taken := keys[family]
			if taken && key != "URI " {
				f.problemAt(c.File, c.Line, "%s has the %s, which %s in %s already has; change one of them with a directive", c.Func, key, other.Func, other.File)
			}
			keys[family] = c
		}
	}
	at := slices.IndexFunc(f.found.Components, func(c Component) bool { _, isMethod := c.method(); return isMethod })
	if at >= 0 && len(f.found.Problems) == 0 && f.place.Wired && !f.found.hasNew {
		c := f.found.Components[at]
		f.problemAt(c.File, c.Line, "%s is a method, and the package has no constructor of %s; write func New() (*%[2]s, error), which may take a context and the *mcp.Server", c.Func, f.place.receiver())
	}
}

var templateVariable = regexp.MustCompile(`\{([+?]?)[^{}]*\}`)

// withoutVariables returns a URI template without the names of its variables. Templates that differ
// only in them match the same URIs.
func withoutVariables(uri string) string {
	return templateVariable.ReplaceAllString(uri, "{$1}")
}

// declaration returns the innermost declaration of a type around a position, or nil if it is not in
// the project's source.
func declaration[N ast.Node](f *finder, pos token.Pos) N {
	return typecheck.Enclosing[N](f.view.FileAt(pos), pos)
}

// typeDoc returns the doc comment of a type: its own, or that of a declaration that declares no
// other type. It may be nil.
func (f *finder) typeDoc(pos token.Pos) *ast.CommentGroup {
	spec, group := declaration[*ast.TypeSpec](f, pos), declaration[*ast.GenDecl](f, pos)
	switch {
	case spec == nil || spec.Name.Pos() != pos:
		return nil
	case len(group.Specs) == 1 && spec.Doc == nil:
		return group.Doc
	}
	return spec.Doc
}
