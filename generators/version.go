package generators

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/types"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// VersionInput is the input of NewVersion.
type VersionInput struct {
	Name    string   `json:"name"`                              // Such as posts/create
	Rename  []string `json:"rename,omitempty"`                  // Renamed fields, as OLD=NEW
	Drop    []string `json:"drop,omitempty"`                    // Fields to ignore in old events
	Default []string `json:"default,omitempty"`                 // Values of new fields in old events: status=open
	Body    string   `json:"body,omitempty" schema:"format=go"` // Go statements that return the new command from old, for other conversions
}

// NewVersion creates a new version of a command whose fields change, and upgrades stored events to it. Run it
// before or after editing the Go type.
//
//petrock:name version
func NewVersion(p gen.Project, in VersionInput) (gen.Draft, error) {
	u := upgrade{p: p, defaults: map[string]string{}, queued: map[string]types.Type{}}
	edit := gen.Edit{Rename: map[string]string{}, Drop: in.Drop}
	err := errors.Join(assign(edit.Rename, "rename", "NEW", in.Rename), assign(u.defaults, "default", "VALUE", in.Default))
	if err != nil {
		return gen.Draft{}, err
	}
	if u.Migration, err = p.Migrate(in.Name, edit); err != nil {
		return gen.Draft{}, err
	}
	u.edit = edit
	if err := u.check(); err != nil {
		return gen.Draft{}, err
	}
	u.canonicalize()
	if in.Body != "" {
		if u.body, err = parseBody("body", in.Body); err != nil {
			return gen.Draft{}, err
		}
	}
	return u.draft()
}

// assign adds texts of the form FIELD=VALUE to a map. The flag and the placeholder of a value are for errors.
func assign(to map[string]string, flag, placeholder string, texts []string) error {
	for _, text := range texts {
		name, value, _ := strings.Cut(text, "=")
		if name == "" || value == "" {
			return fmt.Errorf("%s %q: write it as FIELD=%s", flag, text, placeholder)
		}
		to[name] = value
	}
	return nil
}

// An upgrade writes the code that reads events of an older version.
type upgrade struct {
	*gen.Migration
	p         gen.Project
	edit      gen.Edit
	defaults  map[string]string
	body      *body
	undecided []string
	queued    map[string]types.Type // struct types to upgrade too, by their names in the recorded shape
	order     []string              // keys of queued, in the order of discovery
}

// check validates the edit and the defaults against the fields of the command.
func (u *upgrade) check() error {
	for old := range u.edit.Rename {
		if !u.Old.Has(old) {
			return fmt.Errorf("rename %s: version %d of %s has no such field; it has %s", old, u.Version, u.EventType, u.Old.Names())
		}
	}
	for _, name := range u.edit.Drop {
		if _, renamed := u.edit.Rename[name]; renamed {
			return fmt.Errorf("drop %s: the field is also in rename; use one of them", name)
		}
		if !u.Old.Has(name) {
			return fmt.Errorf("drop %s: version %d of %s has no such field; it has %s", name, u.Version, u.EventType, u.Old.Names())
		}
	}
	for name := range u.defaults {
		if !u.New.Has(name) {
			return fmt.Errorf("default %s: %s has no such field; add it to the struct first, or name one of %s", name, u.Type, u.New.Names())
		}
	}
	if len(u.Old.Changes(u.New)) == 0 {
		return fmt.Errorf("%s: the fields equal the recorded version %d; change them first, or set \"rename\" or \"drop\"", u.EventType, u.Version)
	}
	if taken := u.OldType(""); slices.Contains(u.Declared, taken) {
		return fmt.Errorf("%s: the package already declares %s; remove or rename it", u.EventType, taken)
	}
	return nil
}

// canonicalize replaces field paths by their canonical paths, see [contract.Shape.Canonical].
func (u *upgrade) canonicalize() {
	renamed, defaults := map[string]string{}, map[string]string{}
	for old, name := range u.edit.Rename {
		renamed[u.Old.Canonical(old)] = name[strings.LastIndex(name, ".")+1:]
	}
	for name, value := range u.defaults {
		defaults[u.New.Canonical(name)] = value
	}
	for i, name := range u.edit.Drop {
		u.edit.Drop[i] = u.Old.Canonical(name)
	}
	u.edit.Rename, u.defaults = renamed, defaults
}

func (u *upgrade) draft() (gen.Draft, error) {
	imported, pkg := u.p.Import(u.Dir), u.p.Package(u.Dir)
	file := gen.NewGoFile(imported, pkg)
	file.ImportName(u.p.Import("core/app"), "app")
	old := u.OldType("")
	file.Paragraph(
		fmt.Sprintf("%s is version %d of %s, as stored in events of type %s. Do not change it.", old, u.Version, u.Type, u.EventType),
	)
	u.declare(file, old, u.Old.Fields)
	file.Commentf("// Upgrade converts version %d to version %d.", u.Version, u.Version+1)
	body := ""
	if u.body != nil {
		body = u.body.text
	} else {
		body = u.convertStruct(file, "", u.Type, u.Old.Fields, u.Struct)
	}
	file.Text("func (old " + old + ") Upgrade() " + u.Type + " {\n" + body + "\n}")
	for _, name := range slices.Sorted(maps.Keys(u.Old.Types)) {
		if name == u.Type {
			continue // the command contains itself
		}
		file.Commentf("// %s is %s as of version %d of %s.", u.OldType(name), name, u.Version, u.Type)
		u.declare(file, u.OldType(name), u.Old.Types[name])
	}
	for i := 0; i < len(u.order); i++ { // convertStruct appends to order
		name, target := u.order[i], u.queued[u.order[i]]
		structure, _ := target.Underlying().(*types.Struct)
		typ := file.Code(u.typeOf(target))
		file.Text("func (old " + u.OldType(name) + ") upgrade() " + typ + " {\n" +
			u.convertStruct(file, u.Old.PathOf(name)+".", typ, u.Old.Types[name], structure) + "\n}")
	}
	if len(u.undecided) > 0 {
		slices.Sort(u.undecided)
		return gen.Draft{}, fmt.Errorf("%s: cannot convert version %d to %d:\n  %s\nResolve each of these, or send a body that converts it", u.EventType, u.Version, u.Version+1, strings.Join(slices.Compact(u.undecided), "\n  "))
	}
	name, err := gen.ParseName(gen.WireName(old))
	if err != nil {
		return gen.Draft{}, err
	}
	where := path.Join(u.Dir, name.File("command"))
	files, err := renderFiles("", source{where, file}, source{strings.TrimSuffix(where, ".go") + "_test.go", u.test(imported, pkg)})
	if err != nil {
		return gen.Draft{}, err
	}
	draft := gen.Draft{
		Kind: "version", Name: u.EventType, NewVersionOf: u.EventType, Changes: u.Changes,
		Files: files,
		Trial: gen.Trial{Test: "Test" + old},
		Next: []string{
			fmt.Sprintf("Events of version %d are read as %s and upgraded in %s; older builds cannot read the new events.", u.Version, old, where),
			fmt.Sprintf("go test ./%s", u.Dir),
		},
	}
	for _, name := range u.Unbuilt {
		draft.Next = append(draft.Next, fmt.Sprintf("%s is not built on this system and may use a renamed field; rename it there by hand.", name))
	}
	if u.body != nil {
		draft.Files[0].AddImports, draft.Files[0].Imports = true, u.body.imports
	}
	return draft, nil
}

func (u *upgrade) declare(file gen.GoFile, name string, fields []contract.Field) {
	text := "type " + name + " struct {\n"
	for _, f := range fields {
		tag := f.Name
		if f.Optional {
			tag += ",omitzero"
		}
		if f.Quoted {
			tag += ",string"
		}
		parsed, err := contract.ParseType(f.Type)
		if err != nil {
			u.addUndecided(f.Name, err.Error())
		}
		text += fmt.Sprintf("%s %s `json:%q`\n", recordedGo(f), file.Code(u.goType(parsed)), tag)
	}
	file.Text(text + "}")
}

// recordedGo returns the Go name of a recorded field. Fields of embedded structs are promoted.
func recordedGo(f contract.Field) string { return f.Go[strings.LastIndex(f.Go, ".")+1:] }

func (u *upgrade) goType(t contract.Type) *jen.Statement {
	switch t.Kind {
	case contract.Any:
		return jen.Any()
	case contract.Bytes:
		return jen.Index().Byte()
	case contract.Struct:
		return jen.Id(u.OldType(t.Name))
	case contract.Opaque:
		return u.opaque(t.Name)
	case contract.Pointer:
		return jen.Op("*").Add(u.goType(*t.Elem))
	case contract.Slice:
		return jen.Index().Add(u.goType(*t.Elem))
	case contract.Array:
		return jen.Index(jen.Lit(t.Len)).Add(u.goType(*t.Elem))
	case contract.Map:
		return jen.Map(u.goType(*t.Key)).Add(u.goType(*t.Elem))
	}
	return jen.Id(t.Name)
}

// opaque returns a type with its own marshalling, from the feature or another package.
func (u *upgrade) opaque(text string) *jen.Statement {
	base, arguments, generic := strings.Cut(text, "[")
	at := strings.LastIndex(base, ".")
	imported, name := base[:at], base[at+1:]
	if inside, ok := strings.CutPrefix(imported, "./"); ok {
		imported = u.p.Import(inside)
	}
	code := jen.Qual(imported, name)
	if !generic {
		return code
	}
	var list []jen.Code
	for argument := range strings.SplitSeq(strings.TrimSuffix(arguments, "]"), ",") { // naive: with nested type arguments, the result does not compile
		parsed, err := contract.ParseType(argument)
		if err != nil {
			u.addUndecided(text, err.Error())
		}
		list = append(list, u.goType(parsed))
	}
	return code.Types(list...)
}

func (u *upgrade) addUndecided(field, problem string) {
	u.undecided = append(u.undecided, field+": "+problem)
}

func (u *upgrade) typeOf(t types.Type) *jen.Statement {
	w := typeWriter{packages: map[string]string{}}
	return w.write(types.Unalias(t))
}

// convertStruct returns the statements that convert a recorded struct, old, to the current struct: as a
// literal, or field by field if the struct embeds others.
//
//	return Create{Href: old.URL, Tags: old.Tags}
func (u *upgrade) convertStruct(file gen.GoFile, prefix, target string, fields []contract.Field, structure *types.Struct) string {
	used, embeds := map[string]bool{}, false
	var names []string
	var values []*jen.Statement
	for _, f := range derive.JSONFields(structure, false) {
		at := prefix + f.Key
		was, found := u.sourceOf(prefix, fields, f.Key)
		fallback, hasDefault := u.defaultOf(at)
		name, value := f.Var.Name(), (*jen.Statement)(nil)
		if promoted, _, _ := types.LookupFieldOrMethod(structure, true, f.Var.Pkg(), name); promoted != f.Var {
			name = strings.Join(f.Path, ".") // shadowed by an embedded struct
		}
		embeds = embeds || len(f.Path) > 1
		switch {
		case found:
			used[was.Name] = true
			value = u.convertField(at, was, f, fallback, hasDefault)
		case hasDefault:
			value = u.literal(at, fallback, f.Var.Type())
		case f.Omits || isPointer(f.Var.Type()):
			continue // absent in old events
		default:
			u.addUndecided(at, fmt.Sprintf("new required field; set its value in old events (default %s=VALUE) or its old name (rename OLD=%s)", at, f.Key))
			continue
		}
		if f.Indirect {
			u.addUndecided(at, "field of an embedded pointer; send a body")
		}
		names, values = append(names, name), append(values, value)
	}
	for _, was := range fields {
		if at := prefix + was.Name; !used[was.Name] && !slices.Contains(u.edit.Drop, at) {
			u.addUndecided(at, fmt.Sprintf("no such field now; set its new name (rename %s=NEW), or ignore it (drop %[1]s)", at))
		}
	}
	if embeds {
		text := "var upgraded " + target + "\n"
		for i, name := range names {
			text += "upgraded." + name + " = " + file.Code(values[i]) + "\n"
		}
		return text + "return upgraded"
	}
	between, end := ", ", ""
	if len(names) > 3 {
		between, end = ",\n", ",\n"
	}
	for i, name := range names {
		names[i] = name + ": " + file.Code(values[i])
	}
	return "return " + target + "{" + strings.TrimPrefix(end, ",") + strings.Join(names, between) + end + "}"
}

func (u *upgrade) sourceOf(prefix string, fields []contract.Field, name string) (contract.Field, bool) {
	for _, was := range fields {
		renamed, ok := u.edit.Rename[prefix+was.Name]
		if ok && renamed == name || !ok && was.Name == name {
			return was, true
		}
	}
	return contract.Field{}, false
}

// defaultOf returns the value of a field in events that lack it, as JSON or plain text.
func (u *upgrade) defaultOf(at string) (string, bool) {
	if value, ok := u.defaults[at]; ok {
		return value, true
	}
	value, ok := u.Defaults[at]
	return value, ok
}

func (u *upgrade) convertField(at string, was contract.Field, f derive.JSONField, fallback string, hasDefault bool) *jen.Statement {
	old, err := contract.ParseType(was.Type)
	if err != nil {
		u.addUndecided(at, err.Error())
		return jen.Nil()
	}
	value, target := jen.Id("old").Dot(recordedGo(was)), f.Var.Type()
	if !was.Optional || f.Omits || isPointer(target) {
		converted, ok := u.convert(value, old, target)
		if !ok {
			return u.mismatch(at, was, f)
		}
		return converted
	}
	switch {
	case !hasDefault:
		u.addUndecided(at, fmt.Sprintf("was optional, is required now; set its value in events that lack it (default %s=VALUE)", at))
		return jen.Nil()
	case old.Kind != contract.Pointer:
		u.addUndecided(at, "was optional, is required now, and events do not distinguish empty from absent; send a body")
		return jen.Nil()
	}
	converted, ok := u.convert(jen.Id("v"), *old.Elem, target)
	if !ok {
		return u.mismatch(at, was, f)
	}
	return jen.Qual(u.p.Import("core/app"), "UpgradeOr").Call(value, u.literal(at, fallback, target), u.function(*old.Elem, target, converted))
}

func (u *upgrade) mismatch(at string, was contract.Field, f derive.JSONField) *jen.Statement {
	u.addUndecided(at, fmt.Sprintf("type changed from %s to %s", was.Type, types.TypeString(f.Var.Type(), func(p *types.Package) string { return p.Name() })))
	return jen.Nil()
}

func isPointer(t types.Type) bool {
	_, ok := types.Unalias(t).(*types.Pointer)
	return ok
}

// convert returns the expression that converts a value of a recorded type to a Go type. It reports false
// if the conversion could lose data.
func (u *upgrade) convert(value *jen.Statement, old contract.Type, target types.Type) (*jen.Statement, bool) {
	target = types.Unalias(target)
	named, isNamed := target.(*types.Named)
	if old.Kind == contract.Opaque {
		return value, isNamed && u.hasRecordedName(named, old.Name)
	}
	if pointer, ok := target.(*types.Pointer); ok {
		if old.Kind != contract.Pointer {
			converted, ok := u.convert(value, old, pointer.Elem())
			return jen.New(converted), ok
		}
		return u.convertElems("UpgradePointer", value, *old.Elem, pointer.Elem())
	}
	switch under := target.Underlying().(type) {
	case *types.Interface:
		return value, under.Empty()
	case *types.Basic:
		if old.Kind != contract.Basic || !contract.Holds(types.Typ[under.Kind()].Name(), old.Name) {
			return nil, false
		}
		if isNamed || types.Typ[under.Kind()].Name() != old.Name {
			return u.typeOf(target).Call(value), true
		}
		return value, true
	case *types.Slice:
		if old.Kind == contract.Bytes {
			return value, true
		}
		if old.Kind != contract.Slice {
			return nil, false
		}
		return u.convertElems("UpgradeList", value, *old.Elem, under.Elem())
	case *types.Array:
		return value, old.Kind == contract.Array && int(under.Len()) == old.Len && !u.differs(*old.Elem, under.Elem())
	case *types.Map:
		if old.Kind != contract.Map || u.differs(*old.Key, under.Key()) {
			return nil, false
		}
		return u.convertElems("UpgradeMap", value, *old.Elem, under.Elem())
	case *types.Struct:
		if old.Kind != contract.Struct || !isNamed {
			return nil, false
		}
		if old.Name == u.Type {
			return value.Dot("Upgrade").Call(), named.Obj().Name() == u.Type
		}
		if known := u.queued[old.Name]; known != nil && !types.Identical(known, target) {
			return nil, false
		}
		if u.queued[old.Name] == nil {
			u.queued[old.Name] = target
			u.order = append(u.order, old.Name)
		}
		return value.Dot("upgrade").Call(), true
	}
	return nil, false
}

// convertElems is convert for a pointer, slice or map. It calls the named function of core/app.
func (u *upgrade) convertElems(function string, value *jen.Statement, old contract.Type, target types.Type) (*jen.Statement, bool) {
	converted, ok := u.convert(jen.Id("v"), old, target)
	if !ok || !u.differs(old, target) {
		return value, ok
	}
	return jen.Qual(u.p.Import("core/app"), function).Call(value, u.function(old, target, converted)), true
}

// function returns a function that converts a value of a recorded type to a Go type. converted is its result
// for v.
func (u *upgrade) function(old contract.Type, target types.Type, converted *jen.Statement) *jen.Statement {
	if old.Kind == contract.Struct && old.Name == u.Type {
		return jen.Id(u.OldType("")).Dot("Upgrade")
	}
	if old.Kind == contract.Struct {
		return jen.Id(u.OldType(old.Name)).Dot("upgrade")
	}
	return jen.Func().Params(jen.Id("v").Add(u.goType(old))).Add(u.typeOf(target)).Block(jen.Return(converted))
}

// differs reports whether a value of a recorded type must be converted to be assigned to a Go type.
func (u *upgrade) differs(old contract.Type, target types.Type) bool {
	_, isNamed := types.Unalias(target).(*types.Named)
	converted, ok := u.convert(jen.Id("v"), old, target)
	return !ok || converted.GoString() != "v" || isNamed && old.Kind != contract.Opaque
}

// hasRecordedName reports whether t is the type with the recorded name.
func (u *upgrade) hasRecordedName(t *types.Named, name string) bool {
	if t.Obj().Pkg() == nil {
		return false
	}
	base, _, _ := strings.Cut(name, "[")
	if inside, ok := strings.CutPrefix(base, "./"); ok {
		base = u.p.Import(inside)
	}
	return base == t.Obj().Pkg().Path()+"."+t.Obj().Name()
}

// literal returns a default value as Go code. text is JSON, or plain text for a string.
func (u *upgrade) literal(at, text string, t types.Type) *jen.Statement {
	code, ok := u.literalOf(json.RawMessage(text), t)
	if !ok && isText(t) {
		code, ok = u.literalOf(json.RawMessage(strconv.Quote(text)), t)
	}
	if !ok {
		u.addUndecided(at, fmt.Sprintf("the default %s does not fit %s", text, types.TypeString(t, func(p *types.Package) string { return p.Name() })))
		return jen.Nil()
	}
	return code
}

func isText(t types.Type) bool {
	if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
		t = pointer.Elem()
	}
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsString != 0
}

// literalOf returns a JSON value as a Go literal that is assignable to a type, and false if there is none.
func (u *upgrade) literalOf(value json.RawMessage, t types.Type) (*jen.Statement, bool) {
	own := shape{path: u.p.Import(u.Dir), strings: u.stringTypes(t)}
	text := types.TypeString(t, func(pkg *types.Package) string {
		if pkg.Path() == own.path {
			return ""
		}
		return pkg.Name()
	})
	if named, ok := types.Unalias(t).(*types.Named); ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == own.path && !derive.IsOpaque(named) {
		text = named.Underlying().String() // an untyped constant is assignable
	}
	written, err := parser.ParseExpr(text)
	if err != nil {
		return nil, false
	}
	literal, ok := own.value(written, value, false)
	return literal.code, ok
}

// stringTypes returns the names of the feature's string types in a pointer, slice or map type.
func (u *upgrade) stringTypes(t types.Type) []string {
	switch t := types.Unalias(t).(type) {
	case *types.Pointer, *types.Slice, *types.Map:
		return u.stringTypes(t.(interface{ Elem() types.Type }).Elem())
	case *types.Named:
		if t.Obj().Pkg() != nil && t.Obj().Pkg().Path() == u.p.Import(u.Dir) && isText(t) && !derive.IsOpaque(t) {
			return []string{t.Obj().Name()}
		}
	}
	return nil
}
