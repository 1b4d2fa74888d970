package engine

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"slices"

	"github.com/petrock/petrock/generators/typecheck"
)

// A testReader resolves expressions in the tests of a package to the literals that they stand for:
// through variables, fields of structs, and tables that a loop ranges over.
type testReader struct {
	info *types.Info
	set  map[token.Pos][]ast.Expr // values of variables, by the position of the declaration
}

// A row has the values of the variables of the loops around an expression, in one iteration.
type row map[token.Pos]ast.Expr

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

// walk calls visit for all nodes of a tree, and for those in the body of a loop over a table once
// for each row.
func (r *testReader) walk(root ast.Node, in row, visit func(ast.Node, row)) {
	ast.Inspect(root, func(node ast.Node) bool {
		if node != nil {
			visit(node, in)
		}
		loop, ok := node.(*ast.RangeStmt)
		if !ok {
			return true
		}
		r.walk(loop.X, in, visit)
		rows := r.rows(loop, in)
		if len(rows) == 0 {
			rows = []row{in}
		}
		for _, each := range rows {
			r.walk(loop.Body, each, visit)
		}
		return false
	})
}

// rows returns the iterations of a loop over a table.
func (r *testReader) rows(loop *ast.RangeStmt, in row) (all []row) {
	for _, table := range r.values(loop.X, in) {
		literal, ok := table.(*ast.CompositeLit)
		if !ok {
			continue
		}
		for _, element := range literal.Elts {
			each := maps.Clone(in)
			value := element
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				value = pair.Value
				r.bind(each, loop.Key, pair.Key)
			}
			r.bind(each, loop.Value, value)
			all = append(all, each)
		}
	}
	return all
}

func (r *testReader) bind(in row, variable, value ast.Expr) {
	if ident, ok := variable.(*ast.Ident); ok && r.info.Defs[ident] != nil {
		in[r.info.Defs[ident].Pos()] = value
	}
}

// values returns the expressions that an expression stands for. If it does not know them, it
// returns the expression itself.
func (r *testReader) values(e ast.Expr, in row) []ast.Expr { return r.resolve(e, in, 0) }

func (r *testReader) resolve(e ast.Expr, in row, depth int) (found []ast.Expr) {
	const maxDepth = 10 // a variable may be assigned from itself
	if depth > maxDepth || e == nil {
		return nil
	}
	add := func(list ...ast.Expr) {
		for _, e := range list {
			found = append(found, r.resolve(e, in, depth+1)...)
		}
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		add(e.X)
	case *ast.UnaryExpr:
		add(e.X)
	case *ast.Ident:
		if object := r.info.ObjectOf(e); object != nil {
			if value, ok := in[object.Pos()]; ok {
				add(value)
			} else {
				add(r.set[object.Pos()]...)
			}
		}
	case *ast.SelectorExpr:
		if selection := r.info.Selections[e]; selection != nil && selection.Kind() == types.FieldVal {
			bases := r.resolve(e.X, in, depth+1)
			for _, at := range selection.Index() {
				var next []ast.Expr
				for _, base := range bases {
					if value := r.field(base, at); value != nil {
						next = append(next, r.resolve(value, in, depth+1)...)
					}
				}
				bases = next
			}
			found = bases
		} else if object := r.info.Uses[e.Sel]; object != nil {
			add(r.set[object.Pos()]...)
		}
	case *ast.IndexExpr:
		for _, base := range r.resolve(e.X, in, depth+1) {
			if literal, ok := base.(*ast.CompositeLit); ok {
				add(elements(literal)...)
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
func (r *testReader) example(e ast.Expr, in row) (inputs, outputs []ast.Expr, ok bool) {
	structure := r.structType(e)
	if structure == nil {
		return nil, nil, false
	}
	missing := map[string]*[]ast.Expr{"Input": &inputs, "Output": &outputs}
	for i := range structure.NumFields() {
		name := structure.Field(i).Name()
		if value := r.field(e, i); missing[name] != nil && value != nil {
			*missing[name] = r.values(value, in)
		}
		delete(missing, name)
	}
	return inputs, outputs, len(missing) == 0
}

// text returns the string that an expression always has.
func (r *testReader) text(e ast.Expr, in row) (text string, ok bool) {
	for i, value := range r.values(e, in) {
		known := r.info.Types[value].Value
		if known == nil || known.Kind() != constant.String || i > 0 && constant.StringVal(known) != text {
			return "", false
		}
		text, ok = constant.StringVal(known), true
	}
	return text, ok
}

// valueType returns the type that a type is or points to.
func valueType(t types.Type) types.Type {
	if pointer, ok := t.Underlying().(*types.Pointer); ok {
		return pointer.Elem()
	}
	return t
}
