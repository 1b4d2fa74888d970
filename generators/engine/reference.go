package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/types"
	"path"
	"strings"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// function returns the function of the project that text names, for a tool that calls it:
// ./folder.Function or ./folder.Variable.Method.
func (e *Engine) function(ctx context.Context, text string) (*gen.Function, error) {
	folder, last := path.Split(strings.TrimSpace(text))
	words := strings.Split(last, ".")
	dir, call := path.Clean(folder+words[0]), words[1:]
	if n := len(call); n != 1 && n != 2 || len(e.before.Files(dir)) == 0 {
		return nil, fmt.Errorf("%q is not a function of the project; write ./folder.Function or ./folder.Variable.Method, with the folder of a package of this module, relative to the project's root", gen.Shorten(text))
	}
	ref := asFolder(dir) + "." + strings.Join(call, ".")
	place, _ := derive.PlaceOf(derive.Tool)
	if dir == place.Dir {
		return nil, fmt.Errorf("%q is in the tools package, where exported functions with a tool signature are already tools; see generators/docs/tools.md", ref)
	}
	pkg, err := e.compilePackage(ctx, dir)
	if err != nil {
		return nil, err
	}
	isPetrock := strings.HasPrefix(dir+"/", "generators/") // servers do not link it
	if isPetrock || pkg.Name() == "main" || !typecheck.MayImport(e.checker.ImportPath(place.Dir), pkg.Path()) {
		return nil, fmt.Errorf("%q: package tools may not import %s; move the function to another package", ref, pkg.Path())
	}
	object, err := findFunction(ref, call, pkg)
	if err != nil {
		return nil, err
	}
	f := &gen.Function{
		Ref:       ref,
		Path:      pkg.Path(),
		Package:   pkg.Name(),
		Call:      call,
		Signature: object.Type().Underlying().(*types.Signature),
		Input:     func(t types.Type) (json.RawMessage, error) { return e.deriver.Schema(e.before, place, t, false) },
		Output:    func(t types.Type) (json.RawMessage, error) { return e.deriver.Schema(e.before, place, t, true) },
	}
	if file := e.before.FileAt(object.Pos()); file != nil {
		doc, _ := docAt(file, object.Pos())
		f.Doc = doc.Text()
	}
	for _, file := range e.before.Files(place.Dir) {
		if !strings.HasSuffix(file.Syntax.Name.Name, "_test") {
			f.Taken = append(f.Taken, file.Names()...)
		}
	}
	if f.Signature.TypeParams() != nil {
		return nil, f.Errorf("generic functions are not supported")
	}
	return f, nil
}

// findFunction returns the exported function or method that a reference names in a package.
func findFunction(ref string, call []string, pkg *types.Package) (types.Object, error) {
	isFunction := func(object types.Object) bool {
		_, isSignature := object.Type().Underlying().(*types.Signature)
		_, isType := object.(*types.TypeName)
		return isSignature && !isType && object.Exported()
	}
	object := pkg.Scope().Lookup(call[0])
	if _, isType := object.(*types.TypeName); object != nil && object.Exported() && !isType && len(call) == 2 {
		_, addressable := object.(*types.Var)
		object, _, _ = types.LookupFieldOrMethod(object.Type(), addressable, pkg, call[1])
	}
	if object != nil && isFunction(object) {
		return object, nil
	}
	var functions []string
	for _, name := range pkg.Scope().Names() {
		if isFunction(pkg.Scope().Lookup(name)) {
			functions = append(functions, name)
		}
	}
	return nil, fmt.Errorf("%q is neither an exported function nor a method of an exported variable; the functions of the package are %s", ref, cmp.Or(joinFew(functions), "none"))
}

// compilePackage type-checks the package in a folder, without tests. It refuses a package with
// errors.
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
			Reason:      fmt.Sprintf("%s does not compile:", asFolder(dir)),
			Diagnostics: errs,
			Remedy:      "Nothing was changed. Fix these errors first.",
			cause:       causeBefore,
		}
	}
	return pkg, nil
}

func asFolder(dir string) string { return "./" + strings.TrimPrefix(dir, ".") }
