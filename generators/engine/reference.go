package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/astutil"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// A reference names a function of the project: ./folder.Function or ./folder.Variable.Method.
type reference struct {
	dir  string   // folder of the package, relative to the project's root
	call []string // a function, or a variable and its method
}

// String returns the reference in its canonical form.
func (r reference) String() string { return asFolder(r.dir) + "." + strings.Join(r.call, ".") }

func asFolder(dir string) string { return "./" + strings.TrimPrefix(dir, ".") }

// resolveReference resolves a reference. The text begins with a folder relative to the project's root, or with
// the unique name or the import path of a package.
func (e *Engine) resolveReference(text string) (reference, error) {
	found := parseReference(text)
	if len(found) == 0 {
		return reference{}, fmt.Errorf("%q is not a function of the project; write ./folder.Function or ./folder.Variable.Method, with a folder relative to the project's root", gen.Shorten(text))
	}
	for _, r := range found {
		if len(e.before.Files(r.dir)) > 0 {
			return r, nil
		}
	}
	for _, r := range found {
		dirs := e.dirsNamed(r.dir)
		if strings.HasPrefix(text, ".") || len(dirs) == 0 {
			continue
		}
		if len(dirs) > 1 {
			var meant []string
			for _, dir := range dirs {
				meant = append(meant, reference{dir, r.call}.String())
			}
			return reference{}, fmt.Errorf("%q is ambiguous: %s", gen.Shorten(text), strings.Join(meant, " or "))
		}
		return reference{dirs[0], r.call}, nil
	}
	return reference{}, e.noFolderError(text, found[len(found)-1].dir)
}

// parseReference returns the possible meanings of a reference: the last name may be a function, or the last
// two a variable and its method.
func parseReference(text string) []reference {
	const maxLength = 1000
	text = strings.ReplaceAll(strings.TrimSpace(text), `\`, "/")
	if len(text) > maxLength {
		return nil
	}
	slash := strings.LastIndexByte(text, '/')
	words := strings.Split(text[slash+1:], ".")
	var found []reference
	for n := 1; n <= 2 && n < len(words); n++ {
		at := len(words) - n
		r := reference{path.Clean(text[:slash+1] + strings.Join(words[:at], ".")), words[at:]}
		if !slices.ContainsFunc(r.call, func(word string) bool { return !token.IsIdentifier(word) }) {
			found = append(found, r)
		}
	}
	return found
}

// dirsNamed returns the folders of packages whose name, folder name or import path is name.
func (e *Engine) dirsNamed(name string) []string {
	var dirs []string
	for _, dir := range e.before.Dirs() {
		if e.checker.ImportPath(dir) == name {
			return []string{dir}
		}
		if pkg := e.before.Package(dir, nil); pkg != nil && (pkg.Name == name || path.Base(dir) == name) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func (e *Engine) noFolderError(text, dir string) error {
	if path.IsAbs(dir) || dir == ".." || strings.HasPrefix(dir, "../") {
		return fmt.Errorf("%q is outside the project; write ./folder.Function, with a folder relative to the project's root", gen.Shorten(text))
	}
	if mod := e.otherModule(path.Join(dir, "x")); mod != "" {
		return fmt.Errorf("%q is in another module (%s); write a function in this module that calls it, and use that", gen.Shorten(text), mod)
	}
	if above, base := path.Split(dir); strings.Contains(base, ".") {
		base, _, _ = strings.Cut(base, ".")
		if near := path.Join(above, base); len(e.before.Files(near)) > 0 {
			return fmt.Errorf("%q: only a function, or a variable and its method, may follow the folder %s; wrap a longer expression in a function", gen.Shorten(text), near)
		}
	}
	others := e.userFolders()
	if len(others) == 0 {
		return fmt.Errorf("%q: folder %q has no Go files; write a package first", gen.Shorten(text), dir)
	}
	return fmt.Errorf("%q: folder %q has no Go files; the folders with Go files are %s", gen.Shorten(text), dir, joinFew(others))
}

// userFolders returns the folders of the user's packages that tools can import.
func (e *Engine) userFolders() []string {
	ours := []string{"cmd", "core", "generators", "prompts", "resources", "tools"}
	var found []string
	for _, dir := range e.before.Dirs() {
		first, _, _ := strings.Cut(dir, "/")
		pkg := e.before.Package(dir, nil)
		if slices.Contains(ours, first) || pkg == nil || len(pkg.Files) == 0 || pkg.Name == "main" || !typecheck.MayImport(e.toolsPath(), e.checker.ImportPath(dir)) {
			continue
		}
		found = append(found, asFolder(dir))
	}
	return found
}

// findFunction returns the function or method that a reference names in a package.
func findFunction(ref reference, pkg *types.Package) (types.Object, error) {
	name := ref.call[0]
	object := pkg.Scope().Lookup(name)
	switch {
	case object == nil:
		return nil, absentError(ref, pkg)
	case !object.Exported():
		return nil, fmt.Errorf("%q: %s is not exported, so package tools cannot call it; export it", ref, name)
	}
	if _, is := object.(*types.TypeName); is {
		return nil, fmt.Errorf("%q: %s is a type, and methods are called on variables; name a variable of the package, ./folder.Variable.Method, or write a function that creates a %[2]s and calls the method", ref, name)
	}
	if len(ref.call) == 1 {
		if isFunction(object) {
			return object, nil
		}
		if methods := methodsOf(ref, object); len(methods) > 0 {
			return nil, fmt.Errorf("%q: %s is not a function; name one of its methods: %s", ref, name, joinFew(methods))
		}
		return nil, fmt.Errorf("%q: %s is not a function and has no methods; %s", ref, name, suggestFunctions(ref, pkg))
	}
	_, addressable := object.(*types.Var)
	method, _, _ := types.LookupFieldOrMethod(object.Type(), addressable, pkg, ref.call[1])
	if method != nil && method.Exported() && isFunction(method) {
		return method, nil
	}
	if methods := methodsOf(ref, object); len(methods) > 0 {
		return nil, fmt.Errorf("%q: %s has no exported method %s; it has %s", ref, name, ref.call[1], joinFew(methods))
	}
	return nil, fmt.Errorf("%q: %s has no exported methods; %s", ref, name, suggestFunctions(ref, pkg))
}

func isFunction(object types.Object) bool {
	_, is := object.Type().Underlying().(*types.Signature)
	return is
}

// absentError reports that a package does not declare the name of a reference, and suggests others.
func absentError(ref reference, pkg *types.Package) error {
	for _, name := range pkg.Scope().Names() {
		if strings.EqualFold(name, ref.call[0]) && pkg.Scope().Lookup(name).Exported() {
			meant := reference{ref.dir, append([]string{name}, ref.call[1:]...)}
			return fmt.Errorf("%q: %s does not exist; did you mean %s?", ref, ref.call[0], meant)
		}
	}
	return fmt.Errorf("%q: %s does not exist; %s", ref, ref.call[0], suggestFunctions(ref, pkg))
}

// suggestFunctions lists the functions and methods of a package that a reference can name.
func suggestFunctions(ref reference, pkg *types.Package) string {
	var found []string
	for _, name := range pkg.Scope().Names() {
		object := pkg.Scope().Lookup(name)
		if _, is := object.(*types.TypeName); is || !object.Exported() {
			continue
		}
		if isFunction(object) {
			found = append(found, reference{ref.dir, []string{name}}.String())
		} else {
			found = append(found, methodsOf(ref, object)...)
		}
	}
	if len(found) == 0 {
		return "the package has no exported functions"
	}
	return "the package has " + joinFew(found)
}

func methodsOf(ref reference, object types.Object) []string {
	t := object.Type()
	_, pointer := t.Underlying().(*types.Pointer)
	if _, is := object.(*types.Var); is && !pointer && !types.IsInterface(t) {
		t = types.NewPointer(t)
	}
	var found []string
	for method := range types.NewMethodSet(t).Methods() {
		if method.Obj().Exported() {
			found = append(found, reference{ref.dir, []string{object.Name(), method.Obj().Name()}}.String())
		}
	}
	slices.Sort(found)
	return found
}

func joinFew(words []string) string {
	const maxListed = 8
	if len(words) > maxListed {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:maxListed], ", "), len(words)-maxListed)
	}
	return strings.Join(words, ", ")
}

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
	file := fileAt(e.before, object.Pos())
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
