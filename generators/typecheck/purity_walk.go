package typecheck

import (
	"go/ast"
	"go/token"
	"go/types"
)

// A walker checks one function.
type walker struct {
	*finder
	info *types.Info
	body ast.Node // of the function
}

// node checks a node of the function.
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
		w.collects(n)
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

// isOfPackage reports whether a variable is package-level.
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
