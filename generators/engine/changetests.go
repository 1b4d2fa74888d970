package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// editLiterals plans the changes to composite literals of a struct: it removes removed fields, converts
// values of fields that become pointers or stop to be, and in tests adds samples of required fields.
func (ch *changer) editLiterals(edit *fieldEdit) {
	for inspected := range ch.packages() {
		for _, file := range inspected.Files {
			for literal := range nodesOf[*ast.CompositeLit](file.Syntax) {
				if named := ch.structOf(inspected.Info.TypeOf(literal)); named != nil && !file.IsDerived() {
					ch.editLiteral(edit, file, literal, inspected.Info, named.Obj().Pos() == edit.t.Obj().Pos())
				}
			}
		}
	}
}

func (ch *changer) editLiteral(edit *fieldEdit, file *typecheck.File, literal *ast.CompositeLit, info *types.Info, isTarget bool) {
	set := map[string]bool{} // JSON names of the required fields that it sets
	keyed := true
	for _, element := range literal.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			keyed = false
			continue
		}
		key, ok := pair.Key.(*ast.Ident)
		if !ok || info.Uses[key] == nil {
			continue
		}
		pos := origin(info.Uses[key]).Pos()
		set[edit.missing[pos].Name] = true
		switch conversion, isPointer := edit.pointers[pos]; {
		case edit.removed[pos]:
			ch.removeElement(file, pair)
		case edit.isInput && edit.retyped[pos].Name != "":
			ch.retype(file, pair.Value, edit.retyped[pos], qualified(literal, edit.enums[pos]))
		case isPointer && conversion.wrap:
			open, shut := "new(", ")"
			if conversion.typ != "" {
				open, shut = "new("+qualified(literal, conversion.typ)+"(", "))"
			}
			ch.replace(file, pair.Value.Pos(), pair.Value.Pos(), open)
			ch.replace(file, pair.Value.End(), pair.Value.End(), shut)
		case isPointer:
			if call, ok := pair.Value.(*ast.CallExpr); ok && len(call.Args) == 1 && types.ExprString(call.Fun) == "new" {
				ch.replace(file, call.Pos(), call.Args[0].Pos(), "")
				ch.replace(file, call.Args[0].End(), call.End(), "")
			}
		}
	}
	if !isTarget || !edit.isInput || !keyed && len(literal.Elts) > 0 {
		return
	}
	for _, f := range edit.required {
		if set[f.Name] {
			continue
		}
		at := ch.view.Fset().PositionFor(literal.Pos(), false)
		value, ok := ch.sampleCode(f)
		switch {
		case !file.IsTest() && ch.owns(file) && file.Path != ch.c.File: // an older version
		case !file.IsTest():
			ch.plan.next = append(ch.plan.next, fmt.Sprintf("Set the required field %s in %s:%d.", f.Go, at.Filename, at.Line))
		case !ok:
		case len(literal.Elts) == 0:
			ch.replace(file, literal.Rbrace, literal.Rbrace, f.Go+": "+value+",")
		default:
			end := literal.Elts[len(literal.Elts)-1].End()
			ch.replace(file, end, end, ", "+f.Go+": "+value)
		}
	}
}

// retype plans a value of the new type for a field, in tests. Other code is for the caller to change. named is
// the type if it is an enum.
func (ch *changer) retype(file *typecheck.File, value ast.Expr, f gen.Field, named string) {
	sample, ok := ch.sampleCode(f)
	if !ok || !file.IsTest() {
		return
	}
	switch {
	case f.Optional && named != "":
		sample = "new(" + named + "(" + sample + "))"
	case f.Optional:
		sample = "new(" + sample + ")"
	}
	ch.replace(file, value.Pos(), value.End(), sample)
	ch.noteRemoved(file, value)
}

// qualified returns a type of the package of a literal's type, as the literal's file names it.
func qualified(literal *ast.CompositeLit, name string) string {
	if name == "" {
		return ""
	}
	if selector, ok := literal.Type.(*ast.SelectorExpr); ok && types.Universe.Lookup(name) == nil && !strings.Contains(name, ".") {
		return types.ExprString(selector.X) + "." + name
	}
	return name
}

// sampleCode returns a valid value of a field as Go code: its value in stored events, or else a sample. It
// returns false for types whose zero value is valid.
func (ch *changer) sampleCode(f gen.Field) (string, bool) {
	value := fmt.Sprint(f.Sample())
	for _, text := range ch.in.Default {
		if name, given, ok := strings.Cut(text, "="); ok && name == f.Name {
			if value = given; json.Unmarshal([]byte(given), &value) != nil {
				value = given
			}
		}
	}
	switch f.Type.Kind {
	case gen.KindString, gen.KindEnum:
		return strconv.Quote(value), true
	case gen.KindInt, gen.KindInt64, gen.KindFloat, gen.KindBool:
		return value, json.Valid([]byte(value))
	}
	return "", false
}

// editTestJSON plans the changes to JSON in tests: arguments of calls of the tool, and inputs and outputs
// of its examples.
func (ch *changer) editTestJSON() {
	for _, dir := range ch.dirs {
		for _, file := range ch.view.Files(dir) {
			if !file.IsTest() {
				continue
			}
			for _, decl := range file.Syntax.Decls {
				if function, ok := decl.(*ast.FuncDecl); ok && function.Body != nil {
					ch.editTest(file, function)
				}
			}
		}
	}
}

func (ch *changer) editTest(file *typecheck.File, test *ast.FuncDecl) {
	isName := func(e ast.Expr) bool {
		text, ok := unquote(e)
		return ok && text == ch.c.Name
	}
	checksTool := false // client.CheckTool(t, NAME, example)
	for call := range nodesOf[*ast.CallExpr](test.Body) {
		if at := slices.IndexFunc(call.Args, isName); at >= 0 && at+1 < len(call.Args) {
			selector, isMethod := call.Fun.(*ast.SelectorExpr)
			switch argument := call.Args[at+1].(type) {
			case *ast.BasicLit:
				ch.editJSON(file, argument, ch.inputEdit)
			case *ast.CompositeLit:
				ch.editMap(file, argument)
			default:
				checksTool = checksTool || isMethod && strings.HasPrefix(selector.Sel.Name, "Check")
			}
		}
	}
	for row := range nodesOf[*ast.CompositeLit](test.Body) {
		if isName(member(row, "name")) { // {"name": NAME, "arguments": …}
			if arguments, ok := member(row, "arguments").(*ast.CompositeLit); ok {
				ch.editMap(file, arguments)
			}
			continue
		}
		example, ok := row, checksTool && !isStep(row)
		if len(row.Elts) == 2 && isName(row.Elts[0]) { // {"posts_create", mcptest.Example{…}}
			example, ok = row.Elts[1].(*ast.CompositeLit)
		}
		if !ok {
			continue
		}
		for _, element := range example.Elts {
			pair, ok := element.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			key, _ := pair.Key.(*ast.Ident)
			literal, isLiteral := pair.Value.(*ast.BasicLit)
			switch {
			case key == nil || !isLiteral:
			case key.Name == "Input" && ch.c.Kind != derive.Resource:
				ch.editJSON(file, literal, ch.inputEdit)
			case key.Name == "Output":
				ch.editJSON(file, literal, ch.outputEdit)
			}
		}
	}
	if file.Path == testPath(ch.c.File) {
		ch.editOutputs(file, test)
	}
}

// editOutputs plans the changes to other string literals of the component's test that are its output.
func (ch *changer) editOutputs(file *typecheck.File, test *ast.FuncDecl) {
	if ch.outputEdit == nil {
		return
	}
	for literal := range nodesOf[*ast.BasicLit](test.Body) {
		text, _ := unquote(literal)
		var members map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &members) != nil || len(members) == 0 {
			continue
		}
		isOutput := true
		for name := range members {
			isOutput = isOutput && jsonField(ch.outputEdit.t, name) != nil
		}
		if isOutput {
			ch.editJSON(file, literal, ch.outputEdit)
		}
	}
}

// member returns the value of a string key in a map literal, or nil.
func member(literal *ast.CompositeLit, key string) ast.Expr {
	for _, element := range literal.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			if text, ok := unquote(pair.Key); ok && text == key {
				return pair.Value
			}
		}
	}
	return nil
}

// editMap plans the change to a map literal with arguments: it renames and removes keys, and adds samples of
// required fields, unless the map is empty.
func (ch *changer) editMap(file *typecheck.File, literal *ast.CompositeLit) {
	if _, isMap := literal.Type.(*ast.MapType); !isMap || ch.inputEdit == nil {
		return
	}
	for _, element := range literal.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		text, _ := unquote(pair.Key)
		if name, renamed := ch.inputEdit.rename[text]; renamed {
			ch.replace(file, pair.Key.Pos(), pair.Key.End(), strconv.Quote(name))
		}
		if slices.Contains(ch.inputEdit.remove, text) {
			ch.removeElement(file, pair)
		}
	}
	for _, f := range ch.inputEdit.required {
		if value, ok := ch.sampleCode(f); ok && len(literal.Elts) > 0 && member(literal, f.Name) == nil {
			end := literal.Elts[len(literal.Elts)-1].End()
			ch.replace(file, end, end, fmt.Sprintf(", %q: %s", f.Name, value))
		}
	}
}

// removeElement plans to remove an element of a composite literal with its comma.
func (ch *changer) removeElement(file *typecheck.File, element *ast.KeyValueExpr) {
	end := element.End()
	if rest := file.Text[ch.offset(end):]; len(rest) > 0 && rest[0] == ',' {
		end++
	}
	ch.replace(file, element.Pos(), end, "")
	ch.noteRemoved(file, element.Value)
}

// isStep reports whether a literal is a row with a tool's name and an example.
func isStep(row *ast.CompositeLit) bool {
	if len(row.Elts) != 2 {
		return false
	}
	_, ok := row.Elts[0].(*ast.BasicLit)
	return ok
}

// editJSON plans the change to a string literal that holds a JSON object.
func (ch *changer) editJSON(file *typecheck.File, literal *ast.BasicLit, edit *fieldEdit) {
	text, ok := unquote(literal)
	if !ok || edit == nil || ch.isPlanned(file, literal.Pos()) || !json.Valid([]byte(text)) || strictjson.First([]byte(text)) != '{' {
		return
	}
	edited := edit.editObject([]byte(text), "")
	if string(edited) != text {
		ch.replace(file, literal.Pos(), literal.End(), gen.RawString(string(edited)))
	}
}

// editObject renames, removes and adds members of a JSON object. prefix is its path, with a dot at the end.
func (edit *fieldEdit) editObject(object []byte, prefix string) []byte {
	var members []string
	known := map[string]bool{}
	err := strictjson.Object(object, func(key, value []byte) error {
		at := prefix + string(key)
		if slices.Contains(edit.remove, at) {
			return nil
		}
		name := string(key)
		if renamed, ok := edit.rename[at]; ok {
			name = strings.TrimPrefix(renamed, prefix)
		}
		known[name] = true
		members = append(members, strconv.Quote(name)+":"+string(edit.editValue(value, at+".")))
		return nil
	})
	if err != nil {
		return object
	}
	added := edit.required
	if !edit.isInput {
		added = edit.added
	}
	for _, f := range added {
		value, err := strictjson.Marshal(f.Sample())
		if !edit.isInput {
			value = zeroJSON(f)
		}
		if prefix == "" && !known[f.Name] && err == nil && len(value) > 0 {
			members = append(members, strconv.Quote(f.Name)+":"+string(value))
		}
	}
	changed := []byte("{" + strings.Join(members, ",") + "}")
	if sameJSON(changed, object) {
		return object
	}
	return changed
}

func (edit *fieldEdit) editValue(value []byte, prefix string) []byte {
	switch strictjson.First(value) {
	case '{':
		return edit.editObject(value, prefix)
	case '[':
		var items []string
		if strictjson.Array(value, func(item []byte) error {
			items = append(items, string(edit.editValue(item, prefix)))
			return nil
		}) == nil {
			return []byte("[" + strings.Join(items, ",") + "]")
		}
	}
	return value
}

// zeroJSON returns the JSON of the zero value of an output field. It is empty if it is left out.
func zeroJSON(f gen.Field) []byte {
	if f.Optional {
		return nil
	}
	zeros := map[gen.FieldKind]string{
		gen.KindString: `""`, gen.KindEnum: `""`, gen.KindInt: "0", gen.KindInt64: "0", gen.KindFloat: "0",
		gen.KindBool: "false", gen.KindList: "[]", gen.KindMap: "{}",
	}
	return []byte(zeros[f.Type.Kind])
}

func sameJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
