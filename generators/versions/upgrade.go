package versions

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// writeMethod writes the method that converts a struct to its target.
func (w *oldVersion) writeMethod(o *oldStruct, text string) {
	if !o.isInner {
		w.file.Commentf("// Upgrade converts version %d to version %d.", w.Number, w.Number+1)
	}
	w.file.Text(fmt.Sprintf("func (old %s) %s() %s {\n%s\n}", o.Obj().Name(), o.method(), w.file.TypeText(o.target), text))
}

// isConverted reports whether the body converts a struct.
func (u *upgrade) isConverted(o *oldStruct) bool {
	return u.converted != nil && isSame(u.converted, o.target)
}

// bodyFor returns the body as the file of the old version writes it. The body may name declarations
// of the target's package with or without the package.
func (w *oldVersion) bodyFor(o *oldStruct) string {
	const before = "package p\nfunc _() {\n"
	text, fset := w.u.body.text, token.NewFileSet()
	file, err := parser.ParseFile(fset, "", before+text+"\n}", parser.SkipObjectResolution)
	named, ok := o.target.(*types.Named)
	if err != nil || !ok {
		return text
	}
	pkg := named.Obj().Pkg()
	isOwn, isField := pkg.Path() == w.u.p.Import(w.Dir), fieldNames(file, pkg)
	var out strings.Builder
	end := 0 // of the text in out
	for node := range ast.Preorder(file.Decls[0]) {
		name, ok := node.(*ast.Ident)
		if !ok || isField[name] {
			continue
		}
		switch at := fset.Position(name.Pos()).Offset - len(before); {
		case isOwn && name.Name == pkg.Name() && strings.HasPrefix(text[at:], name.Name+"."):
			out.WriteString(text[end:at])
			end = at + len(name.Name) + 1
		case !isOwn && name.IsExported() && pkg.Scope().Lookup(name.Name) != nil:
			out.WriteString(text[end:at] + pkg.Name() + ".")
			end = at
		}
	}
	return out.String() + text[end:]
}

// fieldNames returns the identifiers in a file that name fields and methods: those after a dot, and
// the keys of struct literals. pkg declares the types that the file names without a package.
func fieldNames(file *ast.File, pkg *types.Package) map[*ast.Ident]bool {
	found := map[*ast.Ident]bool{}
	elided := map[ast.Expr]types.Type{} // of literals that omit their type
	for node := range ast.Preorder(file) {
		switch node := node.(type) {
		case *ast.SelectorExpr:
			found[node.Sel] = true
		case *ast.CompositeLit:
			t := cmp.Or[types.Type](elided[node], types.Typ[types.Invalid])
			if named, err := types.Eval(token.NewFileSet(), pkg, token.NoPos, types.ExprString(node.Type)); err == nil {
				t = named.Type
			}
			list, isList := pointee(t).Underlying().(interface{ Elem() types.Type })
			_, isMap := node.Type.(*ast.MapType) // perhaps with types of other packages
			for _, value := range node.Elts {
				if pair, ok := value.(*ast.KeyValueExpr); ok {
					key, _ := pair.Key.(*ast.Ident)
					found[key] = !isList && !isMap
					value = pair.Value
				}
				if isList {
					elided[value] = list.Elem()
				}
			}
		}
	}
	return found
}

// convertFields returns the statements that convert a struct, old, to its target: as a literal, or
// field by field if the target embeds structs that old does not.
//
//	return Create{Href: old.URL, Tags: old.Tags}
func (w *oldVersion) convertFields(o *oldStruct) string {
	edits := w.u.editsOf(o)
	used, embeds := map[string]bool{}, false
	var names, values []string
	for _, name := range slices.Sorted(maps.Keys(o.embedded)) {
		value, _ := w.c.convert("old."+o.embedded[name].Obj().Name(), embeddedStruct(o, o.embedded[name].Obj().Name()).Type(), embeddedStruct(o.target, name).Type())
		names, values = append(names, name), append(values, value)
	}
	for _, f := range derive.JSONFields(o.target.Underlying().(*types.Struct), false) {
		if o.embedded[f.Path[0]] != nil && len(f.Path) > 1 {
			continue
		}
		value := "…"
		was, found := edits.sourceOf(o, f.Key)
		fallback, hasDefault := w.u.defaults[f.Var.Pos()]
		embeds = embeds || len(f.Path) > 1
		o.isChanged = o.isChanged || was.Key != f.Key
		switch {
		case found:
			used[was.Key] = true
			value = w.convertField(o, was, f)
		case hasDefault:
			value = w.defaultValue(o, f.Key, fallback, f.Var.Type())
		case f.Omits || isPointer(f.Var.Type()):
			continue // absent in old events
		default:
			w.addUndecided(o, f.Key, false, "new required field; set its value in old events (%s %s=VALUE) or its old name (%s OLD=%s)", w.u.p.Option("default"), w.at(o, f.Key), w.u.p.Option("rename"), f.Key)
		}
		if f.Indirect || was.Indirect {
			w.addUndecided(o, f.Key, true, "field of an embedded pointer; set %s", w.u.p.Option("body"))
		}
		names, values = append(names, f.Var.Name()), append(values, value)
	}
	for _, was := range derive.JSONFields(o.Underlying().(*types.Struct), false) {
		if len(was.Path) > 1 || used[was.Key] {
			continue
		}
		if o.isChanged = true; !edits.dropped[was.Key] {
			w.addUndecided(o, was.Key, false, "no such field now; set its new name (%s %s=NEW), or ignore it (%s %[2]s)", w.u.p.Option("rename"), w.at(o, was.Key), w.u.p.Option("drop"))
		}
	}
	if !embeds {
		return structLiteral(w.c.typeText(o.target), names, values)
	}
	text := "var upgraded " + w.c.typeText(o.target) + "\n"
	for i, name := range names {
		text += "upgraded." + name + " = " + values[i] + "\n"
	}
	return text + "return upgraded"
}

// fieldEdits are the edits of the fields of a struct, by their old JSON names.
type fieldEdits struct {
	rename  map[string]string
	dropped map[string]bool
}

// editsOf returns the edits of a struct. Their paths are those of the requested command, and they
// hold for the same types in other commands.
func (u *upgrade) editsOf(o *oldStruct) fieldEdits {
	requested := u.versions[0]
	field := func(path string) (name string, ok bool) {
		structure, name := u.Old.Owner(path)
		owned := requested.structs[structure].recorded + "." + name
		return name, slices.ContainsFunc(requested.reached, func(r *oldStruct) bool { return r.owned[owned] && isSame(r.target, o.target) })
	}
	edits := fieldEdits{map[string]string{}, map[string]bool{}}
	for path, renamed := range u.edit.Rename {
		if name, ok := field(path); ok {
			edits.rename[name] = renamed[strings.LastIndex(renamed, ".")+1:]
		}
	}
	for _, path := range u.edit.Drop {
		if name, ok := field(path); ok {
			edits.dropped[name] = true
		}
	}
	return edits
}

// sourceOf returns the field of an old struct that a field of its target gets its value from.
func (e fieldEdits) sourceOf(o *oldStruct, name string) (derive.JSONField, bool) {
	for _, was := range derive.JSONFields(o.Underlying().(*types.Struct), false) {
		renamed, isRenamed := e.rename[was.Key]
		if isRenamed && renamed == name || !isRenamed && was.Key == name {
			return was, true
		}
	}
	return derive.JSONField{}, false
}

func (w *oldVersion) convertField(o *oldStruct, was, f derive.JSONField) string {
	w.OldFields[f.Var.Pos()] = was.Var.Name()
	value, from, to := "old."+was.Var.Name(), types.Unalias(was.Var.Type()), f.Var.Type()
	pointer, wasPointer := from.(*types.Pointer)
	isLost := (was.Omits || wasPointer) && !f.Omits && !isPointer(to) && !o.isPointer // events may lack it
	fallback, hasDefault := w.u.defaults[f.Var.Pos()]
	switch {
	case isLost && !hasDefault:
		w.addUndecided(o, f.Key, false, "was optional, is required now; set its value in events that lack it (%s %s=VALUE)", w.u.p.Option("default"), w.at(o, f.Key))
		return "…"
	case isLost && !wasPointer:
		w.addUndecided(o, f.Key, true, "was optional, is required now, and events do not distinguish empty from absent; set %s", w.u.p.Option("body"))
		return "…"
	}
	converted, ok := "", false
	if isLost {
		converted, ok = w.c.functionFor(pointer.Elem(), to)
		converted = w.c.callApp("UpgradeOr", value, w.defaultValue(o, f.Key, fallback, to), converted)
	} else {
		converted, ok = w.c.convert(value, from, to)
	}
	if !ok {
		recorded := o.fields[slices.IndexFunc(o.fields, func(f contract.Field) bool { return f.Name == was.Key })]
		w.addUndecided(o, f.Key, true, "type changed from %s to %s", recorded.Type, types.TypeString(to, (*types.Package).Name))
		return "…"
	}
	return converted
}

// defaultValue returns a default value as Go source.
func (w *oldVersion) defaultValue(o *oldStruct, field, text string, t types.Type) string {
	code, ok := generators.Literal(w.u.p, w.Dir, w.c.file, text, t)
	if !ok {
		w.addUndecided(o, field, false, "the default %s does not fit %s", text, types.TypeString(t, (*types.Package).Name))
	}
	return code
}

// addUndecided records a field that has no known conversion. A field of a type that the requested
// command has too is recorded only there. needsCode is set if only a body can convert it.
func (w *oldVersion) addUndecided(o *oldStruct, field string, needsCode bool, format string, args ...any) {
	text := w.at(o, field) + ": " + fmt.Sprintf(format, args...)
	if w.Version != w.u.Version {
		if slices.ContainsFunc(w.u.versions[0].reached, func(other *oldStruct) bool { return other.isUndecided && isSame(other.target, o.target) }) {
			return
		}
		text = w.EventType + ": " + text
	}
	if o.isUndecided = true; !w.isDry {
		w.u.undecided = append(w.u.undecided, undecided{o, w, text, needsCode})
	}
}

// at returns the path of a field in the command.
func (w *oldVersion) at(o *oldStruct, field string) string {
	if o.recorded == "" {
		return field
	}
	return w.Old.PathOf(o.recorded) + "." + field
}

// newDowngrade appends func Downgrade to the file of an old version. renamed are the new names of
// fields, by their old ones.
func newDowngrade(p gen.Project, in VersionInput, renamed map[string]string) (gen.Draft, error) {
	if len(in.Drop)+len(in.Default) > 0 || in.Body != "" || in.ReadFirst {
		return gen.Draft{}, fmt.Errorf("%s is for a version that exists; generate the version first", p.Option("downgrade"))
	}
	v, err := p.OldVersion(in.Name)
	if err != nil {
		return gen.Draft{}, err
	}
	old, next := v.Type.Obj().Name(), v.Next.Obj().Name()
	signature := fmt.Sprintf("func (c %s) Downgrade() %s", next, old)
	code, functions := &body{}, ""
	if in.DowngradeBody != "" {
		code, err = parseBody(p.Option("downgrade_body"), in.DowngradeBody)
	} else if code.text, functions, err = downgradeCode(p, v, renamed); err != nil {
		err = fmt.Errorf("%s: cannot convert %s to %s: %w; set %s to the statements of %s", v.EventType, next, old, err, p.Option("downgrade_body"), signature)
	}
	if err != nil {
		return gen.Draft{}, err
	}
	file := v.File
	file.Text = fmt.Appendf(slices.Clone(file.Text), "\n// Downgrade converts it to %s, for older builds.\n%s {\n%s\n}\n%s", old, signature, code.text, functions)
	file.AddImports, file.Imports = true, code.imports
	return gen.Draft{
		Kind: "version", Name: v.EventType, Changes: []gen.File{file},
		Next: []string{fmt.Sprintf("To go back to a build that cannot read %s, run %s log downgrade of this build first.", v.EventType, p.Name)},
	}, nil
}

// downgradeCode returns the statements that copy the fields of the next version to an old one, and
// the functions that do so for nested structs.
func downgradeCode(p gen.Project, v *gen.OldVersion, renamed map[string]string) (statements, functions string, err error) {
	dir := path.Dir(v.File.Path)
	c := &converter{p: p, dir: dir, file: generators.NewFile(p, dir)}
	type pair struct{ from, to *types.Named }
	var nested []pair
	c.function = func(from *types.Named, to types.Type) (string, bool) {
		named, ok := to.(*types.Named)
		if !ok {
			return "", false
		}
		if next := (pair{from, named}); !slices.Contains(nested, next) {
			nested = append(nested, next)
		}
		return "downgrade" + named.Obj().Name(), true
	}
	if statements, err = c.copyFields(v.Next, v.Type, renamed); err != nil {
		return "", "", err
	}
	for i := 0; i < len(nested); i++ { // copying the fields of one may add others
		text, err := c.copyFields(nested[i].from, nested[i].to, nil)
		if err != nil {
			return "", "", fmt.Errorf("%s: %w", nested[i].from.Obj().Name(), err)
		}
		functions += fmt.Sprintf("\nfunc downgrade%[1]s(c %[2]s) %[1]s {\n%[3]s\n}\n", nested[i].to.Obj().Name(), c.typeText(nested[i].from), text)
	}
	return statements, functions, nil
}

// copyFields returns the statement that copies the fields of a struct, c, to an older one. Optional
// fields that the struct lacks stay unset.
func (c *converter) copyFields(from, to *types.Named, renamed map[string]string) (string, error) {
	now := derive.JSONFields(from.Underlying().(*types.Struct), false)
	var names, values []string
	for _, was := range derive.JSONFields(to.Underlying().(*types.Struct), false) {
		name := was.Key
		if is, ok := renamed[was.Key]; ok {
			name = is
		}
		at := slices.IndexFunc(now, func(f derive.JSONField) bool { return f.Key == name })
		switch {
		case len(was.Path) > 1 || at >= 0 && len(now[at].Path) > 1:
			return "", fmt.Errorf("%s is a field of an embedded struct", was.Key)
		case at >= 0:
			value, ok := c.convert("c."+now[at].Var.Name(), now[at].Var.Type(), was.Var.Type())
			if !ok {
				return "", fmt.Errorf("%s has another type", was.Key)
			}
			names, values = append(names, was.Var.Name()), append(values, value)
		case !was.Omits && !isPointer(was.Var.Type()):
			return "", fmt.Errorf("%s no longer exists", was.Key)
		}
	}
	return structLiteral(to.Obj().Name(), names, values), nil
}
