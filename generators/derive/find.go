package derive

import (
	"context"
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

	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// A Project is what deriving has to know of it.
type Project struct {
	Name    string // of the project, and of its server's program
	Core    string // the import path of core
	Checker *typecheck.Checker
	OAuth   bool // its server checks OAuth bearer tokens
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

// finder is one for the package in a place.
func (p Project) finder(view *typecheck.View, place Place) *finder {
	f := &finder{Project: p, place: place, view: view, fset: view.Fset()}
	f.fields = map[*typecheck.File]map[token.Pos]ast.Node{}
	f.constants = map[*types.Package]map[*types.TypeName][]*types.Const{}
	f.found = &Package{Place: place, File: place.derived()}
	return f
}

// find derives from the package.
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
		f.found.Problems = append(f.found.Problems, exposed(wrong)...)
		return
	}
	if len(f.found.Components) > 0 {
		var err error
		if f.found.Text, err = f.render(); err != nil {
			f.refuse(typecheck.Diagnostic{File: f.found.File, Message: err.Error()})
		}
	}
}

// exposed adds what the compiler says of a package to the problems that may have come of it.
func exposed(wrong []typecheck.Diagnostic) []typecheck.Diagnostic {
	return slices.DeleteFunc(slices.Clone(wrong), func(d typecheck.Diagnostic) bool { return strings.HasPrefix(d.Message, "\t") })
}

// refuse notes why nothing can be derived.
func (f *finder) refuse(d typecheck.Diagnostic) {
	d.Package = f.Checker.ImportPath(f.place.Dir)
	if !slices.Contains(f.found.Problems, d) {
		f.found.Problems = append(f.found.Problems, d)
	}
}

func (f *finder) problem(pos token.Pos, format string, args ...any) {
	f.refuse(f.diagnostic(pos, format, args...))
}

// problemAt is problem for what is known by its file and line.
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

// name is a type as one writes it in the package.
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

// checkName says why clients would not take the name of a component.
func (f *finder) checkName(name string) error {
	switch f.place.Kind {
	case Tool, Prompt, Feature:
		return gen.CheckWireName(name, f.Name)
	case Generator:
		return gen.CheckGeneratorName(name)
	}
	return nil
}

// constrained reports whether not every build takes a file.
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

// receiverName is the name of the type that a method is of.
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
	if len(f.found.Problems) == 0 && slices.ContainsFunc(f.found.Components, func(c Component) bool { _, is := c.method(); return is }) && f.place.Wired && !f.found.maker.known {
		c := f.found.Components[slices.IndexFunc(f.found.Components, func(c Component) bool { _, is := c.method(); return is })]
		f.refuse(typecheck.Diagnostic{File: c.File, Line: c.Line, Message: fmt.Sprintf("%s is a method, and nothing makes a %s; write func New() (*%[2]s, error), which may take a context and the *mcp.Server", c.Func, f.place.receiver())})
	}
}

// withoutVariables is an address without the names of its variables: those that differ by them
// alone stand for the same resources.
func withoutVariables(address string) string {
	return regexp.MustCompile(`\{([+?]?)[^{}]*\}`).ReplaceAllString(address, "{$1}")
}

// isKept reports whether an address is that of a resource that comes with features.
func isKept(uri string) bool {
	switch withoutVariables(uri) {
	case "app://log", "app://log{?}", "app://features", "app://workers":
		return true
	}
	return false
}

// fileOf is the file of the project that a place is in, nil if it is in none.
func (f *finder) fileOf(pos token.Pos) *typecheck.File {
	if file := f.fset.File(pos); file != nil {
		return f.view.File(file.Name())
	}
	return nil
}

// declaration is what declares the name at a place.
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

// typeDocs are the doc comments of a type.
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
