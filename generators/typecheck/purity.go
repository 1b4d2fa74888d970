package typecheck

import (
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
)

// A PurityCheck finds code that makes replay of the event log non-deterministic: it follows Apply of
// commands, Upgrade of older versions and Map into all functions that they call.
type PurityCheck struct {
	Core    string // the import path of core
	Checker *Checker
}

// A PurityReport is the result of a [PurityCheck].
type PurityReport struct {
	Impure   []Diagnostic // makes replay non-deterministic
	Warnings []Diagnostic // may make replay non-deterministic
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
		f.feature(dir)
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

	home string          // import path of the current feature
	seen map[string]bool // functions followed from the current root, and what was found
	way  []string        // call chain from the root to the current function
}

// An inspected package has its declarations by name.
type inspected struct {
	info      *types.Info
	functions map[string]*ast.FuncDecl // by full name
	variables map[string]ast.Expr      // initial values of function variables, by full name
}

// pkg returns the package of an import path, if it is one of the project, outside core.
func (f *finder) pkg(path string) *inspected {
	known, ok := f.packages[path]
	if ok {
		return known
	}
	if dir, inside := f.pass.Dir(path); inside && !f.isCore(path) {
		if made := f.pass.Inspect(dir); made != nil {
			known = index(made)
		}
	}
	f.packages[path] = known
	return known
}

func (f *finder) isCore(path string) bool { return strings.HasPrefix(path+"/", f.Core+"/") }

func index(made *InspectedPackage) *inspected {
	p := &inspected{made.Info, map[string]*ast.FuncDecl{}, map[string]ast.Expr{}}
	for _, file := range made.Files {
		for _, decl := range file.Syntax.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if object, ok := made.Info.Defs[decl.Name].(*types.Func); ok && decl.Body != nil {
					p.functions[object.FullName()] = decl
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					spec, ok := spec.(*ast.ValueSpec)
					if !ok || decl.Tok != token.VAR || len(spec.Names) != len(spec.Values) {
						continue
					}
					for i, name := range spec.Names {
						if object, ok := made.Info.Defs[name].(*types.Var); ok && isFunction(object.Type()) {
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

func (f *finder) feature(dir string) {
	f.home = f.Checker.ImportPath(dir)
	p := f.pkg(f.home)
	if p == nil {
		return
	}
	for _, decl := range p.functions {
		name := decl.Name.Name
		object := p.info.Defs[decl.Name].(*types.Func)
		switch {
		case decl.Recv != nil && f.readsLog(object):
			name = receiverType(object) + "." + name
		case decl.Recv == nil && (name == "NewState" || name == "Map"):
		default:
			continue
		}
		f.root(object, name)
	}
	for _, object := range p.info.Defs {
		declared, ok := object.(*types.TypeName)
		if !ok || declared.IsAlias() || declared.Parent() != declared.Pkg().Scope() {
			continue
		}
		for _, name := range []string{"Apply", "Upgrade"} {
			found, _, _ := types.LookupFieldOrMethod(declared.Type(), true, nil, name)
			if method, ok := found.(*types.Func); ok && method.Pkg().Path() != f.home && f.readsLog(method) {
				f.root(method, declared.Name()+"."+name) // promoted from an embedded type of another package
			}
		}
	}
}

// root follows a function that replay calls.
func (f *finder) root(object *types.Func, name string) {
	f.seen, f.way = map[string]bool{}, nil
	f.function(object, name)
}

// readsLog reports whether replay calls a method: Apply of a command, or Upgrade of an older version.
func (f *finder) readsLog(method *types.Func) bool {
	s := method.Signature()
	switch method.Name() {
	case "Apply":
		return f.takesEvent(s)
	case "Upgrade":
		return s.Params().Len() == 0 && s.Results().Len() == 1
	}
	return false
}

func (f *finder) takesEvent(s *types.Signature) bool {
	for v := range s.Params().Variables() {
		if named, ok := types.Unalias(v.Type()).(*types.Named); ok && named.Obj().Name() == "Event" && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == f.Core+"/app" {
			return true
		}
	}
	return false
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

func (f *finder) function(object *types.Func, name string) {
	full := object.Origin().FullName()
	if f.seen[full] || object.Pkg() == nil {
		return
	}
	f.seen[full] = true
	p := f.pkg(object.Pkg().Path())
	if p == nil || p.functions[full] == nil || f.isSaidToBePure(p.functions[full]) {
		return
	}
	f.body(p, p.functions[full].Body, name)
}

func (f *finder) body(p *inspected, body ast.Node, name string) {
	f.way = append(f.way, name)
	defer func() { f.way = f.way[:len(f.way)-1] }()
	w := walker{f, p.info, body}
	ast.Inspect(body, w.node)
}

// isSaidToBePure reports whether a function has the directive //petrock:pure.
func (f *finder) isSaidToBePure(decl *ast.FuncDecl) bool {
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
		f.report.Impure = append(f.report.Impure, f.diagnostic(comment.Pos(), "//petrock:pure wants a reason after it"))
	}
	return false
}

// found reports a finding in the current function, once for each root.
func (f *finder) found(pos token.Pos, what, wayOut string) {
	if key := "uses " + what; !f.seen[key] {
		f.seen[key] = true
		f.report.Impure = append(f.report.Impure, f.diagnostic(pos, "%s", f.say(what, wayOut)))
	}
}

func (f *finder) warn(pos token.Pos, what, wayOut string) {
	f.report.Warnings = append(f.report.Warnings, f.diagnostic(pos, "%s", f.say(what, wayOut)))
}

// say formats the call chain: Create.Apply → stamp → time.Now.
func (f *finder) say(what, wayOut string) string {
	return fmt.Sprintf("%s: what is done here has to come out the same whenever the log is read; %s", strings.Join(append(slices.Clone(f.way), what), " → "), wayOut)
}

func (f *finder) diagnostic(pos token.Pos, format string, args ...any) Diagnostic {
	at := f.fset.PositionFor(pos, false)
	return Diagnostic{Package: f.home, File: at.Filename, Line: at.Line, Column: at.Column, Message: fmt.Sprintf(format, args...)}
}

func short(object types.Object) string {
	if method, ok := object.(*types.Func); ok && method.Signature().Recv() != nil {
		return path.Base(object.Pkg().Path()) + "." + receiverType(method) + "." + object.Name()
	}
	return object.Pkg().Name() + "." + object.Name()
}

type walker struct {
	*finder
	info *types.Info
	body ast.Node // of the function
}

func (w walker) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.Ident:
		w.use(n)
	case *ast.GoStmt:
		w.found(n.Pos(), "go", useWorker)
	case *ast.SelectStmt:
		w.found(n.Pos(), "select", useWorker)
	case *ast.SendStmt:
		w.found(n.Pos(), "sending to a channel", useWorker)
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			w.found(n.Pos(), "receiving from a channel", useWorker)
		}
	case *ast.AssignStmt:
		for _, target := range n.Lhs {
			w.writes(target)
		}
	case *ast.IncDecStmt:
		w.writes(n.X)
	case *ast.SelectorExpr:
		w.called(n)
	case *ast.RangeStmt:
		w.ranges(n)
	case *ast.CallExpr:
		if w.isOf(n.Fun, "slices", "Collect") && len(n.Args) == 1 && w.isOrderOfMap(n.Args[0]) {
			w.warn(n.Pos(), "a list of what is in a map", useSorted)
		}
	}
	return true
}

// use checks an identifier. Functions are followed, whether they are called or passed on.
func (w walker) use(name *ast.Ident) {
	object := w.info.Uses[name]
	if object == nil || object.Pkg() == nil {
		return
	}
	if wayOut := w.impureReason(object); wayOut != "" {
		w.found(name.Pos(), short(object), wayOut)
		return
	}
	switch object := object.(type) {
	case *types.Func:
		called := object.Name()
		if object.Signature().Recv() != nil {
			called = receiverType(object) + "." + called
		}
		w.function(object, called)
	case *types.Var:
		w.variable(object)
	}
}

// variable follows the initial value of a package-level function variable.
func (w walker) variable(v *types.Var) {
	if !isOfPackage(v) || !isFunction(v.Type()) || w.seen[fullName(v)] {
		return
	}
	w.seen[fullName(v)] = true
	if p := w.pkg(v.Pkg().Path()); p != nil && p.variables[fullName(v)] != nil {
		w.finder.body(p, p.variables[fullName(v)], v.Name())
	}
}

func isOfPackage(v *types.Var) bool {
	return v.Pkg() != nil && !v.IsField() && v.Parent() == v.Pkg().Scope()
}

// writes finds writes to package-level variables.
func (w walker) writes(target ast.Expr) {
	if v := w.root(target); v != nil {
		w.found(target.Pos(), "the variable "+v.Name(), useState)
	}
}

// root returns the package-level variable that an expression is part of, or nil.
func (w walker) root(e ast.Expr) *types.Var {
	switch e := e.(type) {
	case *ast.Ident:
		if v, ok := w.info.Uses[e].(*types.Var); ok && isOfPackage(v) {
			return v
		}
	case *ast.SelectorExpr:
		if w.info.Selections[e] == nil {
			return w.root(e.Sel) // of another package
		}
		return w.root(e.X)
	case *ast.IndexExpr:
		return w.root(e.X)
	case *ast.StarExpr:
		return w.root(e.X)
	case *ast.ParenExpr:
		return w.root(e.X)
	}
	return nil
}

// called finds calls of pointer methods on package-level variables, which may change them.
func (w walker) called(e *ast.SelectorExpr) {
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
	if v := w.root(e.X); v != nil && wantsPointer && !isPointer {
		w.found(e.Pos(), "the variable "+v.Name(), useState)
	}
}

// What to do instead.
const (
	useEvent   = "use e.Time and e.ID, which the event keeps"
	useWorker  = "let a worker do it, which follows the log"
	useSorted  = "go through the keys in order: slices.Sorted(maps.Keys(m))"
	useState   = "keep it in the state"
	useCommand = "let a worker do it, or the caller send it as a field of the command"
)

// An impureRule names functions and variables of other modules that are not deterministic.
type impureRule struct {
	path   string   // of a package; with "/..." also packages below it
	names  []string // functions, methods as Type.Method, and variables; nil means all
	wayOut string
}

// impureRules returns the rules. The first that matches counts; one without a remedy allows.
func impureRules() []impureRule {
	return []impureRule{
		{"time", []string{"Now", "Since", "Until"}, useEvent},
		{"time", []string{"After", "AfterFunc", "NewTicker", "NewTimer", "Sleep", "Tick"}, useWorker},
		{"time", []string{"Local", "LoadLocation", "Time.Local"}, "use UTC: machines have zones of their own"},
		{"math/rand/...", nil, useEvent + ", or let the caller send it as a field of the command"},
		{"crypto/rand", nil, useEvent + ", or let the caller send it as a field of the command"},
		{"github.com/google/uuid", []string{"New", "NewRandom", "NewString", "NewUUID", "NewV6", "NewV7"}, useEvent}, // SQLite brings it along
		{"hash/maphash", nil, "use a hash that is the same everywhere, such as hash/fnv"},
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

// impureReason returns the remedy for an impure object of another package, empty if it is pure, as
// types and constants are.
func (f *finder) impureReason(object types.Object) string {
	switch object.(type) {
	case *types.Func, *types.Var:
	default:
		return ""
	}
	if field, ok := object.(*types.Var); ok && field.IsField() {
		return ""
	}
	where := object.Pkg().Path()
	if f.isCore(where) {
		if function, ok := object.(*types.Func); ok && where == f.Core+"/app" && function.Signature().Recv() == nil && !strings.HasPrefix(function.Name(), "Upgrade") {
			return useWorker // it executes and asks
		}
		return ""
	}
	name := object.Name()
	if method, ok := object.(*types.Func); ok && method.Signature().Recv() != nil {
		name = receiverType(method) + "." + name
	}
	for _, o := range impureRules() {
		base, below := strings.CutSuffix(o.path, "/...")
		if where == base || below && strings.HasPrefix(where, base+"/") {
			if o.names == nil || slices.Contains(o.names, name) {
				return o.wayOut
			}
		}
	}
	return ""
}
