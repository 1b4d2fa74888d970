// Package versions creates new versions of commands whose fields change, and writes the code that
// upgrades their stored events. It belongs to the part app.
package versions

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators"
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

// NewVersion creates a new version of a command whose fields change, and upgrades stored events.
// Run it before or after editing the Go type.
//
//petrock:name version
func NewVersion(p gen.Project, in VersionInput) (gen.Draft, error) {
	rename, defaults := map[string]string{}, map[string]string{}
	if err := errors.Join(assign(rename, "rename", "NEW", in.Rename), assign(defaults, "default", "VALUE", in.Default)); err != nil {
		return gen.Draft{}, err
	}
	if in.Downgrade || in.DowngradeBody != "" {
		return newDowngrade(p, in, rename)
	}
	edit := gen.Edit{Rename: rename, Drop: in.Drop, ReadFirst: in.ReadFirst}
	migration, err := p.Migrate(in.Name, edit)
	if err != nil {
		return gen.Draft{}, err
	}
	u := &upgrade{Migration: migration, Version: migration.Versions[0], p: p, edit: edit, defaults: map[token.Pos]string{}}
	if err := u.check(defaults); err != nil {
		return gen.Draft{}, err
	}
	if in.Body != "" {
		if u.body, err = parseBody("body", in.Body); err != nil {
			return gen.Draft{}, err
		}
	}
	return u.draft()
}

// assign adds texts of the form FIELD=VALUE to a map. The flag and the placeholder of a value are
// for errors.
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

// An upgrade writes the old versions of the commands that get a new one. An old version is
// self-contained: its types are copies of all structs and enums that its events have, so that later
// changes of the source cannot change how it is decoded. Only its methods use types of the source,
// which they convert to.
type upgrade struct {
	*gen.Migration
	*gen.Version // of the requested command
	p            gen.Project
	edit         gen.Edit
	body         *body      // nil without one
	converted    types.Type // the type of the source that the body converts to; nil without a body

	defaults map[token.Pos]string // of new fields in old events, as JSON or plain text, by their declaration

	versions  []*oldVersion // one for each of Versions
	undecided []undecided
}

// An undecided field has no known conversion.
type undecided struct {
	in        *oldStruct
	of        *oldVersion
	text      string
	needsCode bool // whether only a body can convert it
}

// check validates the edit and the defaults against the fields of the command, and sets the
// defaults.
func (u *upgrade) check(defaults map[string]string) error {
	for _, path := range append(slices.Sorted(maps.Keys(u.edit.Rename)), u.edit.Drop...) {
		if _, ok := u.Old.Field(path); !ok {
			return fmt.Errorf("rename or drop %s: version %d of %s has no such field; it has %s", path, u.Number, u.EventType, u.Old.Names())
		}
	}
	for _, v := range u.Versions {
		for _, f := range derive.JSONFields(v.Named.Underlying().(*types.Struct), false) {
			if value, ok := v.Defaults[f.Key]; ok {
				u.defaults[f.Var.Pos()] = value
			}
		}
	}
	for name, value := range defaults {
		field := derive.FieldAt(u.Named, name)
		if field == nil {
			return fmt.Errorf("default %s: %s has no such field; add it to the struct first, or name one of %s", name, u.Type, u.New.Names())
		}
		u.defaults[field.Pos()] = value
	}
	if len(u.Old.Changes(u.New)) == 0 {
		return fmt.Errorf("%s: the fields equal the recorded version %d; change them first, or set %s or %s", u.EventType, u.Number, u.p.Option("rename"), u.p.Option("drop"))
	}
	return nil
}

// A body holds the statements of a method that the caller sent.
type body struct {
	imports []gen.Import // import declarations before the statements
	text    string
}

func parseBody(field, text string) (*body, error) {
	imports, statements, err := gen.ParseBody(field, text)
	return &body{imports, statements}, err
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
	changes, err := u.Changes()
	if err != nil {
		return gen.Draft{}, err
	}
	draft := gen.Draft{
		Kind: "version", Name: u.EventType, Changes: changes, Warnings: u.Warnings,
		Trial: gen.Trial{Test: "Test" + u.OldType("")}, Next: u.next(),
	}
	var tests []gen.File
	for _, w := range u.versions {
		draft.NewVersionsOf = append(draft.NewVersionsOf, w.EventType)
		text, err := w.file.Bytes()
		test, testErr := w.test().Bytes()
		if err := errors.Join(err, testErr); err != nil {
			return gen.Draft{}, err
		}
		file := gen.File{Path: w.path, Text: text}
		if w.hasBody {
			file.AddImports, file.Imports = true, u.body.imports
		}
		draft.Files = append(draft.Files, file)
		tests = append(tests, gen.File{Path: strings.TrimSuffix(w.path, ".go") + "_test.go", Text: test})
	}
	draft.Files = append(draft.Files, tests...)
	return draft, nil
}

// next returns the next steps for the user.
func (u *upgrade) next() []string {
	follows := "older builds cannot read the new events"
	if u.edit.ReadFirst {
		follows = fmt.Sprintf("input and new events keep the version in //petrock:writes, which older builds can read. When this build runs everywhere, remove that line from the comment of %s, update the derived files (%s), and deploy again", u.Type, u.p.Call("sync"))
	}
	next := []string{fmt.Sprintf("Events of version %d are read as %s and upgraded in %s; %s.", u.Number, u.OldType(""), u.versions[0].path, follows)}
	if others := u.others(); others != "" {
		next = append(next, fmt.Sprintf("These contain the same type and have a new version too: %s.", others))
	}
	return next
}

// others returns the other commands that get a new version, separated by commas.
func (u *upgrade) others() string {
	var names []string
	for _, v := range u.Versions[1:] {
		names = append(names, v.EventType)
	}
	return strings.Join(names, ", ")
}

// write writes the files of all old versions. That of the requested command comes first, because
// the edit names its fields.
func (u *upgrade) write() {
	u.versions, u.undecided = nil, nil
	for _, v := range u.Versions {
		w := u.newOldVersion(v)
		u.versions = append(u.versions, w)
		w.write()
	}
}

// chooseConverted returns the type that the body converts to: the command if it alone gets a new
// version, or else the shared type, which is the only one without a known conversion or the only
// one that changed.
func (u *upgrade) chooseConverted() (types.Type, error) {
	if len(u.Versions) == 1 {
		return u.Named, nil
	}
	structs := u.undecidedStructs()
	if len(structs) == 0 {
		structs = slices.DeleteFunc(slices.Clone(u.versions[0].reached), func(o *oldStruct) bool { return !o.isChanged })
	}
	switch len(structs) {
	case 0:
		return u.Named, nil
	case 1:
		return structs[0].target, nil
	}
	return nil, u.refusal()
}

// undecidedStructs returns the structs with fields that need code or, without any, with undecided
// fields, one for each type of the source.
func (u *upgrade) undecidedStructs() (found []*oldStruct) {
	needsCode := slices.ContainsFunc(u.undecided, func(field undecided) bool { return field.needsCode })
	for _, field := range u.undecided {
		isKnown := slices.ContainsFunc(found, func(o *oldStruct) bool { return isSame(o.target, field.in.target) })
		if !isKnown && field.needsCode == needsCode {
			found = append(found, field.in)
		}
	}
	return found
}

// refusal returns the error about undecided fields, with the ways to resolve them.
func (u *upgrade) refusal() error {
	var lines []string
	for _, field := range u.undecided {
		lines = append(lines, field.text)
	}
	slices.Sort(lines)
	text := fmt.Sprintf("%s: cannot convert version %d to %d:\n  %s\n", u.EventType, u.Number, u.Number+1, strings.Join(slices.Compact(lines), "\n  "))
	structs := u.undecidedStructs()
	foreign := slices.IndexFunc(u.undecided, func(field undecided) bool { return field.of != u.versions[0] })
	switch others := u.others(); {
	case others == "":
		return fmt.Errorf("%sResolve each of these, or set %s to the statements of %s", text, u.p.Option("body"), u.statements(u.versions[0].command()))
	case foreign >= 0:
		other := u.undecided[foreign].of.EventType
		return fmt.Errorf("%sFields of %s changed that %s does not have; first run %s", text, other, u.EventType, u.p.Call("generate", "kind", "version", "name", other))
	case len(structs) > 1:
		var names []string
		for _, o := range structs {
			names = append(names, sourceName(o.target))
		}
		slices.Sort(names)
		return fmt.Errorf("%sResolve each of these. %s converts one type, and several changed (%s): if more than one needs code, restore the fields of the others, generate the version, then change the next type", text, u.p.Option("body"), strings.Join(names, ", "))
	default:
		return fmt.Errorf("%sResolve each of these, or set %s to the statements of %s\nThe new versions of %s get them too", text, u.p.Option("body"), u.statements(structs[0]), others)
	}
}

// statements describes the body that converts a struct of the requested command: the method, and
// the statements that are known.
func (u *upgrade) statements(o *oldStruct) string {
	target := types.TypeString(o.target, func(pkg *types.Package) string {
		if pkg.Path() == u.p.Import(u.Dir) {
			return ""
		}
		return pkg.Name()
	})
	return fmt.Sprintf("func (old %s) %s() %s:\n  %s", o.Obj().Name(), o.method(), target, strings.Join(strings.Fields(o.code), " "))
}

// test returns a test that replays an event of an old version. It compares the upgraded command if
// its fields have Go literals, and there is no body that converts them.
func (w *oldVersion) test() gen.GoFile {
	file := generators.NewTestFile(w.u.p, w.Dir)
	imported := w.u.p.Import(w.Dir)
	eventlog, apptest := w.u.p.Import("core/app/eventlog"), w.u.p.Import("core/app/apptest")
	var text strings.Builder
	fmt.Fprintf(&text, "// An event of version %d of %s is upgraded to %s.\n", w.Number, w.EventType, w.Type)
	fmt.Fprintf(&text, "func Test%s(t *testing.T) {\n", w.OldType(""))
	data := "data"
	if example, ok := w.Old.Example(); ok {
		data = "[]byte(" + gen.RawString(example) + ")"
	} else {
		file.Import("encoding/json")
		old := file.Ref(imported, w.OldType(""))
		fmt.Fprintf(&text, "data, err := json.Marshal(%s{})\nif err != nil {\nt.Fatal(err)\n}\n", old)
	}
	fmt.Fprintf(&text, "event := %s{Type: %q, Version: %d, Data: %s}\n", file.Ref(eventlog, "Record"), w.EventType, w.Number, data)
	replayed := file.Ref(apptest, "Replayed") + "[" + file.Ref(imported, w.Type) + "](t, event, " + file.Ref(imported, "Feature") + "())\n"
	if want, ok := w.expected(file); ok {
		file.Import("reflect")
		fmt.Fprintf(&text, "got := %sif want := (%s); !reflect.DeepEqual(got, want) {\n", replayed, want)
		fmt.Fprintf(&text, "t.Errorf(\"upgraded %s = %%+v, want %%+v\", got, want)\n}\n", w.OldType(""))
	} else {
		text.WriteString(replayed)
	}
	file.Text(text.String()+"}", "testing")
	return file
}

// expected returns the command that the example of the old version is upgraded to.
func (w *oldVersion) expected(file gen.GoFile) (literal string, ok bool) {
	example, _ := w.Old.Example()
	var data map[string]json.RawMessage
	o := w.command()
	if w.u.isConverted(o) || json.Unmarshal([]byte(example), &data) != nil {
		return "", false
	}
	var set []string
	for _, f := range derive.JSONFields(w.Named.Underlying().(*types.Struct), false) {
		was, _ := w.u.editsOf(o).sourceOf(o, f.Key)
		text := cmp.Or(string(data[was.Key]), w.u.defaults[f.Var.Pos()])
		if text == "" {
			continue
		}
		value, ok := generators.Literal(w.u.p, w.Dir, file, text, f.Var.Type())
		if !ok || len(f.Path) > 1 {
			return "", false
		}
		set = append(set, f.Var.Name()+": "+value)
	}
	return file.Ref(w.u.p.Import(w.Dir), w.Type) + "{" + strings.Join(set, ", ") + "}", true
}
