// Package derive makes of plain Go what a server needs besides: the registration of tools,
// resources, prompts and features, the JSON Schema of what they take and return, and the wiring of
// the program that ships. The pages in generators/docs say which Go that is, and which
// directives doc comments may have.
//
// A schema describes what encoding/json reads and writes. It is the one that [schema.Infer] infers
// by reflection, with what only source has: comments are descriptions, and a type with constants is
// an enum of them. The methods JSONSchema and SchemaEnum do not run when code is derived: a type
// that has one needs the directive schema, or constants.
//
// Derived files are called *_gen.go and begin with a line that says so. They are made of the other
// files of their package, without the bodies of functions and without tests. The same source gives
// the same bytes. What is nearly a component is an error, so that none is missing without a word.
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

// A Component is one thing that a package offers.
type Component struct {
	Kind        Kind            `json:"kind"`                   // What it is
	Name        string          `json:"name"`                   // What clients call it
	Title       string          `json:"title,omitempty"`        // What people are shown
	Description string          `json:"description,omitempty"`  // What it is for
	Func        string          `json:"func"`                   // The Go function, or Type.Method, or the type of a part of a feature
	File        string          `json:"file"`                   // Where it is written, from the project's root
	Line        int             `json:"line"`                   // In that file
	URI         string          `json:"uri,omitempty"`          // Of a resource, maybe with variables
	MIMEType    string          `json:"mimeType,omitempty"`     // Of a resource
	Input       json.RawMessage `json:"inputSchema,omitempty"`  // Schema of what it takes
	Output      json.RawMessage `json:"outputSchema,omitempty"` // Schema of what it returns
	Feature     string          `json:"feature,omitempty"`      // The feature that it belongs to
	EventType   string          `json:"eventType,omitempty"`    // Of a command: the type of its events, such as posts/create
	Internal    bool            `json:"internal,omitempty"`     // It is a command or query that is no tool, which only Go code executes

	arguments []string // the fields of the input of a prompt or resource
	ownSchema bool     // a directive gives a part of its schemas
	hints     []hint
	scopes    []string // what a caller must be allowed
	version   int      // of a command
	duties    []duty   // of a worker
	fromStart bool     // a worker begins with the first event of the log
	completer string   // the function, or Type.Method, that completes its arguments

	stored contract.Shape // of a command: what its events hold
	olders []older        // of a command: the types of its older versions
}

// Tool is what clients are told of a tool.
func (c Component) Tool() mcp.Tool {
	t := mcp.Tool{Name: c.Name, Title: c.Title, Description: c.Description, InputSchema: c.Input, OutputSchema: c.Output, Scopes: c.scopes}
	if len(c.hints) == 0 {
		return t
	}
	t.Annotations = &mcp.ToolAnnotations{}
	for _, h := range c.hints {
		value := h.value
		switch h.field {
		case "ReadOnlyHint":
			t.Annotations.ReadOnlyHint = &value
		case "DestructiveHint":
			t.Annotations.DestructiveHint = &value
		case "IdempotentHint":
			t.Annotations.IdempotentHint = &value
		case "OpenWorldHint":
			t.Annotations.OpenWorldHint = &value
		}
	}
	return t
}

// IsTool reports whether clients see the component as a tool.
func (c Component) IsTool() bool { return c.Kind.IsTool() && !c.Internal }

// IsCalled reports whether a name means the component: the one that clients have for it, or Go, or the log.
func (c Component) IsCalled(name string) bool {
	if c.Kind == Feature {
		return c.Name == name
	}
	return c.Name == name || c.Func == name || c.Name == strings.ReplaceAll(name, "-", "_") || strings.HasSuffix(c.Func, "."+name) ||
		c.Feature != "" && name == c.Feature+"/"+c.local()
}

// method is the name of the function or method, and whether it is a method.
func (c Component) method() (string, bool) {
	if _, name, is := strings.Cut(c.Func, "."); is {
		return name, true
	}
	return c.Func, false
}

// A Package is what was derived from one.
type Package struct {
	Place
	Components []Component // sorted by name
	File       string      // the path of the derived file
	Text       []byte      // what it holds; nil if there are no components, and none is needed

	// Problems are why nothing could be derived: the derived file stays as it is.
	Problems []typecheck.Diagnostic
	// Warnings are what had better be otherwise.
	Warnings []typecheck.Diagnostic

	maker      maker
	completers []completer
	begins     map[string]begin // how workers are made, by their types
	maps       bool             // there is a func Map
	olders     []older          // types that may be older versions of commands
}

// A maker is how the type whose methods are components is made.
type maker struct {
	known   bool // there is a func New
	context bool // that takes a context
	server  bool // that takes the server, after it
}

// A Project is what deriving has to know of it.
type Project struct {
	Name    string // of the project, and of its server's program
	Core    string // the import path of core
	Checker *typecheck.Checker
}

// A finder finds the components of one package.
type finder struct {
	Project
	place  Place
	view   *typecheck.View
	fset   *token.FileSet
	pkg    *types.Package
	found  *Package
	fields map[*typecheck.File]map[token.Pos]ast.Node // declarations by the place of their name

	constants map[*types.Package]map[*types.TypeName][]*types.Const // by their type
}

// Packages derives from the packages in places, those that are there, without their derived files.
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
		f := p.finder(view, place)
		f.find(pass)
		all = append(all, f.found)
	}
	return all, pass.Err()
}

func (p Project) finder(view *typecheck.View, place Place) *finder {
	f := &finder{Project: p, place: place, view: view, fset: view.Fset()}
	f.fields = map[*typecheck.File]map[token.Pos]ast.Node{}
	f.constants = map[*types.Package]map[*types.TypeName][]*types.Const{}
	f.found = &Package{Place: place, File: place.derived()}
	return f
}

func (f *finder) find(pass *typecheck.Pass) {
	var files []*typecheck.File
	if file := f.view.File(f.found.File); file != nil && !file.IsDerived() {
		f.refuse(typecheck.Diagnostic{File: file.Path, Message: fmt.Sprintf("it has the name of a derived file, and no line %q; rename it, or remove it if it was derived", typecheck.DerivedMark+" …")})
		return
	}
	for _, file := range f.view.Files(f.place.Dir) {
		if file.IsTest() || file.IsDerived() {
			continue
		}
		files = append(files, file)
		var list scanner.ErrorList
		if errors.As(file.Err, &list) {
			f.refuse(typecheck.Diagnostic{File: file.Path, Line: list[0].Pos.Line, Column: list[0].Pos.Column, Message: "syntax error: " + list[0].Msg})
		}
	}
	pkg, wrong := pass.Package(f.place.Dir)
	if pkg == nil || len(f.found.Problems) > 0 {
		return
	}
	f.pkg = pkg
	f.components(files)
	f.complete()
	f.clashes()
	if len(f.found.Problems) > 0 {
		for _, d := range wrong { // the problems may have come of it
			if !strings.HasPrefix(d.Message, "\t") {
				f.found.Problems = append(f.found.Problems, d)
			}
		}
		return
	}
	if len(f.found.Components) > 0 {
		var err error
		if f.found.Text, err = f.render(); err != nil {
			f.refuse(typecheck.Diagnostic{File: f.found.File, Message: err.Error()})
		}
	}
}

func (f *finder) refuse(d typecheck.Diagnostic) {
	d.Package = f.Checker.ImportPath(f.place.Dir)
	if !slices.Contains(f.found.Problems, d) {
		f.found.Problems = append(f.found.Problems, d)
	}
}

func (f *finder) problem(pos token.Pos, format string, args ...any) {
	f.refuse(f.diagnostic(pos, format, args...))
}

func (f *finder) problemAt(file string, line int, format string, args ...any) {
	f.refuse(typecheck.Diagnostic{File: file, Line: line, Message: fmt.Sprintf(format, args...)})
}

func (f *finder) warn(pos token.Pos, format string, args ...any) {
	if d := f.diagnostic(pos, format, args...); !slices.Contains(f.found.Warnings, d) {
		f.found.Warnings = append(f.found.Warnings, d)
	}
}

func (f *finder) diagnostic(pos token.Pos, format string, args ...any) typecheck.Diagnostic {
	at := f.fset.PositionFor(pos, false)
	return typecheck.Diagnostic{File: at.Filename, Line: at.Line, Column: at.Column, Message: fmt.Sprintf(format, args...), Package: f.Checker.ImportPath(f.place.Dir)}
}

func (f *finder) name(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if f.isHere(p) {
			return ""
		}
		return p.Path()
	})
}

// isHere reports whether a package is the one in hand, of which there may be several values.
func (f *finder) isHere(p *types.Package) bool { return p != nil && p.Path() == f.pkg.Path() }

// function looks at a function or method: is it a component, and a good one?
func (f *finder) function(file *typecheck.File, decl *ast.FuncDecl) {
	name := decl.Name.Name
	receiver := ""
	if decl.Recv != nil && len(decl.Recv.List) == 1 {
		receiver = receiverName(decl.Recv.List[0].Type)
	}
	switch {
	case f.completes(decl, receiver):
		return
	case !decl.Name.IsExported(), decl.Recv != nil && receiver != f.place.receiver(), ignored(decl.Doc):
		return
	case receiver == "" && name == "New" && f.place.receiver() != "":
		f.maker(decl)
		return
	case f.place.Kind == Generator && receiver == "" && !f.makesDraft(decl):
		return // the package has other functions too
	case constrained(file):
		f.problem(decl.Name.Pos(), "%s is in a file that not every build takes, and a %s has to be in all of them; move it to another file, and let it call what differs, or put //petrock:ignore into its doc comment", name, f.place.Kind)
		return
	case name == f.place.offer():
		f.problem(decl.Name.Pos(), "%s is the name of what is derived; call the function otherwise", name)
		return
	}
	c := Component{Kind: f.place.Kind, Func: name, Name: gen.WireName(name), File: file.Path, Line: f.fset.PositionFor(decl.Name.Pos(), false).Line}
	if receiver != "" {
		c.Func = receiver + "." + name
	}
	c.Description = describe(decl.Doc, name)
	f.direct(&c, directives(decl.Doc))
	if c.Description == "" {
		f.warn(decl.Name.Pos(), "%s has no doc comment; models choose by what it says", name)
	}
	if err := f.checkName(c.Name); err != nil {
		f.problem(decl.Name.Pos(), "%v", err)
		return
	}
	before := len(f.found.Problems)
	f.shape(&c, decl)
	if len(f.found.Problems) == before {
		f.found.Components = append(f.found.Components, c)
	}
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

func constrained(file *typecheck.File) bool {
	if gen.HasBuildSuffix(path.Base(file.Path)) {
		return true
	}
	for _, group := range file.Syntax.Comments {
		for _, comment := range group.List {
			if comment.Pos() < file.Syntax.Package && constraint.IsGoBuild(comment.Text) {
				return true
			}
		}
	}
	return false
}

func receiverName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverName(e.X)
	case *ast.ParenExpr:
		return receiverName(e.X)
	case *ast.IndexExpr:
		return receiverName(e.X)
	case *ast.IndexListExpr:
		return receiverName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// clashes finds components that clients would take for one, and sorts them.
func (f *finder) clashes() {
	slices.SortStableFunc(f.found.Components, func(a, b Component) int { return strings.Compare(a.Name, b.Name) })
	keys := map[string]Component{}
	for _, c := range f.found.Components {
		if c.Kind == Feature || c.Internal {
			continue // it is no tool, and may be called as one
		}
		if isKept(c.URI) {
			f.refuse(typecheck.Diagnostic{File: c.File, Line: c.Line, Message: fmt.Sprintf("%s has the address %s, at which a program with features shows its log, its features or its workers; give it another with a directive: //petrock:uri", c.Func, c.URI)})
		}
		for _, key := range []string{"name " + c.Name, "address " + c.URI} {
			family := withoutVariables(key)
			other, taken := keys[family]
			if taken && key != "address " {
				like := ""
				if other.URI != c.URI && family != key {
					like = ", as " + other.URI
				}
				f.refuse(typecheck.Diagnostic{File: c.File, Line: c.Line, Message: fmt.Sprintf("%s has the %s, and so has %s in %s%s; give one of them another with a directive", c.Func, key, other.Func, other.File, like)})
			}
			keys[family] = c
		}
	}
	at := slices.IndexFunc(f.found.Components, func(c Component) bool { _, is := c.method(); return is })
	if at >= 0 && len(f.found.Problems) == 0 && f.place.Wired && !f.found.maker.known {
		c := f.found.Components[at]
		f.problemAt(c.File, c.Line, "%s is a method, and nothing makes a %s; write func New() (*%[2]s, error), which may take a context and the *mcp.Server", c.Func, f.place.receiver())
	}
}

// withoutVariables is an address without the names of its variables: those that differ by them
// alone stand for the same resources.
func withoutVariables(address string) string {
	return regexp.MustCompile(`\{([+?]?)[^{}]*\}`).ReplaceAllString(address, "{$1}")
}

// isKept reports whether an address is that of a resource that comes with features.
func isKept(uri string) bool {
	return slices.Contains([]string{"app://log", "app://log{?}", "app://features", "app://workers"}, withoutVariables(uri))
}

// fileOf is the file of the project that a place is in, nil if it is in none.
func (f *finder) fileOf(pos token.Pos) *typecheck.File {
	if file := f.fset.File(pos); file != nil {
		return f.view.File(file.Name())
	}
	return nil
}

func (f *finder) declaration(pos token.Pos) ast.Node {
	file := f.fileOf(pos)
	if file == nil {
		return nil
	}
	index, ok := f.fields[file]
	if !ok {
		index = map[token.Pos]ast.Node{}
		ast.Inspect(file.Syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BlockStmt:
				return false // what is in a function is nobody else's business
			case *ast.GenDecl:
				if len(n.Specs) == 1 && n.Doc != nil {
					if spec, ok := n.Specs[0].(*ast.TypeSpec); ok && spec.Doc == nil {
						index[-spec.Name.Pos()] = n
					}
				}
			case *ast.TypeSpec:
				index[n.Name.Pos()] = n
			case *ast.FuncDecl:
				index[n.Name.Pos()] = n
			case *ast.ValueSpec:
				for _, name := range n.Names {
					index[name.Pos()] = n
				}
			case *ast.Field:
				for _, name := range n.Names {
					index[name.Pos()] = n
				}
				if len(n.Names) == 0 {
					index[embeddedPos(n.Type)] = n
				}
			}
			return true
		})
		f.fields[file] = index
	}
	return index[pos]
}

// embeddedPos is where go/types says that an embedded field is.
func embeddedPos(e ast.Expr) token.Pos {
	switch e := e.(type) {
	case *ast.StarExpr:
		return embeddedPos(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Pos()
	case *ast.IndexExpr:
		return embeddedPos(e.X)
	case *ast.IndexListExpr:
		return embeddedPos(e.X)
	}
	return e.Pos()
}

// field is the declaration of a struct's field, nil if it is not in the project's source.
func (f *finder) field(pos token.Pos) *ast.Field {
	field, _ := f.declaration(pos).(*ast.Field)
	return field
}

func (f *finder) typeDocs(pos token.Pos) []*ast.CommentGroup {
	spec, ok := f.declaration(pos).(*ast.TypeSpec)
	if !ok {
		return nil
	}
	docs := []*ast.CommentGroup{spec.Doc}
	if group, ok := f.fields[f.fileOf(pos)][-pos].(*ast.GenDecl); ok {
		docs = append(docs, group.Doc)
	}
	return docs
}
