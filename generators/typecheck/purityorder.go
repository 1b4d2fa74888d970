package typecheck

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// ranges checks a loop over a map, whose order is random.
func (w walker) ranges(loop *ast.RangeStmt) {
	t := w.info.TypeOf(loop.X)
	if t == nil {
		return
	}
	switch t.Underlying().(type) {
	case *types.Chan:
		w.found(loop.X.Pos(), "receiving from a channel", useWorker)
		return
	case *types.Map:
	default:
		if !w.isOrderOfMap(loop.X) {
			return
		}
	}
	if what := w.depends(loop); what != "" {
		w.warn(loop.Pos(), "a loop over a map that "+what, useSorted)
	}
}

func (w walker) isOrderOfMap(e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	return ok && (w.isOf(call.Fun, "maps", "Keys") || w.isOf(call.Fun, "maps", "Values") || w.isOf(call.Fun, "maps", "All"))
}

// isOf reports whether an expression is a function of a package whose name has a prefix.
func (w walker) isOf(e ast.Expr, pkg, name string) bool {
	if index, ok := e.(*ast.IndexExpr); ok {
		e = index.X
	}
	selector, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	object := w.info.Uses[selector.Sel]
	return object != nil && object.Pkg() != nil && object.Pkg().Path() == pkg && strings.HasPrefix(object.Name(), name)
}

// depends describes what in a loop depends on the order: values of the element that ends the loop, and
// slices and strings that are appended to and not sorted afterwards. It is empty if nothing does.
func (w walker) depends(loop *ast.RangeStmt) string {
	own := map[types.Object]bool{}
	for _, e := range []ast.Expr{loop.Key, loop.Value} {
		if name, ok := e.(*ast.Ident); ok {
			own[w.object(name)] = true
		}
	}
	delete(own, nil)
	what, breaks, keeps := "", false, false
	ast.Inspect(loop.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			for _, result := range n.Results {
				if w.mentions(result, own) {
					what = "returns what it is at"
				}
			}
		case *ast.BranchStmt:
			breaks = breaks || n.Tok == token.BREAK || n.Tok == token.GOTO
		case *ast.AssignStmt:
			for i, target := range n.Lhs {
				if n.Tok == token.DEFINE {
					if name, ok := target.(*ast.Ident); ok && w.mentions(n.Rhs[min(i, len(n.Rhs)-1)], own) {
						own[w.object(name)] = true
					}
					continue
				}
				value := n.Rhs[min(i, len(n.Rhs)-1)]
				keeps = keeps || w.mentions(value, own)
				if w.adds(n.Tok, value) && !w.mentions(target, own) && !w.isWithin(loop, target) && !w.sortedAfter(loop, target) {
					what = "adds to " + types.ExprString(target)
				}
			}
		}
		return true
	})
	if what == "" && breaks && keeps {
		what = "ends where it likes what it is at"
	}
	return what
}

func (w walker) object(name *ast.Ident) types.Object {
	if object := w.info.Defs[name]; object != nil {
		return object
	}
	return w.info.Uses[name]
}

func (w walker) mentions(e ast.Expr, those map[types.Object]bool) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok && those[w.info.Uses[name]] {
			found = true
		}
		return !found
	})
	return found
}

func (w walker) isWithin(loop *ast.RangeStmt, target ast.Expr) bool {
	name, ok := target.(*ast.Ident)
	object := types.Object(nil)
	if ok {
		object = w.object(name)
	}
	return object != nil && loop.Body.Pos() <= object.Pos() && object.Pos() < loop.Body.End()
}

func (w walker) adds(assign token.Token, value ast.Expr) bool {
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

func (w walker) sortedAfter(loop *ast.RangeStmt, target ast.Expr) bool {
	text, sorted := types.ExprString(target), false
	ast.Inspect(w.body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || call.Pos() < loop.End() || len(call.Args) == 0 || !(w.isOf(call.Fun, "slices", "Sort") || w.isOf(call.Fun, "sort", "")) {
			return true
		}
		ast.Inspect(call.Args[0], func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok && types.ExprString(e) == text {
				sorted = true
			}
			return true
		})
		return true
	})
	return sorted
}
