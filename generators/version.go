package generators

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/types"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

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
	u.edit = gen.Edit{Rename: map[string]string{}, Drop: in.Drop}
	err := errors.Join(assign(u.edit.Rename, "rename", "NEW", in.Rename), assign(u.defaults, "default", "VALUE", in.Default))
	if err != nil {
		return gen.Draft{}, err
	}
	if u.Migration, err = p.Migrate(in.Name, u.edit); err != nil {
		return gen.Draft{}, err
	}
	if u.feature = p.Feature(path.Base(u.Dir)); u.feature == nil {
		return gen.Draft{}, fmt.Errorf("%s: cannot read its feature", u.EventType)
	}
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
	feature   *gen.Feature
	edit      gen.Edit
	defaults  map[string]string // values of fields in events that lack them, as JSON or plain text
	body      *body
	file      gen.GoFile
	undecided []string
	queued    map[string]types.Type // struct types to upgrade too, by their names in the recorded shape
	order     []string              // keys of queued, in the order of discovery
}

// check validates the edit and the defaults against the fields of the command.
func (u *upgrade) check() error {
	for _, name := range append(slices.Sorted(maps.Keys(u.edit.Rename)), u.edit.Drop...) {
		if !u.Old.Has(name) {
			return fmt.Errorf("rename or drop %s: version %d of %s has no such field; it has %s", name, u.Version, u.EventType, u.Old.Names())
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
	return nil
}

// canonicalize replaces field paths by their canonical paths, see [contract.Shape.Canonical], and adds the
// defaults of the fields' tags.
func (u *upgrade) canonicalize() {
	renamed, defaults := map[string]string{}, map[string]string{}
	for old, name := range u.edit.Rename {
		renamed[u.Old.Canonical(old)] = name[strings.LastIndex(name, ".")+1:]
	}
	maps.Copy(defaults, u.Defaults)
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
	u.file = gen.NewGoFile(imported, pkg)
	u.file.ImportName(u.p.Import("core/app"), "app")
	old := u.OldType("")
	u.file.Commentf("// %s is version %d of %s, as stored in events of type %s. Do not change it.", old, u.Version, u.Type, u.EventType)
	u.declare(old, u.Old.Fields)
	u.file.Commentf("// Upgrade converts version %d to version %d.", u.Version, u.Version+1)
	body := ""
	if u.body != nil {
		body = u.body.text
	} else {
		body = u.convertStruct("", u.Type, u.Old.Fields, u.Struct)
	}
	u.file.Text("func (old " + old + ") Upgrade() " + u.Type + " {\n" + body + "\n}")
	for _, name := range slices.Sorted(maps.Keys(u.Old.Types)) {
		if name == u.Type {
			continue // the command contains itself
		}
		u.file.Commentf("// %s is %s as of version %d of %s.", u.OldType(name), name, u.Version, u.Type)
		u.declare(u.OldType(name), u.Old.Types[name])
	}
	for i := 0; i < len(u.order); i++ { // convertStruct appends to order
		name, target := u.order[i], u.queued[u.order[i]]
		structure, _ := target.Underlying().(*types.Struct)
		typ := typeText(u.file, target)
		u.file.Text("func (old " + u.OldType(name) + ") upgrade() " + typ + " {\n" +
			u.convertStruct(u.Old.PathOf(name)+".", typ, u.Old.Types[name], structure) + "\n}")
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
	files, err := renderFiles("", source{where, u.file}, source{strings.TrimSuffix(where, ".go") + "_test.go", u.test(imported, pkg)})
	if err != nil {
		return gen.Draft{}, err
	}
	if u.body != nil {
		files[0].AddImports, files[0].Imports = true, u.body.imports
	}
	return gen.Draft{
		Kind: "version", Name: u.EventType, NewVersionOf: u.EventType, Changes: u.Changes, Warnings: u.Warnings,
		Files: files,
		Trial: gen.Trial{Test: "Test" + old},
		Next: []string{
			fmt.Sprintf("Events of version %d are read as %s and upgraded in %s; older builds cannot read the new events.", u.Version, old, where),
			fmt.Sprintf("go test ./%s", u.Dir),
		},
	}, nil
}

// declare writes a struct with recorded fields.
func (u *upgrade) declare(name string, fields []contract.Field) {
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
			u.addUndecided(f.Name, "%v", err)
		}
		text += fmt.Sprintf("%s %s `json:%q`\n", recordedGo(f), u.goType(parsed), tag)
	}
	u.file.Text(text + "}")
}

// recordedGo returns the Go name of a recorded field. Fields of embedded structs are promoted.
func recordedGo(f contract.Field) string { return f.Go[strings.LastIndex(f.Go, ".")+1:] }

// goType returns a recorded type as Go source.
func (u *upgrade) goType(t contract.Type) string {
	switch t.Kind {
	case contract.Struct:
		return u.OldType(t.Name)
	case contract.Opaque: // such as ./features/posts.List[time.Time]
		return regexp.MustCompile(`[^\[\]*,]+\.\w+`).ReplaceAllStringFunc(t.Name, func(name string) string {
			at := strings.LastIndex(name, ".")
			return u.file.Ref(u.importPath(name[:at]), name[at+1:])
		})
	case contract.Pointer:
		return "*" + u.goType(*t.Elem)
	case contract.Slice:
		return "[]" + u.goType(*t.Elem)
	case contract.Array:
		return fmt.Sprintf("[%d]%s", t.Len, u.goType(*t.Elem))
	case contract.Map:
		return "map[" + u.goType(*t.Key) + "]" + u.goType(*t.Elem)
	}
	return t.Name
}

// importPath returns the import path of a recorded package.
func (u *upgrade) importPath(recorded string) string {
	if inside, ok := strings.CutPrefix(recorded, "./"); ok {
		return u.p.Import(inside)
	}
	return recorded
}

func (u *upgrade) addUndecided(field, format string, args ...any) {
	u.undecided = append(u.undecided, field+": "+fmt.Sprintf(format, args...))
}

// convertStruct returns the statements that convert a recorded struct, old, to the current struct: as a
// literal, or field by field if the struct embeds others.
//
//	return Create{Href: old.URL, Tags: old.Tags}
func (u *upgrade) convertStruct(prefix, target string, fields []contract.Field, structure *types.Struct) string {
	used, embeds := map[string]bool{}, false
	var names, values []string
	for _, f := range derive.JSONFields(structure, false) {
		at, value := prefix+f.Key, ""
		was, found := u.sourceOf(prefix, fields, f.Key)
		fallback, hasDefault := u.defaults[at]
		embeds = embeds || len(f.Path) > 1
		switch {
		case found:
			used[was.Name] = true
			value = u.convertField(at, was, f)
		case hasDefault:
			value = u.defaultValue(at, fallback, f.Var.Type())
		case f.Omits || isPointer(f.Var.Type()):
			continue // absent in old events
		default:
			u.addUndecided(at, "new required field; set its value in old events (default %s=VALUE) or its old name (rename OLD=%s)", at, f.Key)
		}
		if f.Indirect {
			u.addUndecided(at, "field of an embedded pointer; send a body")
		}
		names, values = append(names, f.Var.Name()), append(values, value)
	}
	for _, was := range fields {
		if at := prefix + was.Name; !used[was.Name] && !slices.Contains(u.edit.Drop, at) {
			u.addUndecided(at, "no such field now; set its new name (rename %s=NEW), or ignore it (drop %[1]s)", at)
		}
	}
	if embeds {
		text := "var upgraded " + target + "\n"
		for i, name := range names {
			text += "upgraded." + name + " = " + values[i] + "\n"
		}
		return text + "return upgraded"
	}
	between, end := ", ", ""
	if len(names) > 3 {
		between, end = ",\n", ",\n"
	}
	for i, name := range names {
		names[i] = name + ": " + values[i]
	}
	return "return " + target + "{" + strings.TrimPrefix(end, ",") + strings.Join(names, between) + end + "}"
}

// sourceOf returns the recorded field that a field gets its value from.
func (u *upgrade) sourceOf(prefix string, fields []contract.Field, name string) (contract.Field, bool) {
	for _, was := range fields {
		renamed, ok := u.edit.Rename[prefix+was.Name]
		if ok && renamed == name || !ok && was.Name == name {
			return was, true
		}
	}
	return contract.Field{}, false
}

func (u *upgrade) convertField(at string, was contract.Field, f derive.JSONField) string {
	old, err := contract.ParseType(was.Type)
	if err != nil {
		u.addUndecided(at, "%v", err)
		return ""
	}
	value, target := "old."+recordedGo(was), f.Var.Type()
	isLost := was.Optional && !f.Omits && !isPointer(target) // events may lack it
	fallback, hasDefault := u.defaults[at]
	switch {
	case isLost && !hasDefault:
		u.addUndecided(at, "was optional, is required now; set its value in events that lack it (default %s=VALUE)", at)
		return ""
	case isLost && old.Kind != contract.Pointer:
		u.addUndecided(at, "was optional, is required now, and events do not distinguish empty from absent; send a body")
		return ""
	case isLost:
		old, value = *old.Elem, "v"
	}
	converted, ok := u.convert(value, old, target)
	if !ok {
		u.addUndecided(at, "type changed from %s to %s", was.Type, types.TypeString(target, (*types.Package).Name))
	}
	if isLost {
		fallback = u.defaultValue(at, fallback, target)
		return u.callApp("UpgradeOr", "old."+recordedGo(was), fallback, u.function(old, target, converted))
	}
	return converted
}

// callApp returns a call of a function of core/app.
func (u *upgrade) callApp(function string, arguments ...string) string {
	return u.file.Ref(u.p.Import("core/app"), function) + "(" + strings.Join(arguments, ", ") + ")"
}

func isPointer(t types.Type) bool {
	_, ok := types.Unalias(t).(*types.Pointer)
	return ok
}

// convert returns the expression that converts a value of a recorded type to a Go type. It reports false
// if the conversion could lose data.
func (u *upgrade) convert(value string, old contract.Type, target types.Type) (string, bool) {
	target = types.Unalias(target)
	named, isNamed := target.(*types.Named)
	if old.Kind == contract.Opaque {
		base, _, _ := strings.Cut(old.Name, "[")
		at := strings.LastIndex(base, ".")
		return value, isNamed && named.Obj().Pkg() != nil &&
			named.Obj().Pkg().Path() == u.importPath(base[:at]) && named.Obj().Name() == base[at+1:]
	}
	if pointer, ok := target.(*types.Pointer); ok {
		if old.Kind != contract.Pointer {
			converted, ok := u.convert(value, old, pointer.Elem())
			return "new(" + converted + ")", ok
		}
		return u.convertElems("UpgradePointer", value, *old.Elem, pointer.Elem())
	}
	switch under := target.Underlying().(type) {
	case *types.Interface:
		return value, under.Empty()
	case *types.Basic:
		name := types.Typ[under.Kind()].Name()
		if isNamed || name != old.Name {
			value = typeText(u.file, target) + "(" + value + ")"
		}
		return value, old.Kind == contract.Basic && contract.Holds(name, old.Name)
	case *types.Slice:
		if old.Kind == contract.Slice {
			return u.convertElems("UpgradeList", value, *old.Elem, under.Elem())
		}
		return value, old.Kind == contract.Bytes
	case *types.Array:
		return value, old.Kind == contract.Array && int(under.Len()) == old.Len && !u.differs(*old.Elem, under.Elem())
	case *types.Map:
		if old.Kind != contract.Map || u.differs(*old.Key, under.Key()) {
			return "", false
		}
		return u.convertElems("UpgradeMap", value, *old.Elem, under.Elem())
	case *types.Struct:
		if old.Kind != contract.Struct || !isNamed {
			return "", false
		}
		if old.Name == u.Type {
			return value + ".Upgrade()", named.Obj().Name() == u.Type
		}
		if u.queued[old.Name] == nil {
			u.queued[old.Name] = target
			u.order = append(u.order, old.Name)
		}
		return value + ".upgrade()", types.Identical(u.queued[old.Name], target)
	}
	return "", false
}

// convertElems is convert for a pointer, slice or map. It calls the named function of core/app.
func (u *upgrade) convertElems(function, value string, old contract.Type, target types.Type) (string, bool) {
	converted, ok := u.convert("v", old, target)
	if !ok || !u.differs(old, target) {
		return value, ok
	}
	return u.callApp(function, value, u.function(old, target, converted)), true
}

// function returns a function that converts a value of a recorded type to a Go type. converted is its result
// for v.
func (u *upgrade) function(old contract.Type, target types.Type, converted string) string {
	if method, ok := strings.CutPrefix(converted, "v."); ok {
		return u.goType(old) + "." + strings.TrimSuffix(method, "()")
	}
	return "func(v " + u.goType(old) + ") " + typeText(u.file, types.Unalias(target)) + " { return " + converted + " }"
}

// differs reports whether a value of a recorded type must be converted to be assigned to a Go type.
func (u *upgrade) differs(old contract.Type, target types.Type) bool {
	_, isNamed := types.Unalias(target).(*types.Named)
	converted, ok := u.convert("v", old, target)
	return !ok || converted != "v" || isNamed && old.Kind != contract.Opaque
}

// defaultValue returns a default value as Go source.
func (u *upgrade) defaultValue(at, text string, t types.Type) string {
	code, ok := u.literal(u.file, text, t)
	if !ok {
		u.addUndecided(at, "the default %s does not fit %s", text, types.TypeString(t, (*types.Package).Name))
	}
	return code
}

// literal returns a value as Go source that is assignable to a type, and false if there is none. text is JSON,
// or plain text for a string.
func (u *upgrade) literal(file gen.GoFile, text string, t types.Type) (string, bool) {
	own := shape{path: u.p.Import(u.Dir), strings: slices.Collect(maps.Keys(u.feature.Strings))}
	if named, ok := types.Unalias(t).(*types.Named); ok && !derive.IsOpaque(named) {
		t = named.Underlying() // an untyped constant is assignable
	}
	written, err := parser.ParseExpr(types.TypeString(t, func(pkg *types.Package) string {
		if pkg.Path() == own.path {
			return ""
		}
		return pkg.Name()
	}))
	if err != nil {
		return "", false
	}
	value, ok := own.value(written, json.RawMessage(text))
	if !ok {
		if value, ok = own.value(written, json.RawMessage(strconv.Quote(text))); !ok {
			return "", false
		}
	}
	return file.Code(value.code), true
}

// test returns a test that replays an event of the old version. It compares the upgraded command if its fields
// have Go literals, and there is no body that converts them.
func (u *upgrade) test(imported, pkg string) gen.GoFile {
	file := gen.NewGoFile(imported+"_test", pkg+"_test")
	app := u.p.Import("core/app")
	file.ImportName(imported, pkg)
	file.ImportName(app, "app")
	file.ImportName(app+"/apptest", "apptest")
	data := "data"
	if example, ok := u.Old.Example(); ok {
		data = "[]byte(" + gen.RawString(example) + ")"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "// An event of version %d of %s is upgraded to %s.\n", u.Version, u.EventType, u.Type)
	fmt.Fprintf(&text, "func Test%s(t *testing.T) {\n", u.OldType(""))
	if data == "data" {
		file.Use("encoding/json")
		old := file.Ref(imported, u.OldType(""))
		fmt.Fprintf(&text, "data, err := json.Marshal(%s{})\nif err != nil {\nt.Fatal(err)\n}\n", old)
	}
	fmt.Fprintf(&text, "event := %s{Type: %q, Version: %d, Data: %s}\n", file.Ref(app, "Record"), u.EventType, u.Version, data)
	replayed := file.Ref(app+"/apptest", "Replayed") + "[" + file.Ref(imported, u.Type) + "](t, event, " + file.Ref(imported, "Feature") + "())\n"
	if want, ok := u.expected(file); ok {
		file.Use("reflect")
		fmt.Fprintf(&text, "got := %sif want := (%s); !reflect.DeepEqual(got, want) {\n", replayed, want)
		text.WriteString("t.Errorf(\"got %+v, want %+v\", got, want)\n}\n")
	} else {
		text.WriteString(replayed)
	}
	file.Text(text.String()+"}", "testing")
	return file
}

// expected returns the command that the example of the old version is upgraded to.
func (u *upgrade) expected(file gen.GoFile) (literal string, ok bool) {
	example, _ := u.Old.Example()
	var data map[string]json.RawMessage
	if u.body != nil || json.Unmarshal([]byte(example), &data) != nil {
		return "", false
	}
	var set []string
	for _, f := range derive.JSONFields(u.Struct, false) {
		was, _ := u.sourceOf("", u.Old.Fields, f.Key)
		text := cmp.Or(string(data[was.Name]), u.defaults[f.Key])
		if text == "" {
			continue
		}
		value, ok := u.literal(file, text, f.Var.Type())
		if !ok || len(f.Path) > 1 {
			return "", false
		}
		set = append(set, f.Var.Name()+": "+value)
	}
	return file.Ref(u.p.Import(u.Dir), u.Type) + "{" + strings.Join(set, ", ") + "}", true
}
