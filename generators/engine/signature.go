package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ast/astutil"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// checkTypes refuses a function whose parameters or results have types that package importer cannot name.
func checkTypes(f *gen.Function, importer string) error {
	for i := range f.Signature.Params().Len() {
		if reason := whyUnusable(f.Signature.Params().At(i).Type(), importer); reason != "" {
			return f.Errorf("%s %s", f.Parameter(i), reason)
		}
	}
	for i := range f.Signature.Results().Len() {
		if reason := whyUnusable(f.Signature.Results().At(i).Type(), importer); reason != "" {
			return f.Errorf("%s %s", f.Result(i), reason)
		}
	}
	return nil
}

// whyUnusable returns why package importer cannot name a type, or "" if it can. It does not check whether
// JSON can represent the type.
func whyUnusable(t types.Type, importer string) string {
	if alias, ok := t.(*types.Alias); ok && alias.Obj().Pkg() != nil && !alias.Obj().Exported() {
		return whyUnusable(alias.Rhs(), importer) // the tool can use the aliased type
	}
	switch t := t.(type) {
	case interface { // a named type or an alias
		Obj() *types.TypeName
		TypeArgs() *types.TypeList
	}:
		if reason := whyInaccessible(t.Obj(), importer); reason != "" {
			return reason
		}
		for argument := range t.TypeArgs().Types() {
			if reason := whyUnusable(argument, importer); reason != "" {
				return reason
			}
		}
	case *types.Map:
		return cmp.Or(whyUnusable(t.Key(), importer), whyUnusable(t.Elem(), importer))
	case interface{ Elem() types.Type }: // a pointer, slice, array or channel
		return whyUnusable(t.Elem(), importer)
	case *types.Struct:
		for field := range t.Fields() {
			if !field.Exported() {
				return "has the field " + field.Name() + ", which is not exported"
			}
			if reason := whyUnusable(field.Type(), importer); reason != "" {
				return reason
			}
		}
	}
	return ""
}

// whyInaccessible returns why package importer cannot use the name of a type, or "" if it can.
func whyInaccessible(name *types.TypeName, importer string) string {
	switch pkg := name.Pkg(); {
	case pkg == nil: // predeclared
		return ""
	case !name.Exported():
		return "uses " + pkg.Name() + "." + name.Name() + ", which is not exported"
	case pkg.Name() == "main" || !typecheck.MayImport(importer, pkg.Path()):
		return "uses " + pkg.Name() + "." + name.Name() + ", and package tools may not import " + pkg.Path()
	}
	return ""
}

// doc returns the doc comment of a declaration of the project, without directives.
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

func (e *Engine) function(ctx context.Context, text string) (*gen.Function, error) {
	ref, err := e.resolveReference(text)
	if err != nil {
		return nil, err
	}
	place, _ := derive.PlaceOf(derive.Tool)
	if ref.dir == place.Dir {
		return nil, fmt.Errorf("%q is in the tools package, where exported functions with a tool signature are already tools; see generators/docs/tools.md", ref)
	}
	pkg, err := e.compilePackage(ctx, ref.dir)
	if err != nil {
		return nil, err
	}
	if err := e.checkImportable(ref, pkg); err != nil {
		return nil, err
	}
	object, err := findFunction(ref, pkg)
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
		return nil, f.Errorf("generic functions are not supported")
	}
	return f, checkTypes(f, e.toolsPath())
}

func (e *Engine) toolsPath() string {
	place, _ := derive.PlaceOf(derive.Tool)
	return e.checker.ImportPath(place.Dir)
}

// compilePackage type-checks the package in a folder, without tests. It refuses a package with errors.
func (e *Engine) compilePackage(ctx context.Context, dir string) (*types.Package, error) {
	pass, err := e.checker.NewPass(ctx, e.before, []string{dir}, typecheck.PassOptions{
		Skip:   (*typecheck.File).IsTest,
		Bodies: func(file *typecheck.File) bool { return file.Dir() == dir },
	})
	if err != nil {
		return nil, nonUsageError{err}
	}
	pkg, errs := pass.Package(dir)
	switch {
	case pass.Err() != nil:
		return nil, nonUsageError{pass.Err()}
	case pkg == nil:
		return nil, fmt.Errorf("%s has no Go files to build, except tests", asFolder(dir))
	case len(errs) > 0:
		return nil, &Refusal{
			Reason:        fmt.Sprintf("%s does not compile:", asFolder(dir)),
			Diagnostics:   errs,
			Remedy:        "Nothing was changed. Fix these errors first.",
			existedBefore: true,
		}
	}
	return pkg, nil
}

func (e *Engine) checkImportable(ref reference, pkg *types.Package) error {
	tools := e.toolsPath()
	switch {
	case pkg.Name() == "main":
		return fmt.Errorf("%q is in package main, which cannot be imported; move the function to another package", ref)
	case strings.HasPrefix(ref.dir+"/", "generators/"):
		return fmt.Errorf("%q is part of petrock, which servers do not link; copy the code to a package of yours", ref)
	case !typecheck.MayImport(tools, pkg.Path()):
		return fmt.Errorf("%q is in an internal package that package tools may not import; move the function, or call it from a function in a package that may import it, and use that", ref)
	}
	if chain := e.importChain(pkg, tools, map[string]bool{}); chain != nil {
		return fmt.Errorf("%q is in a package that imports package tools (%s), which would be an import cycle; move the function to another package", ref, strings.Join(chain, " → "))
	}
	return nil
}

// importChain returns the import chain from a package to another, through packages of the project, or nil.
func (e *Engine) importChain(pkg *types.Package, other string, seen map[string]bool) []string {
	seen[pkg.Path()] = true
	if pkg.Path() == other {
		return []string{other}
	}
	for _, next := range pkg.Imports() {
		if seen[next.Path()] || !strings.HasPrefix(next.Path()+"/", e.checker.Module().Path+"/") {
			continue
		}
		if chain := e.importChain(next, other, seen); chain != nil {
			return append([]string{pkg.Path()}, chain...)
		}
	}
	return nil
}
