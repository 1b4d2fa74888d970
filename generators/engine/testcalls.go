package engine

import (
	"cmp"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"github.com/petrock/petrock/generators/typecheck"
)

// A testReader resolves expressions in the tests of a package to the literals that they stand for:
// through variables, fields of structs, and tables that a loop ranges over. In a loop, expressions
// stand for one value for each row.
type testReader struct {
	info *types.Info
	set  map[token.Pos][]ast.Expr // values of variables, by the position of the declaration
}

func newTestReader(inspected *typecheck.InspectedPackage) *testReader {
	r := &testReader{inspected.Info, map[token.Pos][]ast.Expr{}}
	for _, file := range inspected.Files {
		for node := range ast.Preorder(file.Syntax) {
			switch node := node.(type) {
			case *ast.AssignStmt:
				for i, left := range node.Lhs {
					r.assign(left, node.Rhs, i)
				}
			case *ast.ValueSpec:
				for i, left := range node.Names {
					r.assign(left, node.Values, i)
				}
			case *ast.RangeStmt:
				r.assign(node.Key, []ast.Expr{&ast.KeyValueExpr{Key: node.X, Value: node.X}}, 0) // stands for all keys
				r.assign(node.Value, []ast.Expr{&ast.IndexExpr{X: node.X, Index: node.X}}, 0)    // stands for all elements
			}
		}
	}
	return r
}

// assign records the value of the i-th variable of an assignment.
func (r *testReader) assign(left ast.Expr, right []ast.Expr, i int) {
	ident, ok := left.(*ast.Ident)
	if len(right) == 1 {
		i = 0 // a call may have several results
	}
	if object := r.info.ObjectOf(ident); ok && object != nil && i < len(right) {
		r.set[object.Pos()] = append(r.set[object.Pos()], right[i])
	}
}

// values returns the expressions that an expression stands for. If it does not know them, it
// returns the expression itself.
func (r *testReader) values(e ast.Expr) []ast.Expr { return r.resolve(e, 0) }

func (r *testReader) resolve(e ast.Expr, depth int) (found []ast.Expr) {
	const maxDepth = 10 // a variable may be assigned from itself
	if depth > maxDepth || e == nil {
		return nil
	}
	add := func(list ...ast.Expr) {
		for _, e := range list {
			found = append(found, r.resolve(e, depth+1)...)
		}
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		add(e.X)
	case *ast.UnaryExpr:
		add(e.X)
	case *ast.Ident:
		if object := r.info.ObjectOf(e); object != nil {
			add(r.set[object.Pos()]...)
		}
	case *ast.SelectorExpr:
		if selection := r.info.Selections[e]; selection != nil && selection.Kind() == types.FieldVal {
			bases := r.resolve(e.X, depth+1)
			for _, at := range selection.Index() {
				var next []ast.Expr
				for _, base := range bases {
					next = append(next, r.resolve(cmp.Or[ast.Expr](r.field(base, at), &ast.BadExpr{}), depth+1)...) // a row without the field counts
				}
				bases = next
			}
			found = bases
		} else if object := r.info.Uses[e.Sel]; object != nil {
			add(r.set[object.Pos()]...)
		}
	case *ast.IndexExpr:
		for _, base := range r.resolve(e.X, depth+1) {
			if literal, ok := base.(*ast.CompositeLit); ok {
				add(elements(literal)...)
			}
		}
	case *ast.KeyValueExpr:
		for _, base := range r.resolve(e.Key, depth+1) {
			if literal, ok := base.(*ast.CompositeLit); ok {
				for _, element := range literal.Elts {
					if pair, ok := element.(*ast.KeyValueExpr); ok {
						add(pair.Key)
					}
				}
			}
		}
	case *ast.CallExpr:
		if len(e.Args) == 1 && r.info.Types[e.Fun].IsType() {
			add(e.Args[0])
		}
	}
	if len(found) == 0 {
		found = []ast.Expr{e}
	}
	return found
}

// elements returns the values of a composite literal, without keys.
func elements(literal *ast.CompositeLit) []ast.Expr {
	all := slices.Clone(literal.Elts)
	for i, element := range all {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			all[i] = pair.Value
		}
	}
	return all
}

// field returns the value of the i-th field in a struct literal, or nil.
func (r *testReader) field(e ast.Expr, i int) ast.Expr {
	literal, ok := e.(*ast.CompositeLit)
	structure := r.structType(e)
	if !ok || structure == nil || len(literal.Elts) == 0 {
		return nil
	}
	if _, isKeyed := literal.Elts[0].(*ast.KeyValueExpr); isKeyed {
		return member(literal, structure.Field(i).Name())
	}
	return literal.Elts[min(i, len(literal.Elts)-1)]
}

func (r *testReader) structType(e ast.Expr) *types.Struct {
	if t := r.info.TypeOf(e); t != nil {
		structure, _ := valueType(t).Underlying().(*types.Struct)
		return structure
	}
	return nil
}

// example returns the values of the fields Input and Output of an example, a struct literal that
// has both.
func (r *testReader) example(e ast.Expr) (inputs, outputs []ast.Expr, ok bool) {
	structure := r.structType(e)
	if structure == nil {
		return nil, nil, false
	}
	missing := map[string]*[]ast.Expr{"Input": &inputs, "Output": &outputs}
	for i := range structure.NumFields() {
		name := structure.Field(i).Name()
		if value := r.field(e, i); missing[name] != nil && value != nil {
			*missing[name] = r.values(value)
		}
		delete(missing, name)
	}
	return inputs, outputs, len(missing) == 0
}

// rowOf returns the value of the k-th of n rows, or all values if there is not one for each row.
func rowOf(values []ast.Expr, k, n int) []ast.Expr {
	if len(values) == n {
		return values[k : k+1]
	}
	return values
}

// text returns the string that all values are, or "".
func (r *testReader) text(values []ast.Expr) (text string) {
	for i, value := range values {
		known := r.info.Types[value].Value
		if known == nil || known.Kind() != constant.String || i > 0 && constant.StringVal(known) != text {
			return ""
		}
		text = constant.StringVal(known)
	}
	return text
}

// valueType returns the type that a type is or points to.
func valueType(t types.Type) types.Type {
	if pointer, ok := t.Underlying().(*types.Pointer); ok {
		return pointer.Elem()
	}
	return t
}

// member returns the value of a key in a map or struct literal, or nil.
func member(literal *ast.CompositeLit, key string) ast.Expr {
	for _, element := range literal.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			ident, isIdent := pair.Key.(*ast.Ident)
			if text, _ := unquote(pair.Key); text == key || isIdent && ident.Name == key {
				return pair.Value
			}
		}
	}
	return nil
}
