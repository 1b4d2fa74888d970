package engine

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/imports"
	"github.com/petrock/petrock/generators/typecheck"
)

// parseFields reads the changes to fields of the input and the output.
func (ch *changer) parseFields(ctx context.Context) (err error) {
	renames, renamesOutput := splitOutput(ch.in.RenameFields)
	removes, removesOutput := splitOutput(ch.in.RemoveFields)
	if ch.inputEdit, err = ch.newFieldEdit(ctx, ch.input, ch.in.Fields, renames, removes); err == nil {
		ch.outputEdit, err = ch.newFieldEdit(ctx, ch.output, ch.in.Output, renamesOutput, removesOutput)
	}
	return err
}

// planFields plans the changes to fields of the input and the output.
func (ch *changer) planFields() error {
	if ch.c.Kind == derive.Type {
		ch.outputEdit = ch.inputEdit // results have it too
	}
	for _, edit := range ch.fieldEdits() {
		edit.code = gen.StructCode{Prefix: ch.newGo, Logged: derive.IsLogged(path.Dir(ch.c.File))}
		isOutput := edit != ch.inputEdit
		if isOutput {
			edit.code.Prefix += "Output"
		}
		if err := ch.planStruct(edit); err != nil {
			return err
		}
		if isOutput {
			edit.required, edit.retyped = nil, nil // the code sets its values
		}
		ch.editLiterals(edit)
	}
	if len(ch.fieldEdits()) > 0 {
		ch.editTests()
	}
	return nil
}

// splitOutput separates fields of the input from those of the output, which have the prefix
// "output.".
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

func (ch *changer) newFieldEdit(ctx context.Context, t *types.Named, specs, renames, removes []string) (*fieldEdit, error) {
	edit := &fieldEdit{
		t: t, renames: renames, rename: map[string]string{}, remove: removes,
		removed: map[token.Pos]bool{}, retyped: map[token.Pos]typedField{}, wrapped: map[token.Pos]string{}, unwrapped: map[token.Pos]bool{},
	}
	project := gen.Project{Module: ch.engine.checker.Module().Path, Initialisms: ch.engine.project.Initialisms, Type: func(dir, name string) (*gen.GoType, error) {
		return ch.goType(ctx, dir, name)
	}}
	groups := map[string][]string{} // by the path of the struct
	for _, spec := range specs {
		name := spec
		if end := strings.IndexAny(spec, `: "`); end >= 0 {
			name = spec[:end]
		}
		at := strings.LastIndex(name, ".") + 1
		groups[name[:at]] = append(groups[name[:at]], spec[at:])
	}
	for _, in := range slices.Sorted(maps.Keys(groups)) {
		set, err := project.ParseFields(path.Dir(ch.c.File), groups[in])
		if err != nil {
			return nil, err
		}
		for i, f := range set {
			if head, _, _ := strings.Cut(groups[in][i], `"`); !strings.Contains(strings.TrimRight(head, " :"), ":") {
				f.Type = gen.FieldType{} // only the description changes
			}
			edit.set = append(edit.set, setField{f, in})
		}
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
	added := map[*types.Named]string{}
	for _, f := range edit.set {
		old := cmp.Or(oldNames[f.in+f.Name], f.in+f.Name)
		v := derive.FieldAt(edit.t, old)
		home := ch.structAt(edit.t, f.in)
		switch {
		case home == nil:
			return fmt.Errorf("field %s%s: %s has no field %s with a struct type of the project", f.in, f.Name, edit.t.Obj().Name(), strings.TrimSuffix(f.in, "."))
		case v != nil:
			if err := ch.replaceField(edit, home, f, v, strings.TrimPrefix(old, f.in)); err != nil {
				return err
			}
		case old != f.in+f.Name:
			return fmt.Errorf("rename %s=%s: %s has no such field", old, f.Name, edit.t.Obj().Name())
		default:
			line, err := ch.newField(edit, home, f)
			if err != nil {
				return err
			}
			added[home] += line + "\n"
		}
	}
	for _, old := range slices.Sorted(maps.Keys(edit.rename)) {
		if slices.ContainsFunc(edit.set, func(f setField) bool { return f.in+f.Name == edit.rename[old] }) {
			continue
		}
		if err := ch.renameField(edit.t, old, edit.rename[old]); err != nil {
			return err
		}
	}
	for _, name := range edit.remove {
		v := derive.FieldAt(edit.t, name)
		if v == nil {
			return fmt.Errorf("remove %s: %s has no such field; it has %s", name, edit.t.Obj().Name(), fieldNames(edit.t))
		}
		if err := ch.removeField(v); err != nil {
			return err
		}
		edit.removed[v.Pos()] = true
	}
	for t, lines := range added {
		file := ch.view.FileAt(t.Obj().Pos())
		structure, ok := typecheck.Enclosing[*ast.TypeSpec](file, t.Obj().Pos()).Type.(*ast.StructType)
		if !ok {
			return fmt.Errorf("%s is not declared as a struct; edit it in %s", t.Obj().Name(), file.Path)
		}
		if before := file.Text[:ch.offset(structure.Fields.Closing)]; !bytes.HasSuffix(bytes.TrimRight(before, " \t"), []byte("\n")) {
			lines = "\n" + lines
		}
		ch.replace(file, structure.Fields.Closing, structure.Fields.Closing, lines)
	}
	return nil
}

// structAt returns the struct type of the project that the field at a JSON path, with a dot at the
// end, is, points to or contains. It returns t for an empty path, and nil if there is none.
func (ch *changer) structAt(t *types.Named, in string) *types.Named {
	if in == "" {
		return t
	}
	if v := derive.FieldAt(t, strings.TrimSuffix(in, ".")); v != nil {
		return ch.structOf(derive.Innermost(v.Type()))
	}
	return nil
}

func fieldNames(t *types.Named) string {
	var names []string
	for _, f := range derive.JSONFields(t.Underlying().(*types.Struct), false) {
		names = append(names, f.Key)
	}
	return joinOrNone(names)
}

// newField returns the declaration of a new field.
func (ch *changer) newField(edit *fieldEdit, home *types.Named, f setField) (string, error) {
	f.Type.Kind = cmp.Or(f.Type.Kind, gen.KindString)
	typ, err := ch.typeText(edit, home, f.Field, nil)
	edit.added = append(edit.added, ch.nameOf(home.Obj())+"."+f.Go)
	if !f.Optional {
		edit.required = append(edit.required, typedField{f.Field, home, typ})
	}
	return fmt.Sprintf("%s %s `%s`%s", f.Go, typ, edit.code.Tag(f.Field), f.Comment()), err
}

// replaceField plans the new declaration of a field with the JSON name old.
func (ch *changer) replaceField(edit *fieldEdit, home *types.Named, f setField, v *types.Var, old string) error {
	file, field, err := ch.declaration(v)
	if err != nil {
		return err
	}
	if f.Name == old {
		f.Go = v.Name()
	}
	tag, _ := unquote(field.Tag)
	if f.Type.Kind == "" {
		if f.Description == "" && f.Name == old {
			return fmt.Errorf("field %s: nothing to change; write its type, or a description in double quotes", f.Name)
		}
		tag = replaceTag(renamedTag(tag, f.Name), "schema", strings.Join(settings(tag, "description"), ","))
		ch.editField(file, field, v, f.Field, "", tag)
		return nil
	}
	oldType := string(file.Text[ch.offset(field.Type.Pos()):ch.offset(field.Type.End())])
	if enum := ch.enumOf(v); enum != nil {
		oldType = strings.Replace(oldType, enum.Name(), ch.nameOf(enum), 1)
	}
	typ, err := ch.typeText(edit, home, f.Field, v)
	if err != nil {
		return err
	}
	dropped := []string{"min", "max", "description"}
	added := edit.code.Tag(f.Field)
	for _, name := range []string{"pattern", "default", "format"} {
		if len(settings(added, name)) < len(settings(added)) {
			dropped = append(dropped, name)
		}
	}
	if old := reflect.StructTag(tag).Get("schema"); plainFormat.MatchString(old) {
		dropped = append(dropped, "format") // it was part of the type
	}
	if strings.TrimPrefix(typ, "*") != strings.TrimPrefix(oldType, "*") {
		dropped = append(dropped, "default", "enum", "format", "pattern", "unique")
		edit.retyped[v.Pos()] = typedField{f.Field, home, typ}
	}
	kept := settings(tag, dropped...)
	wasOptional := strings.HasPrefix(oldType, "*") || strings.Contains(reflect.StructTag(tag).Get("json"), ",omit")
	hasDefault := f.Default != nil || slices.ContainsFunc(kept, func(s string) bool { return strings.HasPrefix(s, "default=") })
	if wasOptional && !f.Optional && !hasDefault {
		edit.required = append(edit.required, typedField{f.Field, home, typ})
	}
	code := reflect.StructTag(edit.code.Tag(f.Field, kept...))
	tag = replaceTag(replaceTag(tag, "json", code.Get("json")), "schema", code.Get("schema"))
	switch {
	case typ == oldType:
		typ = ""
	case typ == "*"+oldType:
		edit.wrapped[v.Pos()] = oldType
	case oldType == "*"+typ:
		edit.unwrapped[v.Pos()] = true
	}
	ch.editField(file, field, v, f.Field, typ, tag)
	return nil
}

// plainFormat matches a tag with the format of a field type.
var plainFormat = regexp.MustCompile(`\bformat=(email|uri|uuid)\b`)

// tagSetting matches a setting of the struct tag schema. A comma may be in single quotes.
var tagSetting = regexp.MustCompile(`(?:'(?:[^']|'')*'|[^,'])+`)

// settings returns the settings of the tag schema, except those with the given names.
func settings(tag string, except ...string) (kept []string) {
	for _, setting := range tagSetting.FindAllString(reflect.StructTag(tag).Get("schema"), -1) {
		name, _, _ := strings.Cut(setting, "=")
		if !slices.Contains(except, strings.TrimSpace(name)) {
			kept = append(kept, setting)
		}
	}
	return kept
}

// typeText returns the Go type of a field. An enum keeps the type that the field has, with new
// constants, or shares a type of the package with the same values, or gets a new type.
func (ch *changer) typeText(edit *fieldEdit, in *types.Named, f gen.Field, old *types.Var) (string, error) {
	enum, isEnum := f.Type.Enum()
	typ := edit.code.Type(f)
	switch {
	case old != nil && enum.Kind == gen.KindDuration && typecheck.IsType(derive.Innermost(old.Type()), "time", "Duration"):
		return strings.Replace(typ, "civil.Duration", "time.Duration", 1), nil // which clients and stored events know
	case enum.Go != nil && enum.Go.Path != in.Obj().Pkg().Path():
		file := ch.view.FileAt(in.Obj().Pos()).Path
		ch.imports[file] = append(ch.imports[file], imports.Import{Path: enum.Go.Path})
	}
	if !isEnum {
		return typ, nil
	}
	standard := edit.code.Prefix + f.EnumName()
	name := standard
	home := in.Obj().Pkg()
	if kept := ch.enumOf(old); kept != nil {
		if name = ch.nameOf(kept); kept.Pkg().Path() != home.Path() {
			return "", fmt.Errorf("field %s: its enum %s is declared in package %s; change it there (%s)", f.Name, name, kept.Pkg().Name(),
				ch.engine.Call("change", "kind", "type", "name", derive.TypeName(ch.view.FileAt(kept.Pos()).Dir(), name), "values", []string{"…"}))
		}
		if err := ch.setValues(kept, enum.Values); err != nil {
			return "", err
		}
	} else if shared := ch.sharedEnum(home, f, enum.Values); shared != "" {
		name = shared
	} else if home.Scope().Lookup(name) != nil {
		return "", fmt.Errorf("field %s: its enum needs the Go name %s, which the package already declares; rename the field", f.Name, name)
	} else {
		ch.appends[ch.view.FileAt(in.Obj().Pos()).Path] += f.EnumCode(name)
	}
	return strings.Replace(edit.code.Type(f), standard, name, 1), nil
}

// enumOf returns the named string type of the project that a field has or contains, or nil.
func (ch *changer) enumOf(v *types.Var) *types.TypeName {
	if v == nil {
		return nil
	}
	named := ch.namedOf(derive.Innermost(v.Type()))
	if named == nil || !types.Identical(named.Underlying(), types.Typ[types.String]) {
		return nil
	}
	return named.Obj()
}

// sharedEnum returns the type of the package with the same values whose name ends with that of the
// field's enum, or "".
func (ch *changer) sharedEnum(pkg *types.Package, f gen.Field, values []gen.EnumValue) string {
	for _, other := range pkg.Scope().Names() {
		name, ok := pkg.Scope().Lookup(other).(*types.TypeName)
		if !ok || !strings.HasSuffix(other, f.EnumName()) {
			continue
		}
		known := constantsOf(name)
		if len(known) == len(values) && !slices.ContainsFunc(values, func(v gen.EnumValue) bool { return known[v.Text] == nil }) {
			return other
		}
	}
	return ""
}

// planValues plans the values of an enum type.
func (ch *changer) planValues() error {
	values, err := gen.ParseValues(ch.in.Values, ch.engine.project.Initialisms...)
	if len(values) == 0 {
		return err
	}
	return ch.setValues(ch.object.(*types.TypeName), values)
}

// setValues plans the constants of an enum: it adds and removes values.
func (ch *changer) setValues(name *types.TypeName, values []gen.EnumValue) error {
	known := constantsOf(name)
	var last *ast.ValueSpec
	keyword := "" // before a constant that follows last
	for _, value := range slices.Sorted(maps.Keys(known)) {
		c := known[value]
		file := ch.view.FileAt(c.Pos())
		spec := typecheck.Enclosing[*ast.ValueSpec](file, c.Pos())
		var declaration ast.Node = spec
		before, doc := "", spec.Doc
		if d := typecheck.Enclosing[*ast.GenDecl](file, c.Pos()); !d.Lparen.IsValid() {
			declaration, before, doc = d, "const ", d.Doc
		}
		if last == nil || spec.Pos() > last.Pos() {
			last, keyword = spec, before
		}
		if slices.ContainsFunc(values, func(v gen.EnumValue) bool { return v.Text == value }) {
			continue
		}
		if len(spec.Names) > 1 {
			return fmt.Errorf("the constant %s is declared together with others; declare it on its own line", c.Name())
		}
		ch.removeDeclaration(file, declaration, doc, spec.Comment)
	}
	added := ""
	for _, value := range values {
		if known[value.Text] == nil {
			added += fmt.Sprintf("\n%s%s%s %[2]s = %[4]q", keyword, ch.nameOf(name), value.Go, value.Text)
		}
	}
	if last == nil {
		return fmt.Errorf("the enum %s has no constants; add them by hand", name.Name())
	}
	end := endOf(last, last.Comment)
	ch.replace(ch.view.FileAt(last.Pos()), end, end, added)
	return nil
}

// pathIn returns the JSON path of the edited struct in a command, from the changes to the fields of
// the command: it is empty or ends with a dot.
func (edit *fieldEdit) pathIn(changes []contract.Change) string {
	names := slices.Clone(edit.remove)
	for old, name := range edit.rename {
		names = append(names, old, name)
	}
	for _, f := range edit.set {
		names = append(names, f.in+f.Name)
	}
	for _, change := range changes {
		for _, name := range names {
			if before, ok := strings.CutSuffix("."+change.Path, "."+name); ok && before != "" {
				return before[1:] + "."
			}
		}
	}
	return ""
}

// below returns fields below a JSON path. In pairs OLD=NEW, a nested NEW gets it too.
func below(path string, texts []string, isRename bool) (all []string) {
	for _, text := range texts {
		if old, name, _ := strings.Cut(text, "="); isRename && strings.Contains(name, ".") {
			text = old + "=" + path + name
		}
		all = append(all, path+text)
	}
	return all
}
