package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/astutil"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

func writable(f *gen.Function, in string) error {
	for _, side := range []struct {
		list *types.Tuple
		name func(int) string
	}{{f.Signature.Params(), f.Parameter}, {f.Signature.Results(), f.Result}} {
		for i := range side.list.Len() {
			if why := unwritable(side.list.At(i).Type(), in); why != "" {
				return f.Errorf("%s %s", side.name(i), why)
			}
		}
	}
	return nil
}

// unwritable explains why a package cannot name a type; empty if it can. Types that JSON cannot
// represent are not checked.
func unwritable(t types.Type, in string) string {
	switch t := t.(type) {
	case *types.Alias:
		if t.Obj().Pkg() != nil && !t.Obj().Exported() {
			return unwritable(t.Rhs(), in) // it can be done without
		}
		if why := hidden(t.Obj(), in); why != "" {
			return why
		}
		return unwritableOf(t.TypeArgs(), in)
	case *types.Named:
		if why := hidden(t.Obj(), in); why != "" {
			return why
		}
		return unwritableOf(t.TypeArgs(), in)
	case *types.Map:
		if why := unwritable(t.Key(), in); why != "" {
			return why
		}
		return unwritable(t.Elem(), in)
	case interface{ Elem() types.Type }: // a pointer, a list, an array, a channel
		return unwritable(t.Elem(), in)
	case *types.Struct:
		for field := range t.Fields() {
			if !field.Exported() {
				return "has the field " + field.Name() + ", which is not exported"
			}
			if why := unwritable(field.Type(), in); why != "" {
				return why
			}
		}
	}
	return ""
}

func unwritableOf(list *types.TypeList, in string) string {
	for t := range list.Types() {
		if why := unwritable(t, in); why != "" {
			return why
		}
	}
	return ""
}

// hidden explains why a package cannot use the name of a type; empty if it can.
func hidden(name *types.TypeName, in string) string {
	switch pkg := name.Pkg(); {
	case pkg == nil: // it is Go's own
		return ""
	case !name.Exported():
		return "is made of " + pkg.Name() + "." + name.Name() + ", which is not exported"
	case pkg.Name() == "main" || !typecheck.MayImport(in, pkg.Path()):
		return "is made of " + pkg.Name() + "." + name.Name() + ", and the tools may not import " + pkg.Path()
	}
	return ""
}

// doc returns the doc comment of a declaration of the project, without directives; empty if it has
// none.
func (e *Engine) doc(object types.Object) string {
	place := e.before.Fset().File(object.Pos())
	if place == nil {
		return ""
	}
	file := e.before.File(place.Name())
	if file == nil {
		return ""
	}
	nodes, _ := astutil.PathEnclosingInterval(file.Syntax, object.Pos(), object.Pos())
	for _, node := range nodes { // from the innermost to the outermost
		switch node := node.(type) {
		case *ast.FuncDecl:
			return node.Doc.Text()
		case *ast.Field: // of an interface or a struct
			return node.Doc.Text()
		case *ast.ValueSpec:
			if node.Doc != nil {
				return node.Doc.Text()
			}
		case *ast.GenDecl: // a variable may have its comment above the keyword
			if len(node.Specs) == 1 {
				return node.Doc.Text()
			}
		}
	}
	return ""
}

// A mishap is an error that is not wrong usage.
type mishap struct{ error }

// function finds a function of the project to make a tool of. The error says why that is impossible.
func (e *Engine) function(ctx context.Context, text string) (*gen.Function, error) {
	ref, err := e.reference(text)
	if err != nil {
		return nil, err
	}
	place, _ := derive.PlaceOf(derive.Tool)
	if ref.dir == place.Dir {
		return nil, fmt.Errorf("%q is in the package of the tools, where exported functions of the right shape are tools already; see generators/docs/tools.md", ref)
	}
	pkg, err := e.compiled(ctx, ref.dir)
	if err != nil {
		return nil, err
	}
	if err := e.importable(ref, pkg); err != nil {
		return nil, err
	}
	object, err := find(ref, pkg)
	if err != nil {
		return nil, err
	}
	f := &gen.Function{
		Ref:       ref.String(),
		Path:      pkg.Path(),
		Package:   pkg.Name(),
		Call:      ref.call,
		Signature: object.Type().Underlying().(*types.Signature),
		Doc:       e.doc(object),
		Input:     func(t types.Type) (json.RawMessage, error) { return e.deriver.Schema(e.before, place, t, false) },
		Output:    func(t types.Type) (json.RawMessage, error) { return e.deriver.Schema(e.before, place, t, true) },
	}
	for _, file := range e.before.Files(place.Dir) {
		if !strings.HasSuffix(file.Syntax.Name.Name, "_test") {
			f.Taken = append(f.Taken, file.Names()...)
		}
	}
	if f.Signature.TypeParams() != nil {
		return nil, f.Errorf("it is generic, and a tool has to say for which types")
	}
	return f, writable(f, e.toolsPath())
}

func (e *Engine) toolsPath() string {
	place, _ := derive.PlaceOf(derive.Tool)
	return e.checker.ImportPath(place.Dir)
}

// compiled returns the package in a folder, which has to compile: or else a server with a tool that
// calls it would not.
func (e *Engine) compiled(ctx context.Context, dir string) (*types.Package, error) {
	pass, err := e.checker.NewPass(ctx, e.before, []string{dir}, typecheck.PassOptions{
		Skip:   (*typecheck.File).IsTest,
		Bodies: func(file *typecheck.File) bool { return file.Dir() == dir },
	})
	if err != nil {
		return nil, mishap{err}
	}
	pkg, wrong := pass.Package(dir)
	switch {
	case pass.Err() != nil:
		return nil, mishap{pass.Err()}
	case pkg == nil:
		return nil, fmt.Errorf("in %s there is no Go that a build takes, apart from tests", asFolder(dir))
	case len(wrong) > 0:
		return nil, &Refusal{
			Reason:      fmt.Sprintf("%s does not compile, and neither would a server with a tool of it:", asFolder(dir)),
			Diagnostics: wrong,
			WayOut:      "Mend that first. Nothing was changed.",
			before:      true,
		}
	}
	return pkg, nil
}

func (e *Engine) importable(ref reference, pkg *types.Package) error {
	tools := e.toolsPath()
	switch {
	case pkg.Name() == "main":
		return fmt.Errorf("%q is in a program, which no package can import; move the function to a package of its own", ref)
	case strings.HasPrefix(ref.dir+"/", "generators/"):
		return fmt.Errorf("%q is part of petrock, which servers do not link; copy what you need to a package of yours", ref)
	case !typecheck.MayImport(tools, pkg.Path()):
		return fmt.Errorf("%q is in a package that is internal to others, which the tools may not import; move the function, or write one beside that folder that calls it", ref)
	}
	if way := e.way(pkg, tools, map[string]bool{}); way != nil {
		return fmt.Errorf("%q is in a package that imports the tools itself (%s), so they cannot import it; move the function to another package", ref, strings.Join(way, " → "))
	}
	return nil
}

// way returns the import chain from a package to another, through packages of the project, or nil.
func (e *Engine) way(pkg *types.Package, other string, seen map[string]bool) []string {
	seen[pkg.Path()] = true
	if pkg.Path() == other {
		return []string{other}
	}
	for _, next := range pkg.Imports() {
		if seen[next.Path()] || !strings.HasPrefix(next.Path()+"/", e.checker.Module().Path+"/") {
			continue
		}
		if way := e.way(next, other, seen); way != nil {
			return append([]string{pkg.Path()}, way...)
		}
	}
	return nil
}

// declares returns the declarations of the file with the caller's body, without bodies, to show the
// names that the body can use. It is empty if no diagnostic is about that file.
func (p *plan) declares(found []typecheck.Diagnostic) string {
	if p.bodyFile == "" || !slices.ContainsFunc(found, func(d typecheck.Diagnostic) bool { return d.File == p.bodyFile }) {
		return ""
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, p.bodyFile, p.texts[p.bodyFile], parser.SkipObjectResolution)
	if err != nil {
		return ""
	}
	var parts []string
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			decl.Body = nil
		case *ast.GenDecl:
			if decl.Tok == token.IMPORT {
				continue
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				if field, ok := n.(*ast.Field); ok {
					field.Tag = nil
				}
				return true
			})
		}
		var out bytes.Buffer
		if printer.Fprint(&out, fset, decl) == nil {
			parts = append(parts, out.String())
		}
	}
	return strings.Join(parts, "\n")
}
