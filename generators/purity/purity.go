// Package purity finds code that makes replay of the event log non-deterministic. It belongs to the
// part app.
package purity

import (
	"context"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/types/typeutil"

	"github.com/petrock/petrock/generators/typecheck"
)

// Find returns code of features that makes replay of the event log non-deterministic. It follows
// Apply of commands, Upgrade of older versions, Map, functions with //petrock:map and NewState into
// all functions that they call. It implements [typecheck.PurityFinder].
func Find(ctx context.Context, checker *typecheck.Checker, core string, view *typecheck.View, dirs []string) (typecheck.PurityReport, error) {
	if len(dirs) == 0 {
		return typecheck.PurityReport{}, nil
	}
	pass, err := checker.NewPass(ctx, view, dirs, typecheck.PassOptions{Skip: func(f *typecheck.File) bool {
		return f.IsTest() || f.IsDerived() && slices.Contains(dirs, f.Dir())
	}})
	if err != nil {
		return typecheck.PurityReport{}, err
	}
	f := &finder{checker: checker, core: core, pass: pass, view: view, packages: map[string]*typecheck.InspectedPackage{}}
	for _, dir := range dirs {
		if err := ctx.Err(); err != nil {
			return typecheck.PurityReport{}, err
		}
		f.checkFeature(dir)
	}
	f.report.Impure, f.report.Warnings = typecheck.SortDiagnostics(f.report.Impure), typecheck.SortDiagnostics(f.report.Warnings)
	return f.report, pass.Err()
}

// A finder follows function calls.
type finder struct {
	checker  *typecheck.Checker
	core     string // import path of core
	pass     *typecheck.Pass
	view     *typecheck.View
	packages map[string]*typecheck.InspectedPackage // by import path
	report   typecheck.PurityReport

	feature string       // import path of the current feature
	seen    map[any]bool // positions of declarations, and findings, already visited from this root
	chain   []string     // call chain from the root to the current function
}

// pkg returns the package of an import path. It returns nil for packages of core and of other
// modules.
func (f *finder) pkg(path string) *typecheck.InspectedPackage {
	known, ok := f.packages[path]
	if ok {
		return known
	}
	if dir, inside := f.pass.Dir(path); inside && !f.isCore(path) {
		known = f.pass.Inspect(dir)
	}
	f.packages[path] = known
	return known
}

func (f *finder) isCore(path string) bool { return strings.HasPrefix(path+"/", f.core+"/") }

func (f *finder) checkFeature(dir string) {
	f.feature = f.checker.ImportPath(dir)
	p := f.pkg(f.feature)
	if p == nil {
		return
	}
	for _, object := range p.Info.Defs {
		switch object := object.(type) {
		case *types.Func:
			if f.isRoot(object) {
				f.followRoot(object, localName(object))
			}
		case *types.TypeName:
			if object.IsAlias() || object.Parent() != object.Pkg().Scope() {
				continue
			}
			for _, name := range []string{"Apply", "Upgrade"} {
				found, _, _ := types.LookupFieldOrMethod(object.Type(), true, nil, name)
				if method, ok := found.(*types.Func); ok && method.Pkg().Path() != f.feature && f.isReplayMethod(method) {
					f.followRoot(method, object.Name()+"."+name) // promoted from an embedded type of another package
				}
			}
		}
	}
}

func (f *finder) followRoot(object *types.Func, name string) {
	f.seen, f.chain = map[any]bool{}, nil
	f.followFunction(object, name)
}

// isRoot reports whether replay calls a function of a feature.
func (f *finder) isRoot(function *types.Func) bool {
	if function.Signature().Recv() != nil {
		return f.isReplayMethod(function)
	}
	decl := f.declaration(function)
	return decl != nil && (decl.Name.Name == "NewState" || decl.Name.Name == "Map" || hasMapDirective(decl))
}

// declaration returns the declaration of a function of the project, or nil if it has no body.
func (f *finder) declaration(function *types.Func) *ast.FuncDecl {
	decl := typecheck.Enclosing[*ast.FuncDecl](f.view.FileAt(function.Pos()), function.Pos())
	if decl == nil || decl.Name.Pos() != function.Pos() || decl.Body == nil {
		return nil
	}
	return decl
}

// isReplayMethod reports whether replay calls a method: Apply of a command, or Upgrade of an older
// version.
func (f *finder) isReplayMethod(method *types.Func) bool {
	s := method.Signature()
	for v := range s.Params().Variables() {
		if method.Name() == "Apply" && typecheck.IsType(v.Type(), f.core+"/app", "Event") {
			return true
		}
	}
	return method.Name() == "Upgrade" && s.Params().Len() == 0 && s.Results().Len() == 1
}

func (f *finder) followFunction(function *types.Func, name string) {
	if f.seen[function.Pos()] || function.Pkg() == nil {
		return
	}
	f.seen[function.Pos()] = true
	p, decl := f.pkg(function.Pkg().Path()), f.declaration(function)
	if p != nil && decl != nil && !f.isMarkedPure(decl) {
		f.followBody(p, decl.Body, name)
	}
}

func (f *finder) followBody(p *typecheck.InspectedPackage, body ast.Node, name string) {
	f.chain = append(f.chain, name)
	defer func() { f.chain = f.chain[:len(f.chain)-1] }()
	w := walker{f, p.Info, body}
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

func (f *finder) diagnostic(pos token.Pos, message string) typecheck.Diagnostic {
	return typecheck.DiagnosticAt(f.view.Fset(), pos, f.feature, message)
}

// localName returns the name of a function in its package; of a method, with its type.
func localName(function *types.Func) string {
	receiver := function.Signature().Recv()
	if receiver == nil {
		return function.Name()
	}
	inPackage := func(*types.Package) string { return "" }
	return strings.TrimPrefix(types.TypeString(receiver.Type(), inPackage), "*") + "." + function.Name()
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
		if w.isCall(n, "slices", "Collect") && len(n.Args) == 1 && w.isCall(n.Args[0], "maps", "") {
			w.warn(n.Pos(), "slices.Collect in map order", useSorted)
		}
	}
	return true
}

// checkUse checks an identifier. It follows functions, whether they are called or passed as values.
func (w walker) checkUse(ident *ast.Ident) {
	object := w.info.Uses[ident]
	if object == nil || object.Pkg() == nil {
		return
	}
	name := object.Name()
	function, isFunction := object.(*types.Func)
	if isFunction {
		name = localName(function)
	}
	if remedy := w.remedyFor(object, name); remedy != "" {
		w.refuse(ident.Pos(), object.Pkg().Name()+"."+name, remedy)
		return
	}
	if isFunction {
		w.followFunction(function, name)
	} else if v, ok := object.(*types.Var); ok {
		w.followVariable(v)
	}
}

// followVariable follows the initial value of a package-level variable that is a function.
func (w walker) followVariable(v *types.Var) {
	if _, isFunction := v.Type().Underlying().(*types.Signature); !isFunction || !isPackageLevel(v) || w.seen[v.Pos()] {
		return
	}
	w.seen[v.Pos()] = true
	p, spec := w.pkg(v.Pkg().Path()), typecheck.Enclosing[*ast.ValueSpec](w.view.FileAt(v.Pos()), v.Pos())
	if p == nil || spec == nil || len(spec.Names) != len(spec.Values) {
		return
	}
	at := slices.IndexFunc(spec.Names, func(name *ast.Ident) bool { return name.Pos() == v.Pos() })
	w.followBody(p, spec.Values[at], v.Name())
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

// checkRange warns of a loop over a map whose result depends on its order, which is random.
func (w walker) checkRange(loop *ast.RangeStmt) {
	t := w.info.TypeOf(loop.X)
	if t == nil {
		return
	}
	switch t.Underlying().(type) {
	case *types.Chan:
		w.refuse(loop.X.Pos(), "receiving from a channel", useWorker)
		return
	case *types.Map:
	default:
		if !w.isCall(loop.X, "maps", "") { // such as maps.Keys
			return
		}
	}
	if what := w.orderDependence(loop); what != "" {
		w.warn(loop.Pos(), "a loop over a map that "+what, useSorted)
	}
}

// orderDependence describes how the result of a loop depends on its order: it returns or keeps the
// element at which it ends, or adds to a slice, a string or a float, and the function sorts nothing
// afterwards. It is empty if the result does not depend on the order.
func (w walker) orderDependence(loop *ast.RangeStmt) (what string) {
	breaks, keeps := false, false
	for n := range ast.Preorder(loop.Body) {
		switch n := n.(type) {
		case *ast.ReturnStmt:
			if slices.ContainsFunc(n.Results, func(e ast.Expr) bool { return w.isWithin(loop, e) }) {
				return "returns the current element"
			}
		case *ast.BranchStmt:
			breaks = breaks || n.Tok == token.BREAK
		case *ast.AssignStmt:
			for i, target := range n.Lhs {
				value := n.Rhs[min(i, len(n.Rhs)-1)]
				if w.isWithin(loop, target) {
					continue
				}
				keeps = keeps || w.isWithin(loop, value)
				if w.isAppend(n.Tok, value) && !w.sortsAfter(loop) {
					what = "adds to " + types.ExprString(target)
				}
			}
		}
	}
	if what == "" && breaks && keeps {
		what = "stops early and keeps the current element"
	}
	return what
}

// isCall reports whether an expression calls a function of package pkg, with a name that begins
// with prefix.
func (w walker) isCall(e ast.Expr, pkg, prefix string) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	called := typeutil.Callee(w.info, call)
	return called != nil && called.Pkg() != nil && called.Pkg().Path() == pkg && strings.HasPrefix(called.Name(), prefix)
}

// isAppend reports whether an assignment appends to a slice or a string, or adds floats, whose sum
// depends on the order.
func (w walker) isAppend(assign token.Token, value ast.Expr) bool {
	if call, ok := ast.Unparen(value).(*ast.CallExpr); ok {
		return typeutil.Callee(w.info, call) == types.Universe.Lookup("append")
	}
	t := w.info.TypeOf(value)
	if t == nil || assign != token.ADD_ASSIGN {
		return false
	}
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&(types.IsString|types.IsFloat) != 0
}

// isWithin reports whether an expression uses a variable that a loop declares.
func (w walker) isWithin(loop *ast.RangeStmt, e ast.Expr) bool {
	for n := range ast.Preorder(e) {
		if name, ok := n.(*ast.Ident); ok {
			if object := w.info.ObjectOf(name); object != nil && loop.Pos() <= object.Pos() && object.Pos() < loop.End() {
				return true
			}
		}
	}
	return false
}

func (w walker) sortsAfter(loop *ast.RangeStmt) bool {
	for n := range ast.Preorder(w.body) {
		if call, ok := n.(*ast.CallExpr); ok && call.Pos() >= loop.End() && (w.isCall(call, "slices", "Sort") || w.isCall(call, "sort", "")) {
			return true
		}
	}
	return false
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

// impureRules are the rules. The first match applies; a rule without a remedy allows its package.
var impureRules = []impureRule{
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

// remedyFor returns the remedy for an impure function or variable of another package, given its
// local name. It is empty for pure objects.
func (f *finder) remedyFor(object types.Object, name string) string {
	where := object.Pkg().Path()
	function, isFunction := object.(*types.Func)
	if v, ok := object.(*types.Var); !isFunction && (!ok || v.IsField()) {
		return ""
	}
	if f.isCore(where) {
		if isFunction && function.Signature().Recv() == nil && where == f.core+"/app" && !strings.HasPrefix(name, "Upgrade") {
			return useWorker // app functions run commands and queries
		}
		return ""
	}
	for _, rule := range impureRules {
		base, below := strings.CutSuffix(rule.path, "/...")
		if (where == base || below && strings.HasPrefix(where, base+"/")) && (rule.names == nil || slices.Contains(rule.names, name)) {
			return rule.remedy
		}
	}
	return ""
}
