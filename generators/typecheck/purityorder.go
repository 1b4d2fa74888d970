package typecheck

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// checkRange warns of a loop over a map whose result depends on the order, which is random.
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
		if !w.isMapIterator(loop.X) {
			return
		}
	}
	if what := w.orderDependence(loop); what != "" {
		w.warn(loop.Pos(), "a loop over a map that "+what, useSorted)
	}
}

func (w walker) isMapIterator(e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	return ok && (w.isFunctionOf(call.Fun, "maps", "Keys") || w.isFunctionOf(call.Fun, "maps", "Values") || w.isFunctionOf(call.Fun, "maps", "All"))
}

// isFunctionOf reports whether an expression is a function of package pkg, with a name that begins
// with prefix.
func (w walker) isFunctionOf(e ast.Expr, pkg, prefix string) bool {
	if index, ok := e.(*ast.IndexExpr); ok {
		e = index.X
	}
	selector, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	object := w.info.Uses[selector.Sel]
	return object != nil && object.Pkg() != nil && object.Pkg().Path() == pkg && strings.HasPrefix(object.Name(), prefix)
}

// orderDependence describes how the result of a loop depends on its order: it returns or keeps the
// element at which it ends, or appends to a slice or string that is not sorted afterwards. It is
// empty if the result does not depend on the order.
func (w walker) orderDependence(loop *ast.RangeStmt) string {
	element := map[types.Object]bool{} // variables that hold the current key or value
	for _, e := range []ast.Expr{loop.Key, loop.Value} {
		if name, ok := e.(*ast.Ident); ok {
			element[w.info.ObjectOf(name)] = true
		}
	}
	delete(element, nil)
	what, breaks, keeps := "", false, false
	ast.Inspect(loop.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			for _, result := range n.Results {
				if w.mentions(result, element) {
					what = "returns the current element"
				}
			}
		case *ast.BranchStmt:
			breaks = breaks || n.Tok == token.BREAK || n.Tok == token.GOTO
		case *ast.AssignStmt:
			for i, target := range n.Lhs {
				value := n.Rhs[min(i, len(n.Rhs)-1)]
				if n.Tok == token.DEFINE {
					if name, ok := target.(*ast.Ident); ok && w.mentions(value, element) {
						element[w.info.ObjectOf(name)] = true
					}
					continue
				}
				keeps = keeps || w.mentions(value, element)
				if w.isAppend(n.Tok, value) && !w.mentions(target, element) && !w.isWithin(loop, target) && !w.isSortedAfter(loop, target) {
					what = "adds to " + types.ExprString(target)
				}
			}
		}
		return true
	})
	if what == "" && breaks && keeps {
		what = "stops early and keeps the current element"
	}
	return what
}

func (w walker) mentions(e ast.Expr, objects map[types.Object]bool) bool {
	for n := range ast.Preorder(e) {
		if name, ok := n.(*ast.Ident); ok && objects[w.info.Uses[name]] {
			return true
		}
	}
	return false
}

// isWithin reports whether a variable is declared in a loop.
func (w walker) isWithin(loop *ast.RangeStmt, target ast.Expr) bool {
	name, ok := target.(*ast.Ident)
	if !ok {
		return false
	}
	object := w.info.ObjectOf(name)
	return object != nil && loop.Body.Pos() <= object.Pos() && object.Pos() < loop.Body.End()
}

// isAppend reports whether an assignment appends to a slice or a string, or adds floats, whose sum
// depends on the order.
func (w walker) isAppend(assign token.Token, value ast.Expr) bool {
	if call, ok := ast.Unparen(value).(*ast.CallExpr); ok {
		name, ok := call.Fun.(*ast.Ident)
		return ok && name.Name == "append" && w.info.Uses[name] == types.Universe.Lookup("append")
	}
	t := w.info.TypeOf(value)
	if t == nil || assign != token.ADD_ASSIGN {
		return false
	}
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&(types.IsString|types.IsFloat) != 0
}

func (w walker) isSortedAfter(loop *ast.RangeStmt, target ast.Expr) bool {
	text := types.ExprString(target)
	for n := range ast.Preorder(w.body) {
		call, ok := n.(*ast.CallExpr)
		if !ok || call.Pos() < loop.End() || len(call.Args) == 0 || !(w.isFunctionOf(call.Fun, "slices", "Sort") || w.isFunctionOf(call.Fun, "sort", "")) {
			continue
		}
		for n := range ast.Preorder(call.Args[0]) {
			if e, ok := n.(ast.Expr); ok && types.ExprString(e) == text {
				return true
			}
		}
	}
	return false
}
