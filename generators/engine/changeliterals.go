package engine

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/petrock/petrock/core/civil"
	"github.com/petrock/petrock/core/strictjson"
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

// requiredIn returns the fields that values of a type need now.
func (edit *fieldEdit) requiredIn(t types.Type) []typedField {
	return slices.DeleteFunc(slices.Clone(edit.required), func(f typedField) bool { return namedPos(t) != f.in.Obj().Pos() })
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

// converted returns a value of a field that has another type now, as JSON: the old value, or a list
// of it, if it is valid, else a sample.
func (ch *changer) converted(f gen.Field, old []byte) []byte {
	switch isJSON := json.Valid(old); {
	case isJSON && f.Allows(json.RawMessage(old)):
		return old
	case isJSON && f.Type.Kind == gen.KindList && (gen.Field{Type: *f.Type.Elem}).Allows(json.RawMessage(old)):
		return fmt.Appendf(nil, "[%s]", old)
	}
	return ch.sample(f)
}

// sample returns a valid value of a field as JSON: its value in stored events, or else an example.
func (ch *changer) sample(f gen.Field) []byte {
	isText := f.Type.IsText()
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
	var day civil.Date
	var wait civil.Duration
	var binary []byte
	var items []json.RawMessage
	var entries map[string]json.RawMessage
	isA := func(value any) bool { return json.Unmarshal(data, value) == nil }
	switch kind := f.Type.Kind; {
	case f.Type.IsText() && isA(&text):
		return strconv.Quote(text)
	case slices.Contains([]gen.FieldKind{gen.KindInt, gen.KindInt64, gen.KindFloat, gen.KindBool}, kind):
		return string(data)
	case kind == gen.KindDuration && isA(&wait):
		return strconv.FormatInt(int64(wait), 10)
	case kind == gen.KindDate && isA(&day):
		at := day.In(time.UTC)
		return fmt.Sprintf("%s(%d, %d, %d)", strings.Replace(f.typ, "Date", "NewDate", 1), at.Year(), at.Month(), at.Day())
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

// inMap returns a field with its type in a map[string]any: not a pointer, and with strings as
// enums.
func (f typedField) inMap() typedField {
	f.typ = strings.TrimPrefix(f.typ, "*")
	if _, isEnum := f.Type.Enum(); isEnum {
		f.typ = f.typ[:strings.LastIndex(f.typ, "]")+1] + "string"
	}
	return f
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
