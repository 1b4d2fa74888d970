package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
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

// editLiterals plans the changes to composite literals: it removes removed fields, and converts values of fields
// that become pointers or stop to be. In tests, input fields that are required now or have another type get
// samples.
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
	if edit != ch.inputEdit {
		return
	}
	for _, f := range edit.required {
		if ch.structOf(info.TypeOf(literal)).Obj().Pos() != ch.structAt(edit.t, f.in).Obj().Pos() {
			continue
		}
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

// retype plans a value of the new type for an element of a struct or map literal. Without one, it removes the
// element.
func (ch *changer) retype(file *typecheck.File, element *ast.KeyValueExpr, f typedField) {
	start, end := element.Value.Pos(), element.Value.End()
	old := file.Text[ch.offset(start):ch.offset(end)]
	if value := f.code(ch.converted(f.Field, old)); value != "" {
		ch.replace(file, start, end, value)
	} else {
		ch.removeElement(file, element)
	}
}

// converted returns a value of a field that has another type now, as JSON: the old value if it is valid, else a
// sample.
func (ch *changer) converted(f gen.Field, old []byte) []byte {
	if isValid(f, old) {
		return old
	}
	return ch.sample(f)
}

// isValid reports whether data is a valid value of a field as JSON. It is false for types other than text,
// numbers and bool.
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

// editOtherTests plans the changes to tests of other components whose input contains an edited struct.
func (ch *changer) editOtherTests(ctx context.Context) error {
	places := slices.DeleteFunc(ch.engine.existingPlaces(), func(place derive.Place) bool { return !slices.Contains(ch.dirs, place.Dir) })
	packages, err := ch.engine.deriver.Packages(ctx, ch.view, places)
	for _, pkg := range packages {
		for _, c := range pkg.Components {
			other := *ch
			other.c, other.input, other.output, other.outputEdit = c, nil, nil, nil
			if other.pkg, _ = ch.pass.Package(pkg.Dir); !c.IsTool() || c.Name == ch.c.Name || other.resolve() != nil || other.input == nil {
				continue
			}
			if other.inputEdit = ch.editIn(other.input); other.inputEdit != nil {
				other.editTests()
			}
		}
	}
	return err
}

// editIn returns the change to the JSON of another input that contains edited structs, or nil.
func (ch *changer) editIn(input *types.Named) *fieldEdit {
	edit := &fieldEdit{t: input, rename: map[string]string{}, maps: map[string]bool{}}
	paths := map[string][]string{}
	edit.addPaths(paths, input, "", nil)
	in := func(prefix string) []string {
		if t := ch.structAt(ch.inputEdit.t, prefix); t != nil {
			return paths[typeKey(t)]
		}
		return nil
	}
	split := func(at string) (prefix, name string) {
		end := strings.LastIndex(at, ".") + 1
		return at[:end], at[end:]
	}
	for old, renamed := range ch.inputEdit.rename {
		prefix, name := split(old)
		for _, at := range in(prefix) {
			edit.rename[at+name] = at + strings.TrimPrefix(renamed, prefix)
		}
	}
	for _, removed := range ch.inputEdit.remove {
		prefix, name := split(removed)
		for _, at := range in(prefix) {
			edit.remove = append(edit.remove, at+name)
		}
	}
	for _, list := range []struct{ from, to *[]typedField }{{&ch.inputEdit.retypes, &edit.retypes}, {&ch.inputEdit.required, &edit.required}} {
		for _, f := range *list.from {
			for _, at := range in(f.in) {
				*list.to = append(*list.to, typedField{f.Field, at, f.typ})
			}
		}
	}
	if len(edit.rename)+len(edit.remove)+len(edit.retypes)+len(edit.required) == 0 {
		return nil
	}
	return edit
}

// addPaths adds the JSON paths of the structs that a type is or contains, with a dot at the end, by their types.
func (edit *fieldEdit) addPaths(paths map[string][]string, t types.Type, prefix string, within []string) {
	named := namedStruct(t)
	if named == nil {
		container, ok := types.Unalias(t).Underlying().(interface{ Elem() types.Type })
		if !ok {
			return
		}
		if _, isMap := container.(*types.Map); isMap {
			edit.maps[prefix] = true
			prefix += "*."
		}
		edit.addPaths(paths, container.Elem(), prefix, within)
		return
	}
	key := typeKey(named)
	if slices.Contains(within, key) {
		return
	}
	if !slices.Contains(paths[key], prefix) {
		paths[key] = append(paths[key], prefix)
	}
	within = append(slices.Clip(within), key)
	structure := named.Underlying().(*types.Struct)
	for f := range structure.Fields() {
		if f.Embedded() {
			edit.addPaths(paths, f.Type(), prefix, within)
		}
	}
	for _, f := range derive.JSONFields(structure, false) {
		edit.addPaths(paths, f.Var.Type(), prefix+f.Key+".", within)
	}
}

// inMap returns a field with its type in a map[string]any: not a pointer, and with strings as enums.
func (f typedField) inMap() typedField {
	f.typ = strings.TrimPrefix(f.typ, "*")
	if _, isEnum := f.Type.Enum(); isEnum {
		f.typ = f.typ[:strings.LastIndex(f.typ, "]")+1] + "string"
	}
	return f
}

// code returns a JSON value of a field as Go code, or "" if the type has no literals or the value is not valid.
func (f typedField) code(data []byte) string {
	if base, isPointer := strings.CutPrefix(f.typ, "*"); isPointer {
		value := typedField{Field: f.Field, typ: base}.code(data)
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
		elem := typedField{Field: gen.Field{Type: *f.Type.Elem}, typ: strings.TrimPrefix(f.typ, string(kind))}
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

// editTests plans the changes to maps and JSON in tests: arguments of calls of the tool, and inputs and outputs
// of its examples.
func (ch *changer) editTests() {
	for _, dir := range ch.dirs {
		for _, file := range ch.view.Files(dir) {
			for _, decl := range file.Syntax.Decls {
				if function, ok := decl.(*ast.FuncDecl); ok && function.Body != nil && file.IsTest() {
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
	inputs := map[ast.Expr]bool{}
	editInput := func(e ast.Expr) {
		inputs[e] = true
		ch.editArguments(file, e)
	}
	checksTool := false // client.CheckTool(t, NAME, example)
	for call := range nodesOf[*ast.CallExpr](test.Body) {
		if at := slices.IndexFunc(call.Args, isName); at >= 0 && at+1 < len(call.Args) {
			editInput(call.Args[at+1])
			selector, isMethod := call.Fun.(*ast.SelectorExpr)
			checksTool = checksTool || isMethod && strings.HasPrefix(selector.Sel.Name, "Check")
		}
	}
	for row := range nodesOf[*ast.CompositeLit](test.Body) {
		example, ok := row, checksTool
		if len(row.Elts) == 2 && isName(row.Elts[0]) { // {"posts_create", mcptest.Example{…}}
			example, ok = row.Elts[1].(*ast.CompositeLit)
		}
		if isName(member(row, "name")) { // {"name": NAME, "arguments": {…}}
			editInput(member(row, "arguments"))
		} else if ok {
			editInput(member(example, "Input"))
			ch.editJSON(file, member(example, "Output"), ch.outputEdit)
		}
	}
	for literal := range nodesOf[*ast.BasicLit](test.Body) {
		if file.Path == testPath(ch.c.File) && !inputs[literal] && ch.isOutput(literal) {
			ch.editJSON(file, literal, ch.outputEdit)
		}
	}
}

// isOutput reports whether a literal is a JSON object that has only fields of the output.
func (ch *changer) isOutput(literal *ast.BasicLit) bool {
	text, _ := unquote(literal)
	var members map[string]json.RawMessage
	if ch.outputEdit == nil || json.Unmarshal([]byte(text), &members) != nil {
		return false
	}
	for name := range members {
		if jsonField(ch.outputEdit.t, name) == nil && ch.outputEdit.rename[name] == "" {
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

// editArguments plans the change to arguments of the tool: JSON, or a map literal. It renames and removes keys,
// converts values, and adds samples of required fields, unless a map is empty.
func (ch *changer) editArguments(file *typecheck.File, arguments ast.Expr) {
	ch.editJSON(file, arguments, ch.inputEdit)
	literal, ok := arguments.(*ast.CompositeLit)
	if !ok || ch.inputEdit == nil || len(literal.Elts) == 0 {
		return
	}
	if _, isMap := literal.Type.(*ast.MapType); !isMap {
		return
	}
	for _, element := range literal.Elts {
		pair := element.(*ast.KeyValueExpr) // of a map
		text, _ := unquote(pair.Key)
		name := cmp.Or(ch.inputEdit.rename[text], text)
		if name != text {
			ch.replace(file, pair.Key.Pos(), pair.Key.End(), strconv.Quote(name))
		}
		if slices.Contains(ch.inputEdit.remove, text) {
			ch.removeElement(file, pair)
		}
		for _, f := range ch.inputEdit.retypes {
			if f.in == "" && f.Name == name {
				ch.retype(file, pair, f.inMap())
			}
		}
	}
	for _, f := range ch.inputEdit.required {
		if value := f.inMap().code(ch.sample(f.Field)); value != "" && f.in == "" && member(literal, f.Name) == nil {
			ch.addElement(file, literal, fmt.Sprintf("%q: %s", f.Name, value))
		}
	}
}

// editJSON plans the change to a string literal with a JSON object.
func (ch *changer) editJSON(file *typecheck.File, e ast.Expr, edit *fieldEdit) {
	text, ok := unquote(e)
	isObject := strictjson.First([]byte(text)) == '{' && strictjson.Check([]byte(text)) == nil
	if !ok || !isObject || edit == nil || ch.isPlanned(file, e.Pos()) {
		return
	}
	before, _ := strictjson.Marshal(json.RawMessage(text)) // without spaces; cannot fail: the text is valid
	if edited := ch.editValue(edit, before, ""); !bytes.Equal(edited, before) {
		ch.replace(file, e.Pos(), e.End(), gen.RawString(string(edited)))
	}
}

// editValue renames and removes members of the objects in a JSON value. In the input, it also converts values and
// adds samples of required fields. prefix is the JSON path of the value with a dot at the end, or "".
func (ch *changer) editValue(edit *fieldEdit, value []byte, prefix string) []byte {
	switch strictjson.First(value) {
	case '[':
		var items [][]byte
		_ = strictjson.Elements(value, func(item []byte) error {
			items = append(items, ch.editValue(edit, item, prefix))
			return nil
		})
		return slices.Concat([]byte("["), bytes.Join(items, []byte(",")), []byte("]"))
	case '{':
		return ch.editObject(edit, value, prefix)
	}
	return value
}

func (ch *changer) editObject(edit *fieldEdit, object []byte, prefix string) []byte {
	known := map[string]bool{}
	edited := []byte("{")
	_ = strictjson.Members(object, func(key, value []byte) error {
		at := prefix + string(key)
		if slices.Contains(edit.remove, at) {
			return nil
		}
		name := strings.TrimPrefix(cmp.Or(edit.rename[at], at), prefix)
		inner := at + "."
		if edit.maps[prefix] {
			inner = prefix + "*."
		}
		value = ch.editValue(edit, value, inner)
		for _, f := range edit.retypes {
			if edit == ch.inputEdit && f.in == prefix && f.Name == name {
				value = ch.converted(f.Field, value)
			}
		}
		known[name] = true
		edited = strictjson.AppendMember(edited, name, value)
		return nil
	})
	for _, f := range edit.required {
		if edit == ch.inputEdit && f.in == prefix && !known[f.Name] {
			edited = strictjson.AppendMember(edited, f.Name, ch.sample(f.Field))
		}
	}
	return append(edited, '}')
}
