package engine

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// A fieldEdit is the change to the fields of one struct.
type fieldEdit struct {
	t       *types.Named
	isInput bool
	code    gen.StructCode
	set     []fieldSpec
	rename  map[string]string // new JSON paths by old ones
	remove  []string          // JSON paths

	added    []gen.Field               // new fields
	required []gen.Field               // fields that are required now, and were not
	removed  map[token.Pos]bool        // removed fields, by the position of their declaration
	pointers map[token.Pos]pointerEdit // fields that are pointers now, or no longer
	missing  map[token.Pos]gen.Field   // required fields with an old declaration, by its position
	retyped  map[token.Pos]gen.Field   // fields with another type, by the position of their declaration
	enums    map[token.Pos]string      // the enum types of these
}

type fieldSpec struct {
	gen.Field
	keepsType bool // the spec has no type: only the description changes
}

// A pointerEdit converts the value of a field in composite literals.
type pointerEdit struct {
	wrap bool
	typ  string // type to convert to before taking the address; may be empty
}

// planFields plans the changes to fields of the input and the output.
func (ch *changer) planFields() (err error) {
	in := ch.in
	prefix := ch.newGo
	renames, renamesOutput := splitOutput(in.RenameFields)
	removes, removesOutput := splitOutput(in.RemoveFields)
	if ch.inputEdit, err = ch.newFieldEdit(ch.input, prefix, in.Fields, renames, removes); err != nil {
		return err
	}
	if ch.outputEdit, err = ch.newFieldEdit(ch.output, prefix+"Output", in.Output, renamesOutput, removesOutput); err != nil {
		return err
	}
	if ch.inputEdit != nil {
		ch.inputEdit.isInput = true
	}
	for _, edit := range ch.fieldEdits() {
		if err := ch.planStruct(edit); err != nil {
			return err
		}
		ch.editLiterals(edit)
	}
	if len(ch.fieldEdits()) > 0 {
		ch.editTestJSON()
	}
	return nil
}

// fieldEdits returns the changes to the fields of the input and the output.
func (ch *changer) fieldEdits() []*fieldEdit {
	return slices.DeleteFunc([]*fieldEdit{ch.inputEdit, ch.outputEdit}, func(edit *fieldEdit) bool { return edit == nil })
}

// splitOutput separates fields of the input from those of the output, which have the prefix "output.".
func splitOutput(fields []string) (input, output []string) {
	for _, field := range fields {
		if name, ok := strings.CutPrefix(field, "output."); ok {
			output = append(output, strings.Replace(name, "=output.", "=", 1))
		} else {
			input = append(input, field)
		}
	}
	return input, output
}

func (ch *changer) newFieldEdit(t *types.Named, prefix string, specs, renames, removes []string) (*fieldEdit, error) {
	if len(specs)+len(renames)+len(removes) == 0 {
		return nil, nil
	}
	edit := &fieldEdit{
		t: t, code: gen.StructCode{Prefix: prefix, Logged: ch.c.Feature != ""}, rename: map[string]string{}, remove: removes,
		removed: map[token.Pos]bool{}, pointers: map[token.Pos]pointerEdit{}, missing: map[token.Pos]gen.Field{}, retyped: map[token.Pos]gen.Field{}, enums: map[token.Pos]string{},
	}
	fields, err := gen.ParseFields(specs)
	if err != nil {
		return nil, err
	}
	for i, f := range fields {
		head, _, _ := strings.Cut(specs[i], `"`)
		edit.set = append(edit.set, fieldSpec{f, !strings.Contains(strings.TrimRight(head, " :"), ":")})
	}
	for _, text := range renames {
		old, name, ok := strings.Cut(text, "=")
		if !ok || old == "" || name == "" {
			return nil, fmt.Errorf("rename %q: write it as OLD=NEW", text)
		}
		edit.rename[old] = name
	}
	return edit, nil
}

// planStruct plans the edits of a struct's declaration.
func (ch *changer) planStruct(edit *fieldEdit) error {
	oldNames := map[string]string{} // by new name
	for old, name := range edit.rename {
		oldNames[name] = old
	}
	added := ""
	for _, spec := range edit.set {
		old, isRenamed := oldNames[spec.Name]
		if !isRenamed {
			old = spec.Name
		}
		v := jsonField(edit.t, old)
		if v == nil && isRenamed {
			return fmt.Errorf("rename %s=%s: %s has no such field", old, spec.Name, edit.t.Obj().Name())
		}
		if v == nil {
			line, err := ch.newField(edit, spec.Field)
			if err != nil {
				return err
			}
			added += line + "\n"
			continue
		}
		if err := ch.replaceField(edit, spec, v, old); err != nil {
			return err
		}
	}
	for _, old := range slices.Sorted(maps.Keys(edit.rename)) {
		if slices.ContainsFunc(edit.set, func(spec fieldSpec) bool { return spec.Name == edit.rename[old] }) {
			continue
		}
		if err := ch.renameField(edit.t, old, edit.rename[old]); err != nil {
			return err
		}
	}
	for _, name := range edit.remove {
		v := jsonField(edit.t, name)
		if v == nil {
			return fmt.Errorf("remove %s: %s has no such field; it has %s", name, edit.t.Obj().Name(), ch.fieldNames(edit.t))
		}
		if err := ch.removeField(v); err != nil {
			return err
		}
		edit.removed[v.Pos()] = true
		ch.dropEnum(v)
	}
	if added != "" {
		file := fileAt(ch.view, edit.t.Obj().Pos())
		spec := enclosing[*ast.TypeSpec](file, edit.t.Obj().Pos())
		structure, ok := spec.Type.(*ast.StructType)
		if !ok {
			return fmt.Errorf("%s is not declared as a struct; edit it in %s", edit.t.Obj().Name(), file.Path)
		}
		if before := file.Text[:ch.offset(structure.Fields.Closing)]; !bytes.HasSuffix(bytes.TrimRight(before, " \t"), []byte("\n")) {
			added = "\n" + added
		}
		ch.replace(file, structure.Fields.Closing, structure.Fields.Closing, added)
	}
	return nil
}

func (ch *changer) fieldNames(t *types.Named) string {
	var names []string
	for _, f := range derive.JSONFields(t.Underlying().(*types.Struct), false) {
		names = append(names, f.Key)
	}
	return joinOrNone(names)
}

// newField returns the declaration of a new field.
func (ch *changer) newField(edit *fieldEdit, f gen.Field) (string, error) {
	typ, err := ch.typeText(edit, f, nil)
	if err != nil {
		return "", err
	}
	edit.added = append(edit.added, f)
	if !f.Optional {
		edit.required = append(edit.required, f)
	}
	return fmt.Sprintf("%s %s `%s` // %s", f.Go, typ, edit.code.Tag(f), f.Comment()), nil
}

// replaceField plans the new declaration of a field, with its old description if it gets none.
func (ch *changer) replaceField(edit *fieldEdit, spec fieldSpec, v *types.Var, old string) error {
	file, field, err := ch.declaration(v)
	if err != nil {
		return err
	}
	f := spec.Field
	renamed := old != f.Name
	comment := commentOf(field)
	isGenerated := comment == "" || comment == (gen.Field{Name: old}).Comment()
	if f.Description == "" && (!isGenerated || !renamed && comment != "") {
		f.Description = comment
	}
	name := v.Name()
	if renamed {
		ch.rename(v, f.Go)
		name = f.Go
	}
	oldType := string(file.Text[ch.offset(field.Type.Pos()):ch.offset(field.Type.End())])
	if enum := ch.enumOf(v); enum != nil && ch.nameOf(enum) != enum.Name() {
		oldType = strings.Replace(oldType, enum.Name(), ch.nameOf(enum), 1)
	}
	tag, _ := unquote(field.Tag)
	typ := oldType
	switch {
	case spec.keepsType && spec.Description == "" && !renamed:
		return fmt.Errorf("field %s: nothing to change; write its type, or a description in double quotes", f.Name)
	case spec.keepsType:
		_, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		tag = replaceTag(tag, "json", strings.TrimSuffix(f.Name+","+options, ","))
		tag = replaceTag(tag, "schema", strings.Join(settings(tag, "description"), ","))
	default:
		if typ, err = ch.typeText(edit, f, v); err != nil {
			return err
		}
		dropped := []string{"min", "max", "description"}
		if strings.TrimPrefix(typ, "*") != strings.TrimPrefix(oldType, "*") {
			dropped = append(dropped, "default", "enum", "format", "pattern", "unique")
			edit.retyped[v.Pos()] = f
			if f.Type.Kind == gen.KindEnum {
				edit.enums[v.Pos()] = strings.TrimPrefix(typ, "*")
			}
		}
		kept := settings(tag, dropped...)
		wasOptional := strings.HasPrefix(oldType, "*") || strings.Contains(reflect.StructTag(tag).Get("json"), ",omit")
		code := reflect.StructTag(edit.code.Tag(f, kept...))
		tag = replaceTag(replaceTag(tag, "json", code.Get("json")), "schema", code.Get("schema"))
		hasDefault := slices.ContainsFunc(kept, func(s string) bool { return strings.HasPrefix(s, "default=") })
		if wasOptional && !f.Optional && !hasDefault {
			edit.required = append(edit.required, f)
			edit.missing[v.Pos()] = f
		}
		ch.notePointer(edit, v, oldType, typ)
		if typ != oldType {
			ch.noteRemoved(file, field.Type)
		}
	}
	_, end := fieldExtent(field)
	line := name + " " + typ
	if tag != "" {
		line += " `" + tag + "`"
	}
	if field.Doc == nil || f.Description != comment {
		line += " // " + f.Comment()
	}
	start := field.Pos()
	if field.Doc != nil && f.Description != comment {
		start = field.Doc.Pos()
	}
	ch.replace(file, start, end, line)
	return nil
}

// nameOf returns the name of a declaration after the rewrite.
func (r *rewrite) nameOf(object types.Object) string {
	return cmp.Or(r.renamed[object.Pos()], object.Name())
}

func (r *rewrite) offset(pos token.Pos) int { return r.view.Fset().File(pos).Offset(pos) }

// commentOf returns the description of a field: its doc comment, or else its line comment.
func commentOf(field *ast.Field) string {
	for _, group := range []*ast.CommentGroup{field.Doc, field.Comment} {
		if text := strings.Join(strings.Fields(group.Text()), " "); text != "" {
			return text
		}
	}
	return ""
}

// settings returns the settings of the tag schema, except those with the given names.
func settings(tag string, except ...string) (kept []string) {
	for _, setting := range regexp.MustCompile(`(?:'(?:[^']|'')*'|[^,'])+`).FindAllString(reflect.StructTag(tag).Get("schema"), -1) {
		name, _, _ := strings.Cut(setting, "=")
		if !slices.Contains(except, strings.TrimSpace(name)) {
			kept = append(kept, setting)
		}
	}
	return kept
}

// replaceTag sets one key of a struct tag. An empty value removes the key.
func replaceTag(tag, key, value string) string {
	pair := ""
	if value != "" {
		pair = key + ":" + strconv.Quote(value)
	}
	old, isSet := reflect.StructTag(tag).Lookup(key)
	if found := key + ":" + strconv.Quote(old); isSet && strings.Contains(tag, found) {
		return strings.TrimSpace(strings.ReplaceAll(strings.Replace(tag, found, pair, 1), "  ", " "))
	}
	if key == "json" {
		return strings.TrimSpace(pair + " " + tag)
	}
	return strings.TrimSpace(tag + " " + pair)
}

// notePointer notes that composite literals must take the address of a value, or no longer do.
func (ch *changer) notePointer(edit *fieldEdit, v *types.Var, oldType, typ string) {
	switch {
	case typ == "*"+oldType:
		convert := oldType
		if slices.Contains([]string{"string", "bool", "int", "time.Time"}, oldType) {
			convert = ""
		}
		edit.pointers[v.Pos()] = pointerEdit{wrap: true, typ: convert}
	case oldType == "*"+typ:
		edit.pointers[v.Pos()] = pointerEdit{}
	}
}

// fieldFiles returns the files in which fields change.
func (ch *changer) fieldFiles() (files []string) {
	for _, edit := range ch.fieldEdits() {
		files = append(files, fileAt(ch.view, edit.t.Obj().Pos()).Path)
	}
	return slices.DeleteFunc(files, func(file string) bool { return len(ch.edits[file]) == 0 })
}

// addedFields returns the names of new fields.
func (ch *changer) addedFields() (names []string) {
	for _, edit := range ch.fieldEdits() {
		for _, f := range edit.added {
			names = append(names, ch.nameOf(edit.t.Obj())+"."+f.Go)
		}
	}
	return names
}
