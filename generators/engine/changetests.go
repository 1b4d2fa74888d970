package engine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strconv"

	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// A testEditor plans the changes to maps and JSON in the tests of one package.
type testEditor struct {
	*changer
	*testReader
	claimed map[ast.Expr]bool // inputs and outputs of calls
}

// editTests plans the changes to maps and JSON in tests: inputs and outputs of tools that have
// edited types. A call names the tool, or the input has its type.
func (ch *changer) editTests() {
	for _, inspected := range ch.packages() {
		t := testEditor{ch, newTestReader(inspected), map[ast.Expr]bool{}}
		for _, file := range inspected.Files {
			if file.IsTest() {
				for node := range ast.Preorder(file.Syntax) {
					t.visit(node)
				}
			}
		}
	}
}

func (t testEditor) visit(node ast.Node) {
	switch node := node.(type) {
	case *ast.CallExpr: // client.CheckTool(t, NAME, example)
		t.editCall(node.Args, true)
	case *ast.CompositeLit: // {NAME, mcptest.Example{…}}
		t.editCall(elements(node), false)
		if inputs, outputs, ok := t.example(node); ok && len(inputs) == 1 {
			t.editAll(outputs, t.typed[namedPos(t.info.TypeOf(inputs[0]))].output, t.outputEdit)
		}
	case *ast.BinaryExpr: // client.CallTool(NAME, …).Text() != `{…}`
		if node.Op == token.EQL || node.Op == token.NEQ {
			t.editCompared(node.X, node.Y)
			t.editCompared(node.Y, node.X)
		}
	}
}

// editCall edits the examples after the name of a tool in a list of expressions. If the list is the
// arguments of a call, the expression after the name may be the input itself.
func (t testEditor) editCall(list []ast.Expr, isCall bool) {
	isTool := func(name ast.Expr) bool { return t.tools[t.text([]ast.Expr{name})] != toolType{} }
	for i, e := range list {
		names := t.values(e)
		if !slices.ContainsFunc(names, isTool) {
			continue
		}
		for j, next := range list[i+1:] {
			values := t.values(next)
			for k, value := range values {
				names := rowOf(names, k, len(values))
				if isExample := t.editExamples(value, names); isCall && j == 0 && !isExample {
					t.editRows([]ast.Expr{value}, nil, names)
				}
			}
		}
		return
	}
}

// editExamples edits an example, or a list of them, of the tools with the given names. It reports
// whether the expression is one.
func (t testEditor) editExamples(e ast.Expr, names []ast.Expr) bool {
	inputs, outputs, ok := t.example(e)
	literal, isLiteral := e.(*ast.CompositeLit)
	switch {
	case ok:
		t.editRows(inputs, outputs, names)
	case isLiteral && t.structType(literal) == nil:
		for _, element := range elements(literal) {
			for _, value := range t.values(element) {
				ok = t.editExamples(value, names) || ok
			}
		}
	}
	return ok
}

// editRows edits inputs and outputs of the tools with the given names.
func (t testEditor) editRows(inputs, outputs, names []ast.Expr) {
	for k, e := range inputs {
		t.edit(e, t.tools[t.text(rowOf(names, k, len(inputs)))].input, t.inputEdit)
	}
	for k, e := range outputs {
		t.edit(e, t.tools[t.text(rowOf(names, k, len(outputs)))].output, t.outputEdit)
	}
}

// editCompared edits values that are compared with the result of a tool.
func (t testEditor) editCompared(compared, result ast.Expr) {
	values := t.values(compared)
	for k, e := range values {
		t.edit(e, t.outputIn(result, k, len(values), map[ast.Expr]bool{}), t.outputEdit)
	}
}

// outputIn returns the output type of the tool that an expression, or what it is computed from,
// names in the k-th of n rows; nil if there is none. seen are the expressions it has looked at.
func (t testEditor) outputIn(e ast.Expr, k, n int, seen map[ast.Expr]bool) types.Type {
	for node := range nodesOf[ast.Expr](e) {
		values := rowOf(t.values(node), k, n)
		found := t.tools[t.text(values)].output
		for _, value := range values {
			if found == nil && !seen[value] {
				seen[value] = true
				found = t.outputIn(value, k, n, seen)
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

func (t testEditor) editAll(list []ast.Expr, typ types.Type, edit *fieldEdit) {
	for _, e := range list {
		t.edit(e, typ, edit)
	}
}

// edit plans the change to a value of a type: JSON, or a map literal.
func (t testEditor) edit(e ast.Expr, typ types.Type, edit *fieldEdit) {
	file := t.view.FileAt(e.Pos())
	if typ == nil || file == nil || !file.IsTest() || t.claimed[e] {
		return
	}
	t.claimed[e] = true
	text, _ := unquote(e)
	if first := strictjson.First([]byte(text)); (first == '{' || first == '[') && strictjson.Check([]byte(text)) == nil {
		before, _ := strictjson.Marshal(json.RawMessage(text)) // without spaces; cannot fail: the text is valid
		if edited := t.editJSON(before, typ, edit); !bytes.Equal(edited, before) {
			t.replace(file, e.Pos(), e.End(), gen.RawString(string(edited)))
		}
	}
	if literal, ok := e.(*ast.CompositeLit); ok {
		t.editMap(file, literal, typ, edit)
	}
}

// editMap plans the change to a map literal, or a list of them, with values of a type. It renames
// and removes keys of fields. In an input, it also converts values, and adds samples of required
// fields, unless the map is empty.
func (t testEditor) editMap(file *typecheck.File, literal *ast.CompositeLit, typ types.Type, edit *fieldEdit) {
	under, isStruct := valueType(typ).Underlying().(*types.Struct)
	actual := t.info.TypeOf(literal)
	if actual == nil {
		return
	}
	if _, isMap := actual.Underlying().(*types.Map); !isStruct || !isMap {
		if elem, ok := valueType(typ).Underlying().(interface{ Elem() types.Type }); ok && namedPos(actual) == token.NoPos {
			for _, element := range elements(literal) {
				t.editAll(t.values(element), elem.Elem(), edit)
			}
		}
		return
	}
	for _, element := range literal.Elts {
		pair := element.(*ast.KeyValueExpr) // of a map
		key, _ := unquote(pair.Key)
		f := jsonFieldOf(under, key)
		if f == nil {
			continue
		}
		name := cmp.Or(t.jsonNames[f.Pos()], key)
		retyped, isRetyped := edit.retyped[f.Pos()]
		switch {
		case t.isRemoved(f):
			t.removeElement(file, pair)
			continue
		case isRetyped:
			t.retype(file, pair, retyped.inMap())
		default:
			t.editAll(t.values(pair.Value), f.Type(), edit)
		}
		if name != key {
			t.replace(file, pair.Key.Pos(), pair.Key.End(), strconv.Quote(name))
		}
	}
	for _, f := range edit.requiredIn(typ) {
		if value := f.inMap().code(t.sample(f.Field)); value != "" && len(literal.Elts) > 0 && member(literal, f.Name) == nil {
			t.addElement(file, literal, fmt.Sprintf("%q: %s", f.Name, value))
		}
	}
}

// jsonFieldOf returns the field of a struct with a JSON name, or nil.
func jsonFieldOf(structure *types.Struct, name string) *types.Var {
	for _, f := range derive.JSONFields(structure, false) {
		if f.Key == name {
			return f.Var.Origin()
		}
	}
	return nil
}

func (ch *changer) isRemoved(f *types.Var) bool {
	return slices.ContainsFunc(ch.fieldEdits(), func(edit *fieldEdit) bool { return edit.removed[f.Pos()] })
}

// editJSON returns a JSON value of a type after the change: it renames and removes members of
// objects. In an input, it also converts values and adds samples of required fields.
func (ch *changer) editJSON(value []byte, t types.Type, edit *fieldEdit) []byte {
	under := valueType(t).Underlying()
	structure, isStruct := under.(*types.Struct)
	container, isContainer := under.(interface{ Elem() types.Type })
	switch first := strictjson.First(value); {
	case first == '[' && isContainer:
		var items [][]byte
		_ = strictjson.Elements(value, func(item []byte) error {
			items = append(items, ch.editJSON(item, container.Elem(), edit))
			return nil
		})
		return slices.Concat([]byte("["), bytes.Join(items, []byte(",")), []byte("]"))
	case first != '{' || !isStruct && !isContainer:
		return value
	}
	known := map[string]bool{}
	edited := []byte("{")
	_ = strictjson.Members(value, func(key, value []byte) error {
		name := string(key)
		if isContainer { // a map
			value = ch.editJSON(value, container.Elem(), edit)
		} else if f := jsonFieldOf(structure, name); f != nil {
			if ch.isRemoved(f) {
				return nil
			}
			name = cmp.Or(ch.jsonNames[f.Pos()], name)
			value = ch.editJSON(value, f.Type(), edit)
			if retyped, ok := edit.retyped[f.Pos()]; ok {
				value = ch.converted(retyped.Field, value)
			}
		}
		known[name] = true
		edited = strictjson.AppendMember(edited, name, value)
		return nil
	})
	for _, f := range edit.requiredIn(t) {
		if !known[f.Name] {
			edited = strictjson.AppendMember(edited, f.Name, ch.sample(f.Field))
		}
	}
	return append(edited, '}')
}

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
