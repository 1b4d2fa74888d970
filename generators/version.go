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

	ReadFirst     bool   `json:"read_first,omitempty"`                        // Keep the old version as input and in new events, so that older builds can read them
	Downgrade     bool   `json:"downgrade,omitempty"`                         // For a version that exists: write func Downgrade, which log downgrade uses to go back to an older build
	DowngradeBody string `json:"downgrade_body,omitempty" schema:"format=go"` // Go statements of Downgrade, which return the old command from c; by default it copies the fields
}

// NewVersion creates a new version of a command whose fields change, and upgrades stored events to it. Run it
// before or after editing the Go type.
//
//petrock:name version
func NewVersion(p gen.Project, in VersionInput) (gen.Draft, error) {
	u := upgrade{p: p, defaults: map[string]string{}}
	u.edit = gen.Edit{Rename: map[string]string{}, Drop: in.Drop, ReadFirst: in.ReadFirst}
	err := errors.Join(assign(u.edit.Rename, "rename", "NEW", in.Rename), assign(u.defaults, "default", "VALUE", in.Default))
	if err != nil {
		return gen.Draft{}, err
	}
	if in.Downgrade || in.DowngradeBody != "" {
		return newDowngrade(p, in, u.edit.Rename)
	}
	if u.Migration, err = p.Migrate(in.Name, u.edit); err != nil {
		return gen.Draft{}, err
	}
	u.Version = u.Versions[0]
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

// An upgrade writes the code that reads events of older versions.
type upgrade struct {
	*gen.Migration
	*gen.Version // of the requested command
	p            gen.Project
	edit         gen.Edit
	defaults     map[string]string // values of fields in events that lack them, as JSON or plain text
	body         *body
	converted    *gen.OldStruct // the struct that the body converts

	files     []*oldFile
	undecided []undecided
	queued    []*gen.OldStruct // structs whose conversion is needed, in the order of discovery
}

// An oldFile is a file with types of old versions.
type oldFile struct {
	gen.GoFile
	path string
}

// An undecided field has no known conversion.
type undecided struct {
	of        *gen.OldStruct
	text      string
	needsCode bool // whether only a body can convert it
}

// check validates the edit and the defaults against the fields of the command.
func (u *upgrade) check() error {
	for _, name := range append(slices.Sorted(maps.Keys(u.edit.Rename)), u.edit.Drop...) {
		if !u.Old.Has(name) {
			return fmt.Errorf("rename or drop %s: version %d of %s has no such field; it has %s", name, u.Number, u.EventType, u.Old.Names())
		}
	}
	for name := range u.defaults {
		if !u.New.Has(name) {
			return fmt.Errorf("default %s: %s has no such field; add it to the struct first, or name one of %s", name, u.Type, u.New.Names())
		}
	}
	if len(u.Old.Changes(u.New)) == 0 {
		return fmt.Errorf("%s: the fields equal the recorded version %d; change them first, or set %s or %s", u.EventType, u.Number, u.p.Option("rename"), u.p.Option("drop"))
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
	u.write()
	if u.body != nil {
		var err error
		if u.converted, err = u.chooseConverted(); err != nil {
			return gen.Draft{}, err
		}
		u.write()
	}
	if len(u.undecided) > 0 {
		return gen.Draft{}, u.refusal()
	}
	where, follows := u.fileOf(u.Dir, u.OldType("")).path, "older builds cannot read the new events"
	if u.edit.ReadFirst {
		follows = fmt.Sprintf("input and new events keep the version in //petrock:writes, which older builds can read. When this build runs everywhere, remove that line from the comment of %s, update the derived files (%s), and deploy again", u.Type, u.p.Call("sync"))
	}
	draft := gen.Draft{
		Kind: "version", Name: u.EventType, Changes: u.Changes, Warnings: u.Warnings,
		Trial: gen.Trial{Test: "Test" + u.OldType("")},
		Next:  []string{fmt.Sprintf("Events of version %d are read as %s and upgraded in %s; %s.", u.Number, u.OldType(""), where, follows)},
	}
	for _, v := range u.Versions {
		draft.NewVersionsOf = append(draft.NewVersionsOf, v.EventType)
	}
	if others := draft.NewVersionsOf[1:]; len(others) > 0 {
		draft.Next = append(draft.Next, fmt.Sprintf("These contain the same type and have a new version too: %s.", strings.Join(others, ", ")))
	}
	var sources []source
	for _, file := range u.files {
		sources = append(sources, source{file.path, file.GoFile})
	}
	for i, v := range u.Versions {
		sources = append(sources, source{strings.TrimSuffix(u.fileOf(v.Dir, v.OldType("")).path, ".go") + "_test.go", u.test(u.Structs[i])})
	}
	var err error
	if draft.Files, err = renderFiles("", sources...); err != nil {
		return gen.Draft{}, err
	}
	if u.converted != nil {
		at := slices.Index(u.files, u.homeOf(u.converted))
		draft.Files[at].AddImports, draft.Files[at].Imports = true, u.body.imports
	}
	return draft, nil
}

// write writes the old types and their conversions.
func (u *upgrade) write() {
	u.files, u.undecided, u.queued = nil, nil, slices.Clone(u.Structs[:len(u.Versions)])
	for i, v := range u.Versions {
		c := u.converter(u.Structs[i])
		c.file.Commentf("// %s is version %d of %s, as stored in events of type %s. Do not change it.", c.of.Name, v.Number, v.Type, v.EventType)
		c.declare()
		c.writeConversion()
	}
	others := slices.SortedFunc(slices.Values(u.Structs[len(u.Versions):]), func(a, b *gen.OldStruct) int { return strings.Compare(a.Name, b.Name) })
	for _, o := range others {
		c := u.converter(o)
		name := o.Recorded
		if o.Current != nil {
			name = o.Current.Obj().Name()
		}
		c.file.Commentf("// %s is %s as of version %d of %s.", o.Name, name, o.Of.Number, o.Of.Type)
		c.declare()
	}
	for i := len(u.Versions); i < len(u.queued); i++ { // writeConversion appends to queued
		u.converter(u.queued[i]).writeConversion()
	}
	for _, e := range u.Enums {
		u.declareEnum(e)
	}
}

// fileOf returns the file for a type of an old version.
func (u *upgrade) fileOf(dir, typ string) *oldFile {
	name, err := gen.ParseName(gen.WireName(typ))
	where := path.Join(dir, strings.ToLower(typ)+".go")
	if err == nil {
		where = path.Join(dir, name.File("command"))
	}
	for _, file := range u.files {
		if file.path == where {
			return file
		}
	}
	file := &oldFile{gen.NewGoFile(u.p.Import(dir), u.p.Package(dir)), where}
	file.ImportName(u.p.Import("core/app"), "app")
	u.files = append(u.files, file)
	return file
}

// homeOf returns the file that declares an old struct: the file of its command, or its own in another package.
func (u *upgrade) homeOf(o *gen.OldStruct) *oldFile {
	for _, v := range u.Versions {
		if v.Dir == o.Dir && strings.HasPrefix(o.Name, v.OldType("")) {
			return u.fileOf(v.Dir, v.OldType(""))
		}
	}
	return u.fileOf(o.Dir, o.Name)
}

func (u *upgrade) declareEnum(e *gen.OldEnum) {
	file := u.fileOf(e.Dir, e.Name)
	if e.Dir == e.Of.Dir {
		file = u.fileOf(e.Dir, e.Of.OldType(""))
	}
	text := fmt.Sprintf("// %s is %s as of version %d of %s.\ntype %[1]s string\n\n// The values of %[1]s.\nconst (\n", e.Name, e.Source, e.Of.Number, e.Of.Type)
	for _, value := range e.Values {
		text += fmt.Sprintf("%s %s = %q\n", e.ConstantName(value), e.Name, value.Value)
	}
	file.Text(text + ")")
}

// chooseConverted returns the struct that the body converts: the command if it alone gets a new version, or
// else the shared type, which is the only one without a known conversion or the only one that changed.
func (u *upgrade) chooseConverted() (*gen.OldStruct, error) {
	if len(u.Versions) == 1 {
		return u.Structs[0], nil
	}
	changed := slices.DeleteFunc(slices.Clone(u.Structs), func(o *gen.OldStruct) bool { return !o.Changed || o.Current == nil })
	for _, list := range [][]*gen.OldStruct{u.needing(true), u.needing(false), changed} {
		if len(list) == 1 {
			return list[0], nil
		}
		if len(list) > 1 {
			return nil, u.refusal()
		}
	}
	return u.Structs[0], nil
}

// needing returns the structs with undecided fields, or only those that need code.
func (u *upgrade) needing(code bool) (found []*gen.OldStruct) {
	for _, field := range u.undecided {
		if !slices.Contains(found, field.of) && (field.needsCode || !code) {
			found = append(found, field.of)
		}
	}
	return found
}

// refusal returns the error about undecided fields, with what decides them.
func (u *upgrade) refusal() error {
	var lines []string
	for _, field := range u.undecided {
		text := field.text
		if field.of.Path == nil {
			text = field.of.Of.EventType + ": " + text
		}
		lines = append(lines, text)
	}
	slices.Sort(lines)
	text := fmt.Sprintf("%s: cannot convert version %d to %d:\n  %s\n", u.EventType, u.Number, u.Number+1, strings.Join(slices.Compact(lines), "\n  "))
	var others []string
	for _, v := range u.Versions[1:] {
		others = append(others, v.EventType)
	}
	structs, coded := u.needing(false), u.needing(true)
	if len(coded) > 0 {
		structs = coded
	}
	foreign := slices.IndexFunc(u.undecided, func(field undecided) bool { return field.of.Path == nil })
	switch {
	case len(others) == 0:
		return fmt.Errorf("%sResolve each of these, or set %s to the statements of %s", text, u.p.Option("body"), u.signature(u.Structs[0]))
	case foreign >= 0:
		other := u.undecided[foreign].of.Of.EventType
		return fmt.Errorf("%sFields of %s changed that %s does not have; first run %s", text, other, u.EventType, u.p.Call("generate", "kind", "version", "name", other))
	case len(structs) > 1:
		var names []string
		for _, o := range structs {
			names = append(names, o.Current.Obj().Name())
		}
		return fmt.Errorf("%sResolve each of these. %s converts one type, and several changed (%s): if more than one needs code, restore the fields of the others, generate the version, then change the next type", text, u.p.Option("body"), strings.Join(names, ", "))
	}
	return fmt.Errorf("%sResolve each of these, or set %s to the statements of %s; the new versions of %s call it too", text, u.p.Option("body"), u.signature(structs[0]), strings.Join(others, ", "))
}

// signature returns the declaration of the function that converts an old struct.
func (u *upgrade) signature(o *gen.OldStruct) string {
	current := types.TypeString(o.Current, func(pkg *types.Package) string {
		if pkg.Path() == u.p.Import(o.Dir) {
			return ""
		}
		return pkg.Name()
	})
	return fmt.Sprintf("func (old %s) %s() %s", o.Name, method(o), current)
}

// method returns the name of the method that converts an old struct.
func method(o *gen.OldStruct) string {
	if o.Exported || isCommand(o) {
		return "Upgrade"
	}
	return "upgrade"
}

func isCommand(o *gen.OldStruct) bool { return o.Name == o.Of.OldType("") }

// A converter writes one struct of an old version and its conversion.
type converter struct {
	*upgrade
	of   *gen.OldStruct
	file *oldFile
}

func (u *upgrade) converter(o *gen.OldStruct) *converter { return &converter{u, o, u.homeOf(o)} }

// writeConversion writes the method that converts the struct.
func (c *converter) writeConversion() {
	if c.of.Current == nil {
		return
	}
	target := typeText(c.file.GoFile, c.of.Current)
	text := ""
	if c.of == c.converted {
		text = c.body.text
	} else {
		text = c.convertStruct(target)
	}
	switch {
	case isCommand(c.of):
		c.file.Commentf("// Upgrade converts version %d to version %d.", c.of.Of.Number, c.of.Of.Number+1)
	case c.of.Exported:
		c.file.Commentf("// Upgrade converts it to the next version.")
	}
	c.file.Text("func (old " + c.of.Name + ") " + method(c.of) + "() " + target + " {\n" + text + "\n}")
}

// declare writes the struct with its recorded fields.
func (c *converter) declare() {
	text := "type " + c.of.Name + " struct {\n"
	embedded := map[string]bool{}
	for _, f := range c.of.Fields {
		first, _, _ := strings.Cut(f.Go, ".")
		if _, ok := c.of.Embedded[first]; ok && first != f.Go {
			if !embedded[first] {
				text += c.embedded(first) + "\n"
			}
			embedded[first] = true
			continue
		}
		tag := f.Name
		if f.Optional {
			tag += ",omitzero"
		}
		if f.Quoted {
			tag += ",string"
		}
		parsed, err := f.ParseType()
		if err != nil {
			c.addUndecided(f.Name, "%v", err)
		}
		note := c.of.Notes[f.Name]
		if tag = fmt.Sprintf("json:%q", tag); note.Schema != "" {
			tag += fmt.Sprintf(" schema:%q", note.Schema)
		}
		text += fmt.Sprintf("%s %s %s", recordedGo(f), c.goType(parsed), gen.RawString(tag))
		if note.Comment != "" {
			text += " // " + strings.ReplaceAll(note.Comment, "\n", " ")
		}
		text += "\n"
	}
	c.file.Text(text + "}")
}

// embedded returns the type of an embedded field.
func (c *converter) embedded(name string) string {
	text := c.structText(c.of.Embedded[name], c.qualified)
	if isPointer(c.current(name).Type()) {
		return "*" + text
	}
	return text
}

// current returns the embedded field of the current struct.
func (c *converter) current(name string) *types.Var {
	for f := range c.of.Current.Underlying().(*types.Struct).Fields() {
		if f.Embedded() && f.Name() == name {
			return f
		}
	}
	return nil
}

// recordedGo returns the Go name of a recorded field. Fields of embedded structs are promoted.
func recordedGo(f contract.Field) string { return f.Go[strings.LastIndex(f.Go, ".")+1:] }

// goType returns a recorded type as Go source.
func (c *converter) goType(t contract.Type) string { return c.typeName(t, c.qualified) }

// qualified returns a name of a package in the file.
func (c *converter) qualified(imported, name string) string {
	if at := strings.LastIndex(imported, "/"); strings.HasPrefix(imported, c.p.Module+"/") {
		c.file.ImportName(imported, cmp.Or(c.p.Packages[strings.TrimPrefix(imported, c.p.Module+"/")], imported[at+1:]))
	}
	return c.file.Ref(imported, name)
}

// typeName returns a recorded type as Go source, with names from qualify.
func (c *converter) typeName(t contract.Type, qualify func(imported, name string) string) string {
	switch t.Kind {
	case contract.Basic:
		if ref, ok := c.of.Of.EnumRefs[t.Enum]; ok && ref.Old != nil {
			return qualify(c.p.Import(ref.Old.Dir), ref.Old.Name)
		} else if ok {
			return qualify(ref.Kept.Obj().Pkg().Path(), ref.Kept.Obj().Name())
		}
	case contract.Struct:
		return c.structText(c.of.Of.StructRefs[t.Name], qualify)
	case contract.Opaque: // such as ./features/posts.List[time.Time]
		return regexp.MustCompile(`[^\[\]*,]+\.\w+`).ReplaceAllStringFunc(t.Name, func(name string) string {
			at := strings.LastIndex(name, ".")
			return qualify(c.importPath(name[:at]), name[at+1:])
		})
	case contract.Pointer:
		return "*" + c.typeName(*t.Elem, qualify)
	case contract.Slice:
		return "[]" + c.typeName(*t.Elem, qualify)
	case contract.Array:
		return fmt.Sprintf("[%d]%s", t.Len, c.typeName(*t.Elem, qualify))
	case contract.Map:
		return "map[" + c.typeName(*t.Key, qualify) + "]" + c.typeName(*t.Elem, qualify)
	}
	return t.Name
}

// structText returns the name of a struct type, with names from qualify.
func (c *converter) structText(ref gen.StructRef, qualify func(imported, name string) string) string {
	if ref.Old != nil {
		return qualify(c.p.Import(ref.Old.Dir), ref.Old.Name)
	}
	return regexp.MustCompile(`[^\[\]*,]+\.\w+`).ReplaceAllStringFunc(types.TypeString(ref.Kept, nil), func(name string) string {
		at := strings.LastIndex(name, ".")
		return qualify(name[:at], name[at+1:])
	})
}

// isSame reports whether a recorded type is a Go type, so that values need no conversion.
func (c *converter) isSame(old contract.Type, target types.Type) bool {
	target = types.Unalias(target)
	switch under := target.(type) {
	case *types.Interface:
		return old.Kind == contract.Any && under.Empty()
	case *types.Slice:
		if basic, ok := under.Elem().(*types.Basic); ok && old.Kind == contract.Bytes {
			return basic.Kind() == types.Uint8
		}
	}
	full := func(imported, name string) string { return imported + "." + name }
	return c.typeName(old, full) == types.TypeString(target, nil)
}

// importPath returns the import path of a recorded package.
func (u *upgrade) importPath(recorded string) string {
	if inside, ok := strings.CutPrefix(recorded, "./"); ok {
		return u.p.Import(inside)
	}
	return recorded
}

func (c *converter) addUndecided(field, format string, args ...any) {
	c.undecided = append(c.undecided, undecided{of: c.of, text: c.at(field) + ": " + fmt.Sprintf(format, args...)})
}

// addCoded is addUndecided for a field that only a body can convert.
func (c *converter) addCoded(field, format string, args ...any) {
	c.addUndecided(field, format, args...)
	c.undecided[len(c.undecided)-1].needsCode = true
}

// at returns the path of a field in the requested command, or its name if that command does not have it.
func (c *converter) at(field string) string {
	if c.of.Path == nil {
		return field
	}
	return *c.of.Path + field
}

// defaultOf returns the value of a field in events that lack it.
func (c *converter) defaultOf(field string) (text string, ok bool) {
	if c.of.Path != nil {
		if text, ok = c.defaults[c.at(field)]; ok {
			return text, true
		}
	}
	text, ok = c.of.Defaults[field]
	return text, ok
}

// convertStruct returns the statements that convert a recorded struct, old, to the current struct: as a
// literal, or field by field if the struct embeds others that old does not.
//
//	return Create{Href: old.URL, Tags: old.Tags}
func (c *converter) convertStruct(target string) string {
	used, embeds := map[string]bool{}, false
	var names, values []string
	for _, name := range slices.Sorted(maps.Keys(c.of.Embedded)) {
		names, values = append(names, name), append(values, c.convertEmbedded(name))
	}
	for _, f := range derive.JSONFields(c.of.Current.Underlying().(*types.Struct), false) {
		if _, ok := c.of.Embedded[f.Path[0]]; ok && len(f.Path) > 1 {
			continue
		}
		value := ""
		was, found := c.sourceOf(f.Key)
		fallback, hasDefault := c.defaultOf(f.Key)
		embeds = embeds || len(f.Path) > 1
		switch {
		case found:
			used[was.Name] = true
			value = c.convertField(was, f)
		case hasDefault:
			value = c.defaultValue(f.Key, fallback, f.Var.Type())
		case f.Omits || isPointer(f.Var.Type()):
			continue // absent in old events
		default:
			c.addUndecided(f.Key, "new required field; set its value in old events (%s %s=VALUE) or its old name (%s OLD=%s)", c.p.Option("default"), c.at(f.Key), c.p.Option("rename"), f.Key)
		}
		if f.Indirect {
			c.addCoded(f.Key, "field of an embedded pointer; set %s", c.p.Option("body"))
		}
		names, values = append(names, f.Var.Name()), append(values, value)
	}
	for _, was := range c.of.Fields {
		first, _, _ := strings.Cut(was.Go, ".")
		if _, ok := c.of.Embedded[first]; !used[was.Name] && !(ok && first != was.Go) && !(c.of.Path != nil && slices.Contains(c.edit.Drop, c.at(was.Name))) {
			c.addUndecided(was.Name, "no such field now; set its new name (%s %s=NEW), or ignore it (%s %[2]s)", c.p.Option("rename"), c.at(was.Name), c.p.Option("drop"))
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

// convertEmbedded returns the value of an embedded field.
func (c *converter) convertEmbedded(name string) string {
	ref := c.of.Embedded[name]
	if ref.Old == nil {
		return "old." + name
	}
	c.queue(ref.Old)
	if isPointer(c.current(name).Type()) {
		return c.callApp("UpgradePointer", "old."+ref.Old.Name, c.structText(ref, c.qualified)+"."+method(ref.Old))
	}
	return "old." + ref.Old.Name + "." + method(ref.Old) + "()"
}

// queue makes write write the conversion of a struct.
func (c *converter) queue(o *gen.OldStruct) {
	if !slices.Contains(c.queued, o) {
		c.queued = append(c.queued, o)
	}
}

// sourceOf returns the recorded field that a field gets its value from.
func (c *converter) sourceOf(name string) (contract.Field, bool) {
	for _, was := range c.of.Fields {
		renamed, ok := c.edit.Rename[c.at(was.Name)]
		ok = ok && c.of.Path != nil
		if ok && renamed == name || !ok && was.Name == name {
			return was, true
		}
	}
	return contract.Field{}, false
}

func (c *converter) convertField(was contract.Field, f derive.JSONField) string {
	old, err := was.ParseType()
	if err != nil {
		c.addUndecided(f.Key, "%v", err)
		return ""
	}
	value, target := "old."+recordedGo(was), f.Var.Type()
	isLost := was.Optional && !f.Omits && !isPointer(target) // events may lack it
	fallback, hasDefault := c.defaultOf(f.Key)
	switch {
	case isLost && !hasDefault:
		c.addUndecided(f.Key, "was optional, is required now; set its value in events that lack it (%s %s=VALUE)", c.p.Option("default"), c.at(f.Key))
		return ""
	case isLost && old.Kind != contract.Pointer:
		c.addCoded(f.Key, "was optional, is required now, and events do not distinguish empty from absent; set %s", c.p.Option("body"))
		return ""
	case isLost:
		old, value = *old.Elem, "v"
	}
	converted, ok := c.convert(value, old, target)
	if !ok {
		c.addCoded(f.Key, "type changed from %s to %s", was.Type, types.TypeString(target, (*types.Package).Name))
	}
	if isLost {
		fallback = c.defaultValue(f.Key, fallback, target)
		return c.callApp("UpgradeOr", "old."+recordedGo(was), fallback, c.function(old, target, converted))
	}
	return converted
}

// callApp returns a call of a function of core/app.
func (c *converter) callApp(function string, arguments ...string) string {
	return c.file.Ref(c.p.Import("core/app"), function) + "(" + strings.Join(arguments, ", ") + ")"
}

func isPointer(t types.Type) bool {
	_, ok := types.Unalias(t).(*types.Pointer)
	return ok
}

// convert returns the expression that converts a value of a recorded type to a Go type. It reports false
// if the conversion could lose data.
func (c *converter) convert(value string, old contract.Type, target types.Type) (string, bool) {
	target = types.Unalias(target)
	if c.isSame(old, target) {
		return value, true
	}
	_, isNamed := target.(*types.Named)
	if old.Kind == contract.Opaque {
		return "", false
	}
	if pointer, ok := target.(*types.Pointer); ok {
		if old.Kind != contract.Pointer {
			converted, ok := c.convert(value, old, pointer.Elem())
			return "new(" + converted + ")", ok
		}
		return c.convertElems("UpgradePointer", value, *old.Elem, pointer.Elem())
	}
	switch under := target.Underlying().(type) {
	case *types.Interface:
		return value, under.Empty()
	case *types.Basic:
		name := types.Typ[under.Kind()].Name()
		if isNamed || name != old.Name || old.Enum != "" {
			value = typeText(c.file.GoFile, target) + "(" + value + ")"
		}
		return value, old.Kind == contract.Basic && contract.Holds(name, old.Name)
	case *types.Slice:
		if old.Kind == contract.Slice {
			return c.convertElems("UpgradeList", value, *old.Elem, under.Elem())
		}
		return value, old.Kind == contract.Bytes
	case *types.Array:
		return value, old.Kind == contract.Array && int(under.Len()) == old.Len && c.isSame(*old.Elem, under.Elem())
	case *types.Map:
		if old.Kind != contract.Map || !c.isSame(*old.Key, under.Key()) {
			return "", false
		}
		return c.convertElems("UpgradeMap", value, *old.Elem, under.Elem())
	case *types.Struct:
		o := c.of.Of.StructRefs[old.Name].Old
		if old.Kind != contract.Struct || o == nil || o.Current == nil || types.TypeString(o.Current, nil) != types.TypeString(target, nil) {
			return "", false
		}
		c.queue(o)
		return value + "." + method(o) + "()", true
	}
	return "", false
}

// convertElems is convert for a pointer, slice or map. It calls the named function of core/app.
func (c *converter) convertElems(function, value string, old contract.Type, target types.Type) (string, bool) {
	if c.isSame(old, target) {
		return value, true
	}
	converted, ok := c.convert("v", old, target)
	if !ok {
		return value, false
	}
	return c.callApp(function, value, c.function(old, target, converted)), true
}

// function returns a function that converts a value of a recorded type to a Go type. converted is its result
// for v.
func (c *converter) function(old contract.Type, target types.Type, converted string) string {
	if method, ok := strings.CutPrefix(converted, "v."); ok {
		return c.goType(old) + "." + strings.TrimSuffix(method, "()")
	}
	return "func(v " + c.goType(old) + ") " + typeText(c.file.GoFile, types.Unalias(target)) + " { return " + converted + " }"
}

// defaultValue returns a default value as Go source.
func (c *converter) defaultValue(field, text string, t types.Type) string {
	code, ok := c.literal(c.file.GoFile, c.of.Dir, text, t)
	if !ok {
		c.addUndecided(field, "the default %s does not fit %s", text, types.TypeString(t, (*types.Package).Name))
	}
	return code
}

// literal returns a value as Go source that is assignable to a type, and false if there is none. text is JSON,
// or plain text for a string.
func (u *upgrade) literal(file gen.GoFile, dir, text string, t types.Type) (string, bool) {
	own := shape{path: u.p.Import(dir)}
	if feature := u.p.Feature(path.Base(dir)); feature != nil && feature.Dir == dir {
		own.strings = slices.Collect(maps.Keys(feature.Strings))
	}
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
