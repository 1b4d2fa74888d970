package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// editLiterals plans the changes to composite literals: it removes removed fields, and converts
// values of fields that become pointers or stop to be. In tests, input fields that are required now
// or have another type get samples.
func (ch *changer) editLiterals(edit *fieldEdit) {
	for _, inspected := range ch.packages() {
		for _, file := range inspected.Files {
			for literal := range nodesOf[*ast.CompositeLit](file.Syntax) {
				if ch.structOf(inspected.Info.TypeOf(literal)) != nil && !file.IsDerived() {
					ch.editLiteral(edit, file, literal, inspected.Info)
				}
			}
		}
	}
}

func (ch *changer) editLiteral(edit *fieldEdit, file *typecheck.File, literal *ast.CompositeLit, info *types.Info) {
	set := map[string]bool{} // fields, by their new names in Go
	for _, element := range literal.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			return // without keys, it sets all fields
		}
		key, _ := pair.Key.(*ast.Ident)
		if info.Uses[key] == nil {
			continue
		}
		set[ch.nameOf(info.Uses[key])] = true
		at := origin(info.Uses[key]).Pos()
		typ, isWrapped := edit.wrapped[at]
		retyped, isRetyped := edit.retyped[at]
		call, isCall := pair.Value.(*ast.CallExpr)
		switch {
		case isWrapped:
			open, shut := pointerTo(qualified(literal, typ))
			ch.replace(file, pair.Value.Pos(), pair.Value.Pos(), open)
			ch.replace(file, pair.Value.End(), pair.Value.End(), shut)
		case ch.isInOlder(file, literal.Pos()): // a new version makes it a literal of the recorded type
		case edit.removed[at]:
			ch.removeElement(file, pair)
		case edit.unwrapped[at] && isCall && len(call.Args) == 1 && types.ExprString(call.Fun) == "new":
			ch.replace(file, call.Pos(), call.Args[0].Pos(), "")
			ch.replace(file, call.Args[0].End(), call.End(), "")
		case isRetyped && edit == ch.inputEdit && file.IsTest():
			retyped.typ = qualified(literal, retyped.typ)
			ch.retype(file, pair, retyped)
		}
	}
	if ch.in.ReadFirst {
		return // new fields stay unset until they are written
	}
	for _, f := range ch.required(info.TypeOf(literal), edit == ch.inputEdit) {
		f.typ = qualified(literal, f.typ)
		value := f.code(ch.sample(f.Field))
		switch at := ch.view.Fset().PositionFor(literal.Pos(), false); {
		case set[f.Go] || ch.isInOlder(file, literal.Pos()):
		case !file.IsTest():
			ch.plan.next = append(ch.plan.next, fmt.Sprintf("Set the required field %s in %s:%d.", f.Go, at.Filename, at.Line))
		case value != "":
			ch.addElement(file, literal, f.Go+": "+value)
		}
	}
}

// qualified returns a type of the package of a literal's type, as the literal's file names it.
func qualified(literal *ast.CompositeLit, name string) string {
	selector, ok := literal.Type.(*ast.SelectorExpr)
	at := strings.LastIndexAny(name, "*]") + 1 // of the element of a pointer, list or map
	if ok && types.Universe.Lookup(name[at:]) == nil && !strings.Contains(name, ".") {
		return name[:at] + types.ExprString(selector.X) + "." + name[at:]
	}
	return name
}

// pointerTo returns the code around a value of a type that makes it a pointer.
func pointerTo(typ string) (open, shut string) {
	if slices.Contains([]string{"string", "bool", "int", "time.Time"}, typ) {
		return "new(", ")"
	}
	return "new(" + typ + "(", "))"
}

// retype plans a value of the new type for an element of a struct or map literal. Without one, it
// removes the element.
func (ch *changer) retype(file *typecheck.File, element *ast.KeyValueExpr, f typedField) {
	start, end := element.Value.Pos(), element.Value.End()
	old := file.Text[ch.offset(start):ch.offset(end)]
	if value := f.code(ch.converted(f.Field, old)); value != "" {
		ch.replace(file, start, end, value)
	} else {
		ch.removeElement(file, element)
	}
}

// converted returns a value of a field that has another type now, as JSON: the old value if it is
// valid, else a sample.
func (ch *changer) converted(f gen.Field, old []byte) []byte {
	if isValid(f, old) {
		return old
	}
	return ch.sample(f)
}

// isValid reports whether data is a valid value of a field as JSON. It is false for types other
// than text, numbers and bool.
func isValid(f gen.Field, data []byte) bool {
	var value any
	if json.Unmarshal(data, &value) != nil {
		return false
	}
	size := 0.0
	switch value := value.(type) {
	case bool:
		return f.Type.Kind == gen.KindBool
	case string:
		if f.Type.Kind != gen.KindString {
			return f.Type.Kind == gen.KindEnum && slices.ContainsFunc(f.Type.Values, func(v gen.EnumValue) bool { return v.Text == value })
		}
		size = float64(utf8.RuneCountInString(value))
	case float64:
		isInt := f.Type.Kind == gen.KindInt || f.Type.Kind == gen.KindInt64
		if f.Type.Kind != gen.KindFloat && !(isInt && value == math.Trunc(value)) {
			return false
		}
		size = value
	default:
		return false
	}
	least, leastErr := strconv.ParseFloat(cmp.Or(f.Min, "-Inf"), 64)
	most, mostErr := strconv.ParseFloat(cmp.Or(f.Max, "+Inf"), 64)
	return leastErr == nil && mostErr == nil && least <= size && size <= most
}

// inMap returns a field with its type in a map[string]any: not a pointer, and with strings as
// enums.
func (f typedField) inMap() typedField {
	f.typ = strings.TrimPrefix(f.typ, "*")
	if _, isEnum := f.Type.Enum(); isEnum {
		f.typ = f.typ[:strings.LastIndex(f.typ, "]")+1] + "string"
	}
	return f
}

// code returns a JSON value of a field as Go code, or "" if the type has no literals or the value
// is not valid.
func (f typedField) code(data []byte) string {
	if base, isPointer := strings.CutPrefix(f.typ, "*"); isPointer {
		value := typedField{f.Field, f.in, base}.code(data)
		if value == "" {
			return ""
		}
		open, shut := pointerTo(base)
		return open + value + shut
	}
	var text string
	var moment time.Time
	var binary []byte
	var items []json.RawMessage
	var entries map[string]json.RawMessage
	isA := func(value any) bool { return json.Unmarshal(data, value) == nil }
	switch kind := f.Type.Kind; {
	case (kind == gen.KindString || kind == gen.KindEnum) && isA(&text):
		return strconv.Quote(text)
	case slices.Contains([]gen.FieldKind{gen.KindInt, gen.KindInt64, gen.KindFloat, gen.KindBool, gen.KindDuration}, kind):
		return string(data)
	case kind == gen.KindTime && isA(&moment):
		return moment.UTC().Format("time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)")
	case kind == gen.KindBytes && isA(&binary):
		return fmt.Sprintf("[]byte(%q)", binary)
	case kind == gen.KindList && isA(&items), kind == gen.KindMap && isA(&entries):
		elem := typedField{gen.Field{Type: *f.Type.Elem}, f.in, strings.TrimPrefix(f.typ, string(kind))}
		keys := slices.Sorted(maps.Keys(entries))
		for _, key := range keys {
			items = append(items, entries[key])
		}
		var codes []string
		for i, item := range items {
			code := elem.code(item)
			if code == "" {
				return ""
			}
			if kind == gen.KindMap {
				code = strconv.Quote(keys[i]) + ": " + code
			}
			codes = append(codes, code)
		}
		return f.typ + "{" + strings.Join(codes, ", ") + "}"
	}
	return ""
}

// sample returns a valid value of a field as JSON: its value in stored events, or else an example.
func (ch *changer) sample(f gen.Field) []byte {
	isText := f.Type.Kind == gen.KindString || f.Type.Kind == gen.KindEnum
	data, _ := strictjson.Marshal(f.Sample()) // cannot fail: samples are plain values
	for _, text := range ch.in.Default {
		if given, ok := strings.CutPrefix(text, f.Name+"="); ok {
			if data = []byte(given); !json.Valid(data) || isText && strictjson.First(data) != '"' {
				data = []byte(strconv.Quote(given))
			}
		}
	}
	return data
}

// addElement plans another element of a composite literal, after those that are not removed.
func (ch *changer) addElement(file *typecheck.File, literal *ast.CompositeLit, text string) {
	for _, last := range slices.Backward(literal.Elts) {
		start := ch.offset(last.Pos())
		isRemoval := func(e textEdit) bool { return e.start == start && e.end > start && e.text == "" }
		if !slices.ContainsFunc(ch.edits[file.Path], isRemoval) {
			ch.replace(file, last.End(), last.End(), ", "+text)
			return
		}
	}
	ch.replace(file, literal.Rbrace, literal.Rbrace, text+",")
}

// removeElement plans to remove an element of a composite literal with its comma.
func (ch *changer) removeElement(file *typecheck.File, element *ast.KeyValueExpr) {
	end := element.End()
	if rest := file.Text[ch.offset(end):]; len(rest) > 0 && rest[0] == ',' {
		end++
	}
	ch.replace(file, element.Pos(), end, "")
}

// A toolType is the types of a tool's input and output.
type toolType struct{ input, output types.Type }

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
				t.walk(file.Syntax, row{}, t.visit)
			}
		}
		for _, file := range inspected.Files {
			for literal := range nodesOf[*ast.BasicLit](file.Syntax) {
				if file.Path == testPath(ch.c.File) && !t.claimed[literal] && ch.isOutput(literal) {
					t.edit(literal, ch.output, false)
				}
			}
		}
	}
}

func (t testEditor) visit(node ast.Node, in row) {
	switch node := node.(type) {
	case *ast.CallExpr:
		t.visitCall(node, in)
	case *ast.CompositeLit:
		t.visitLiteral(node, in)
	case *ast.BinaryExpr: // client.CallTool(NAME, …).Text() != `{…}`
		for _, sides := range [][2]ast.Expr{{node.X, node.Y}, {node.Y, node.X}} {
			if tool, ok := t.called(sides[0], in, map[ast.Expr]bool{}); ok && (node.Op == token.EQL || node.Op == token.NEQ) {
				t.editAll(t.values(sides[1], in), tool.output, false)
			}
		}
	}
}

// visitCall edits the input, or the examples, that follow the name of a tool in a call.
func (t testEditor) visitCall(call *ast.CallExpr, in row) {
	for i, argument := range call.Args {
		name, _ := t.text(argument, in)
		tool, isTool := t.tools[name]
		if !isTool {
			continue
		}
		for j, next := range call.Args[i+1:] {
			for _, value := range t.values(next, in) {
				if isExample := t.editExamples(value, tool, in); j == 0 && !isExample {
					t.edit(value, tool.input, true)
				}
			}
		}
		return
	}
}

// editExamples edits an example, or a list of them. It reports whether the expression is one.
func (t testEditor) editExamples(e ast.Expr, tool toolType, in row) bool {
	inputs, outputs, ok := t.example(e, in)
	literal, isLiteral := e.(*ast.CompositeLit)
	switch {
	case ok:
		t.editAll(inputs, tool.input, true)
		t.editAll(outputs, tool.output, false)
	case isLiteral && t.structType(literal) == nil:
		for _, element := range elements(literal) {
			for _, value := range t.values(element, in) {
				ok = t.editExamples(value, tool, in) || ok
			}
		}
	}
	return ok
}

// visitLiteral edits a request or a row of a table that names a tool, and an example whose input
// has the type of one.
func (t testEditor) visitLiteral(literal *ast.CompositeLit, in row) {
	if name, ok := t.text(member(literal, "name"), in); ok { // {"name": NAME, "arguments": {…}}
		if tool, ok := t.tools[name]; ok {
			t.editAll(t.values(member(literal, "arguments"), in), tool.input, true)
		}
	}
	list := elements(literal)
	for _, element := range list { // {NAME, mcptest.Example{…}}
		name, _ := t.text(element, in)
		if tool, ok := t.tools[name]; ok {
			for _, other := range list {
				if _, _, isExample := t.example(other, in); isExample {
					t.editExamples(other, tool, in)
				}
			}
		}
	}
	inputs, outputs, ok := t.example(literal, in)
	if !ok || len(inputs) != 1 {
		return
	}
	if tool, ok := t.typed[namedPos(t.info.TypeOf(inputs[0]))]; ok {
		t.editAll(outputs, tool.output, false)
	}
}

// called returns the tool whose result an expression is, or is computed from. seen are the
// expressions that it has looked at.
func (t testEditor) called(e ast.Expr, in row, seen map[ast.Expr]bool) (found toolType, ok bool) {
	for node := range nodesOf[ast.Expr](e) {
		for _, value := range t.values(node, in) {
			call, isCall := value.(*ast.CallExpr)
			if !isCall || seen[call] {
				continue
			}
			seen[call] = true
			for _, argument := range call.Args {
				name, _ := t.text(argument, in)
				if found, ok = t.tools[name]; ok {
					return found, true
				}
			}
			if found, ok = t.called(call, in, seen); ok {
				return found, true
			}
		}
	}
	return found, false
}

func (t testEditor) editAll(list []ast.Expr, typ types.Type, isInput bool) {
	for _, e := range list {
		t.edit(e, typ, isInput)
	}
}

// edit plans the change to a value of a type: JSON, or a map literal.
func (t testEditor) edit(e ast.Expr, typ types.Type, isInput bool) {
	file := t.view.FileAt(e.Pos())
	if file == nil || !file.IsTest() || t.claimed[e] {
		return
	}
	t.claimed[e] = true
	if typ == nil {
		return
	}
	text, _ := unquote(e)
	if first := strictjson.First([]byte(text)); (first == '{' || first == '[') && strictjson.Check([]byte(text)) == nil {
		before, _ := strictjson.Marshal(json.RawMessage(text)) // without spaces; cannot fail: the text is valid
		if edited := t.editJSON(before, typ, isInput); !bytes.Equal(edited, before) {
			t.replace(file, e.Pos(), e.End(), gen.RawString(string(edited)))
		}
	}
	if literal, ok := e.(*ast.CompositeLit); ok {
		t.editMap(file, literal, typ, isInput)
	}
}

// readTools sets the types of all tools and prompts. Those in packages that cannot use the edited
// types are nil.
func (ch *changer) readTools(ctx context.Context) error {
	ch.tools, ch.typed = map[string]toolType{}, map[token.Pos]toolType{}
	packages, err := ch.engine.deriver.Packages(ctx, ch.view, ch.engine.existingPlaces())
	if err != nil {
		return err
	}
	shared := map[token.Pos]bool{}
	for _, home := range packages {
		for _, c := range home.Components {
			if !c.Kind.IsTool() && c.Kind != derive.Prompt {
				continue
			}
			var tool toolType
			if slices.Contains(ch.dirs, home.Dir) {
				pkg, _ := ch.pass.Package(home.Dir)
				_, method := declared(pkg, c)
				tool = typesOf(pkg, c, method)
			}
			pos := namedPos(tool.input)
			if c.WritesOlder() || ch.in.ReadFirst && c.Name == ch.c.Name {
				tool.input = nil // JSON is of the older version
			}
			for _, name := range append([]string{c.Name}, c.Aliases...) {
				if _, isTaken := ch.tools[name]; !isTaken || c.Kind == ch.c.Kind {
					ch.tools[name] = tool
				}
			}
			_, shared[pos] = ch.typed[pos]
			ch.typed[pos] = tool
		}
	}
	maps.DeleteFunc(ch.typed, func(pos token.Pos, _ toolType) bool { return shared[pos] || !pos.IsValid() })
	return nil
}

// namedPos returns the position of the declaration of a type that is named or points to a named
// one.
func namedPos(t types.Type) token.Pos {
	if t == nil {
		return token.NoPos
	}
	if named, ok := types.Unalias(valueType(t)).(*types.Named); ok {
		return named.Obj().Pos()
	}
	return token.NoPos
}

// isOutput reports whether a literal is a JSON object that has only fields of the output.
func (ch *changer) isOutput(literal *ast.BasicLit) bool {
	text, _ := unquote(literal)
	var members map[string]json.RawMessage
	if ch.outputEdit == nil || json.Unmarshal([]byte(text), &members) != nil {
		return false
	}
	for name := range members {
		if derive.FieldAt(ch.outputEdit.t, name) == nil {
			return false
		}
	}
	return true
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

// editMap plans the change to a map literal, or a list of them, with values of a type. It renames
// and removes keys of fields. In an input, it also converts values, and adds samples of required
// fields, unless the map is empty.
func (t testEditor) editMap(file *typecheck.File, literal *ast.CompositeLit, typ types.Type, isInput bool) {
	under, isStruct := valueType(typ).Underlying().(*types.Struct)
	actual := t.info.TypeOf(literal)
	if actual == nil {
		return
	}
	if _, isMap := actual.Underlying().(*types.Map); !isStruct || !isMap {
		if elem, ok := valueType(typ).Underlying().(interface{ Elem() types.Type }); ok && namedPos(actual) == token.NoPos {
			for _, element := range elements(literal) {
				t.editAll(t.values(element, row{}), elem.Elem(), isInput)
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
		retyped, isRetyped := t.retyped(f, isInput)
		switch {
		case t.isRemoved(f):
			t.removeElement(file, pair)
			continue
		case isRetyped:
			t.retype(file, pair, retyped.inMap())
		default:
			t.editAll(t.values(pair.Value, row{}), f.Type(), isInput)
		}
		if name != key {
			t.replace(file, pair.Key.Pos(), pair.Key.End(), strconv.Quote(name))
		}
	}
	for _, f := range t.required(typ, isInput && len(literal.Elts) > 0) {
		if value := f.inMap().code(t.sample(f.Field)); value != "" && member(literal, f.Name) == nil {
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

// retyped returns the new type of a field of an input.
func (ch *changer) retyped(f *types.Var, isInput bool) (typedField, bool) {
	if !isInput || ch.inputEdit == nil {
		return typedField{}, false
	}
	retyped, ok := ch.inputEdit.retyped[f.Pos()]
	return retyped, ok
}

// required returns the fields that values of a type in an input need now.
func (ch *changer) required(t types.Type, isInput bool) []typedField {
	if !isInput || ch.inputEdit == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(ch.inputEdit.required), func(f typedField) bool { return namedPos(t) != f.in.Obj().Pos() })
}

// editJSON returns a JSON value of a type after the change: it renames and removes members of
// objects. In an input, it also converts values and adds samples of required fields.
func (ch *changer) editJSON(value []byte, t types.Type, isInput bool) []byte {
	under := valueType(t).Underlying()
	structure, isStruct := under.(*types.Struct)
	container, isContainer := under.(interface{ Elem() types.Type })
	switch first := strictjson.First(value); {
	case first == '[' && isContainer:
		var items [][]byte
		_ = strictjson.Elements(value, func(item []byte) error {
			items = append(items, ch.editJSON(item, container.Elem(), isInput))
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
			value = ch.editJSON(value, container.Elem(), isInput)
		} else if f := jsonFieldOf(structure, name); f != nil {
			if ch.isRemoved(f) {
				return nil
			}
			name = cmp.Or(ch.jsonNames[f.Pos()], name)
			value = ch.editJSON(value, f.Type(), isInput)
			if retyped, ok := ch.retyped(f, isInput); ok {
				value = ch.converted(retyped.Field, value)
			}
		}
		known[name] = true
		edited = strictjson.AppendMember(edited, name, value)
		return nil
	})
	for _, f := range ch.required(t, isInput) {
		if !known[f.Name] {
			edited = strictjson.AppendMember(edited, f.Name, ch.sample(f.Field))
		}
	}
	return append(edited, '}')
}
