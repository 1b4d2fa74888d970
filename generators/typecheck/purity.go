package typecheck

import (
	"context"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
)

// A PurityCheck finds code that makes replay of the event log non-deterministic. It follows Apply
// of commands, Upgrade of older versions, Map, functions with //petrock:map and NewState into all
// functions that they call.
type PurityCheck struct {
	Core    string // the import path of core
	Checker *Checker
}

// A PurityReport is the result of a [PurityCheck].
type PurityReport struct {
	Impure   []Diagnostic // code that makes replay non-deterministic
	Warnings []Diagnostic // code that may make replay non-deterministic
}

// Find checks the features in folders of a view, as far as they compile.
func (p PurityCheck) Find(ctx context.Context, view *View, dirs []string) (PurityReport, error) {
	if len(dirs) == 0 {
		return PurityReport{}, nil
	}
	pass, err := p.Checker.NewPass(ctx, view, dirs, PassOptions{Skip: func(f *File) bool {
		return f.IsTest() || f.IsDerived() && slices.Contains(dirs, f.Dir())
	}})
	if err != nil {
		return PurityReport{}, err
	}
	f := &finder{PurityCheck: p, pass: pass, fset: view.Fset(), packages: map[string]*inspected{}}
	for _, dir := range dirs {
		if err := ctx.Err(); err != nil {
			return PurityReport{}, err
		}
		f.checkFeature(dir)
	}
	slices.SortFunc(f.report.Impure, Diagnostic.Compare)
	slices.SortFunc(f.report.Warnings, Diagnostic.Compare)
	f.report.Impure, f.report.Warnings = slices.Compact(f.report.Impure), slices.Compact(f.report.Warnings)
	return f.report, pass.Err()
}

// A finder follows function calls.
type finder struct {
	PurityCheck
	pass     *Pass
	fset     *token.FileSet
	packages map[string]*inspected // by import path
	report   PurityReport

	feature string          // import path of the current feature
	seen    map[string]bool // functions followed from the current root, and findings in them
	chain   []string        // call chain from the root to the current function
}

// An inspected package is indexed by the names of its declarations.
type inspected struct {
	info      *types.Info
	functions map[string]*ast.FuncDecl // by full name
	variables map[string]ast.Expr      // initial values of function variables, by full name
}

// pkg returns the package of an import path. It returns nil for packages of core and of other
// modules.
func (f *finder) pkg(path string) *inspected {
	known, ok := f.packages[path]
	if ok {
		return known
	}
	if dir, inside := f.pass.Dir(path); inside && !f.isCore(path) {
		if pkg := f.pass.Inspect(dir); pkg != nil {
			known = index(pkg)
		}
	}
	f.packages[path] = known
	return known
}

func (f *finder) isCore(path string) bool { return strings.HasPrefix(path+"/", f.Core+"/") }

func index(pkg *InspectedPackage) *inspected {
	p := &inspected{pkg.Info, map[string]*ast.FuncDecl{}, map[string]ast.Expr{}}
	for _, file := range pkg.Files {
		for _, decl := range file.Syntax.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if object, ok := pkg.Info.Defs[decl.Name].(*types.Func); ok && decl.Body != nil {
					p.functions[object.FullName()] = decl
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					spec, ok := spec.(*ast.ValueSpec)
					if !ok || decl.Tok != token.VAR || len(spec.Names) != len(spec.Values) {
						continue
					}
					for i, name := range spec.Names {
						if object, ok := pkg.Info.Defs[name].(*types.Var); ok && isFunction(object.Type()) {
							p.variables[fullName(object)] = spec.Values[i]
						}
					}
				}
			}
		}
	}
	return p
}

func isFunction(t types.Type) bool {
	_, ok := t.Underlying().(*types.Signature)
	return ok
}

func fullName(v *types.Var) string { return v.Pkg().Path() + "." + v.Name() }

func (f *finder) checkFeature(dir string) {
	f.feature = f.Checker.ImportPath(dir)
	p := f.pkg(f.feature)
	if p == nil {
		return
	}
	for _, decl := range p.functions {
		name := decl.Name.Name
		object := p.info.Defs[decl.Name].(*types.Func)
		switch {
		case decl.Recv != nil && f.isReplayMethod(object):
			name = receiverType(object) + "." + name
		case decl.Recv == nil && (name == "NewState" || name == "Map" || hasMapDirective(decl)):
		default:
			continue
		}
		f.followRoot(object, name)
	}
	for _, object := range p.info.Defs {
		declared, ok := object.(*types.TypeName)
		if !ok || declared.IsAlias() || declared.Parent() != declared.Pkg().Scope() {
			continue
		}
		for _, name := range []string{"Apply", "Upgrade"} {
			found, _, _ := types.LookupFieldOrMethod(declared.Type(), true, nil, name)
			if method, ok := found.(*types.Func); ok && method.Pkg().Path() != f.feature && f.isReplayMethod(method) {
				f.followRoot(method, declared.Name()+"."+name) // promoted from an embedded type of another package
			}
		}
	}
}

func (f *finder) followRoot(object *types.Func, name string) {
	f.seen, f.chain = map[string]bool{}, nil
	f.followFunction(object, name)
}

// isReplayMethod reports whether replay calls a method: Apply of a command, or Upgrade of an older
// version.
func (f *finder) isReplayMethod(method *types.Func) bool {
	s := method.Signature()
	for v := range s.Params().Variables() {
		if method.Name() == "Apply" && IsType(v.Type(), f.Core+"/app", "Event") {
			return true
		}
	}
	return method.Name() == "Upgrade" && s.Params().Len() == 0 && s.Results().Len() == 1
}

// IsType reports whether t is the named type of the package with an import path.
func IsType(t types.Type, path, name string) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == name && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == path
}

func receiverType(method *types.Func) string {
	t := method.Signature().Recv().Type()
	if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
		t = pointer.Elem()
	}
	if named, ok := types.Unalias(t).(*types.Named); ok {
		return named.Obj().Name()
	}
	return t.String()
}

func (f *finder) followFunction(object *types.Func, name string) {
	full := object.Origin().FullName()
	if f.seen[full] || object.Pkg() == nil {
		return
	}
	f.seen[full] = true
	p := f.pkg(object.Pkg().Path())
	if p == nil || p.functions[full] == nil || f.isMarkedPure(p.functions[full]) {
		return
	}
	f.followBody(p, p.functions[full].Body, name)
}

func (f *finder) followBody(p *inspected, body ast.Node, name string) {
	f.chain = append(f.chain, name)
	defer func() { f.chain = f.chain[:len(f.chain)-1] }()
	w := walker{f, p.info, body}
	ast.Inspect(body, w.visit)
}

// hasMapDirective reports whether a function has the directive //petrock:map.
func hasMapDirective(decl *ast.FuncDecl) bool {
	return decl.Doc != nil && slices.ContainsFunc(decl.Doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//petrock:map ") })
}

// isMarkedPure reports whether a function has the directive //petrock:pure with a reason.
func (f *finder) isMarkedPure(decl *ast.FuncDecl) bool {
	if decl.Doc == nil {
		return false
	}
	for _, comment := range decl.Doc.List {
		reason, ok := strings.CutPrefix(comment.Text, "//petrock:pure")
		if !ok || reason != "" && reason[0] != ' ' {
			continue
		}
		if strings.TrimSpace(reason) != "" {
			return true
		}
		f.report.Impure = append(f.report.Impure, f.diagnostic(comment.Pos(), "//petrock:pure requires a reason"))
	}
	return false
}

// refuse reports impure code in the current function, once for each root.
func (f *finder) refuse(pos token.Pos, what, remedy string) {
	if key := "uses " + what; !f.seen[key] {
		f.seen[key] = true
		f.report.Impure = append(f.report.Impure, f.diagnostic(pos, f.message(what, remedy)))
	}
}

func (f *finder) warn(pos token.Pos, what, remedy string) {
	f.report.Warnings = append(f.report.Warnings, f.diagnostic(pos, f.message(what, remedy)))
}

// message begins with the call chain: Create.Apply → stamp → time.Now.
func (f *finder) message(what, remedy string) string {
	return strings.Join(append(slices.Clone(f.chain), what), " → ") + ": replay must be deterministic; " + remedy
}

func (f *finder) diagnostic(pos token.Pos, message string) Diagnostic {
	return diagnosticAt(f.fset, pos, f.feature, message)
}

func shortName(object types.Object) string {
	if method, ok := object.(*types.Func); ok && method.Signature().Recv() != nil {
		return path.Base(object.Pkg().Path()) + "." + receiverType(method) + "." + object.Name()
	}
	return object.Pkg().Name() + "." + object.Name()
}

type walker struct {
	*finder
	info *types.Info
	body ast.Node // body of the current function
}

func (w walker) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.Ident:
		w.checkUse(n)
	case *ast.GoStmt:
		w.refuse(n.Pos(), "go", useWorker)
	case *ast.SelectStmt:
		w.refuse(n.Pos(), "select", useWorker)
	case *ast.SendStmt:
		w.refuse(n.Pos(), "sending to a channel", useWorker)
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			w.refuse(n.Pos(), "receiving from a channel", useWorker)
		}
	case *ast.AssignStmt:
		for _, target := range n.Lhs {
			w.checkWrite(target)
		}
	case *ast.IncDecStmt:
		w.checkWrite(n.X)
	case *ast.SelectorExpr:
		w.checkMethod(n)
	case *ast.RangeStmt:
		w.checkRange(n)
	case *ast.CallExpr:
		if w.isFunctionOf(n.Fun, "slices", "Collect") && len(n.Args) == 1 && w.isMapIterator(n.Args[0]) {
			w.warn(n.Pos(), "slices.Collect in map order", useSorted)
		}
	}
	return true
}

// checkUse checks an identifier. It follows functions, whether they are called or passed as values.
func (w walker) checkUse(name *ast.Ident) {
	object := w.info.Uses[name]
	if object == nil || object.Pkg() == nil {
		return
	}
	if remedy := w.remedyFor(object); remedy != "" {
		w.refuse(name.Pos(), shortName(object), remedy)
		return
	}
	switch object := object.(type) {
	case *types.Func:
		called := object.Name()
		if object.Signature().Recv() != nil {
			called = receiverType(object) + "." + called
		}
		w.followFunction(object, called)
	case *types.Var:
		w.followVariable(object)
	}
}

func (w walker) followVariable(v *types.Var) {
	if !isPackageLevel(v) || !isFunction(v.Type()) || w.seen[fullName(v)] {
		return
	}
	w.seen[fullName(v)] = true
	if p := w.pkg(v.Pkg().Path()); p != nil && p.variables[fullName(v)] != nil {
		w.followBody(p, p.variables[fullName(v)], v.Name())
	}
}

func isPackageLevel(v *types.Var) bool {
	return v.Pkg() != nil && !v.IsField() && v.Parent() == v.Pkg().Scope()
}

func (w walker) checkWrite(target ast.Expr) {
	if v := w.packageVariable(target); v != nil {
		w.refuse(target.Pos(), "the variable "+v.Name(), useState)
	}
}

// packageVariable returns the package-level variable that an expression is part of, or nil.
func (w walker) packageVariable(e ast.Expr) *types.Var {
	switch e := e.(type) {
	case *ast.Ident:
		if v, ok := w.info.Uses[e].(*types.Var); ok && isPackageLevel(v) {
			return v
		}
	case *ast.SelectorExpr:
		if w.info.Selections[e] == nil {
			return w.packageVariable(e.Sel) // of another package
		}
		return w.packageVariable(e.X)
	case *ast.IndexExpr:
		return w.packageVariable(e.X)
	case *ast.StarExpr:
		return w.packageVariable(e.X)
	case *ast.ParenExpr:
		return w.packageVariable(e.X)
	}
	return nil
}

// checkMethod finds calls of pointer methods on package-level variables, which may change them.
func (w walker) checkMethod(e *ast.SelectorExpr) {
	selection := w.info.Selections[e]
	if selection == nil || selection.Kind() != types.MethodVal {
		return
	}
	method, ok := selection.Obj().(*types.Func)
	if !ok || method.Signature().Recv() == nil {
		return
	}
	_, wantsPointer := types.Unalias(method.Signature().Recv().Type()).(*types.Pointer)
	_, isPointer := types.Unalias(selection.Recv()).(*types.Pointer)
	if v := w.packageVariable(e.X); v != nil && wantsPointer && !isPointer {
		w.refuse(e.Pos(), "the variable "+v.Name(), useState)
	}
}

// Remedies.
const (
	useEvent   = "use e.Time and e.ID of the event"
	useWorker  = "do it in a worker"
	useSorted  = "iterate over sorted keys: slices.Sorted(maps.Keys(m))"
	useState   = "keep it in the state"
	useCommand = "do it in a worker, or pass the value as a field of the command"
)

// An impureRule names functions and variables of other modules that are not deterministic.
type impureRule struct {
	path   string   // import path; with "/..." also packages below it
	names  []string // functions, methods as Type.Method, and variables; nil means all
	remedy string
}

// impureRules returns the rules. The first match applies; a rule without a remedy allows its
// package.
func impureRules() []impureRule {
	return []impureRule{
		{"time", []string{"Now", "Since", "Until"}, useEvent},
		{"time", []string{"After", "AfterFunc", "NewTicker", "NewTimer", "Sleep", "Tick"}, useWorker},
		{"time", []string{"Local", "LoadLocation", "Time.Local"}, "use UTC: the local time zone differs between machines"},
		{"math/rand/...", nil, useEvent + ", or pass the value as a field of the command"},
		{"crypto/rand", nil, useEvent + ", or pass the value as a field of the command"},
		{"github.com/google/uuid", []string{"New", "NewRandom", "NewString", "NewUUID", "NewV6", "NewV7"}, useEvent}, // in every project with SQLite
		{"hash/maphash", nil, "use a deterministic hash, such as hash/fnv"},
		{"os/...", nil, useCommand},
		{"io/fs", nil, useCommand},
		{"io/ioutil", nil, useCommand},
		{"path/filepath", []string{"Abs", "EvalSymlinks", "Glob", "Walk", "WalkDir"}, useCommand},
		{"net/url", nil, ""},
		{"net/netip", nil, ""},
		{"net/mail", nil, ""},
		{"net/textproto", nil, ""},
		{"net/...", nil, useCommand},
		{"database/sql/...", nil, useState},
		{"log/...", nil, useWorker},
		{"syscall/...", nil, useCommand},
		{"runtime/...", nil, useCommand},
		{"plugin", nil, useCommand},
		{"fmt", []string{"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"}, useWorker},
	}
}

// remedyFor returns the remedy for an impure function or variable of another package. It is empty
// for pure objects.
func (f *finder) remedyFor(object types.Object) string {
	name, where := object.Name(), object.Pkg().Path()
	function, isFunction := object.(*types.Func)
	isMethod := isFunction && function.Signature().Recv() != nil
	if v, ok := object.(*types.Var); !isFunction && (!ok || v.IsField()) {
		return ""
	}
	if f.isCore(where) {
		if isFunction && !isMethod && where == f.Core+"/app" && !strings.HasPrefix(name, "Upgrade") {
			return useWorker // app functions run commands and queries
		}
		return ""
	}
	if isMethod {
		name = receiverType(function) + "." + name
	}
	for _, rule := range impureRules() {
		base, below := strings.CutSuffix(rule.path, "/...")
		if (where == base || below && strings.HasPrefix(where, base+"/")) && (rule.names == nil || slices.Contains(rule.names, name)) {
			return rule.remedy
		}
	}
	return ""
}
