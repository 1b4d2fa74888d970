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
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/petrock/petrock/core/schema"
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
		case isRetyped && file.IsTest():
			retyped.typ = qualified(literal, retyped.typ)
			ch.retype(file, pair, retyped)
		}
	}
	if ch.in.ReadFirst {
		return // new fields stay unset until they are written
	}
	for _, f := range edit.requiredIn(info.TypeOf(literal)) {
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
	keywords, isKnown := map[gen.FieldKind][3]string{ // the type and its limits
		gen.KindString: {"string", "minLength", "maxLength"}, gen.KindEnum: {"string"}, gen.KindBool: {"boolean"},
		gen.KindInt: {"integer", "minimum", "maximum"}, gen.KindInt64: {"integer", "minimum", "maximum"}, gen.KindFloat: {"number", "minimum", "maximum"},
	}[f.Type.Kind]
	rules := map[string]any{"type": keywords[0]}
	for i, limit := range []string{f.Min, f.Max} {
		if limit != "" {
			rules[keywords[i+1]] = json.RawMessage(limit)
		}
	}
	var values []string
	for _, v := range f.Type.Values {
		values = append(values, v.Text)
		rules["enum"] = values
	}
	text, err := json.Marshal(rules)
	if err != nil || !isKnown {
		return false
	}
	compiled, err := schema.Compile(text)
	return err == nil && compiled.Validate(data) == nil
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
		t := moment.UTC()
		return fmt.Sprintf("time.Date(%d, %d, %d, %d, %d, %d, %d, time.UTC)",
			t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond())
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
// names in the k-th of n rows; nil if there is none. seen are the expressions that it has looked at.
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

// readTools sets the types of the tools and prompts in packages that may use the edited types.
func (ch *changer) readTools(ctx context.Context) error {
	ch.tools, ch.typed = map[string]toolType{}, map[token.Pos]toolType{}
	packages, err := ch.engine.deriver.Packages(ctx, ch.view, ch.engine.onDisk().existingPlaces())
	if err != nil {
		return err
	}
	for _, home := range packages {
		for _, c := range home.Components {
			if !c.Kind.IsTool() && c.Kind != derive.Prompt || !slices.Contains(ch.dirs, home.Dir) {
				continue
			}
			pkg, _ := ch.pass.Package(home.Dir)
			_, method := declared(pkg, c)
			tool := typesOf(pkg, c, method)
			pos := namedPos(tool.input)
			if c.WritesOlder() || ch.in.ReadFirst && c.Name == ch.c.Name {
				tool.input = nil // JSON is of the older version
			}
			for _, name := range append([]string{c.Name}, c.Aliases...) {
				if _, isTaken := ch.tools[name]; !isTaken || c.Kind == ch.c.Kind {
					ch.tools[name] = tool
				}
			}
			if _, isShared := ch.typed[pos]; isShared || !pos.IsValid() {
				tool = toolType{}
			}
			ch.typed[pos] = tool
		}
	}
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

// requiredIn returns the fields that values of a type need now.
func (edit *fieldEdit) requiredIn(t types.Type) []typedField {
	return slices.DeleteFunc(slices.Clone(edit.required), func(f typedField) bool { return namedPos(t) != f.in.Obj().Pos() })
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
