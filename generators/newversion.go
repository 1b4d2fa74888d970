package generators

import (
	"fmt"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
)

// VersionInput is the input of the generator of command versions.
type VersionInput struct {
	Name    string   `json:"name"`                              // Feature and command, such as posts/create
	Rename  []string `json:"rename,omitempty"`                  // url=href
	Drop    []string `json:"drop,omitempty"`                    // Fields to ignore in old events
	Default []string `json:"default,omitempty"`                 // Values of new fields in old events: status=open
	Body    string   `json:"body,omitempty" schema:"format=go"` // Go statements that return the new command, by old, instead
}

// NewVersion makes a new version of a command whose fields change: stored events are read as a type
// with the old fields, and upgraded. It works before or after the Go type is edited, and renames
// fields with all references.
//
//petrock:name version
func NewVersion(p gen.Project, in VersionInput) (gen.Draft, error) {
	u := upgrade{p: p, defaults: map[string]string{}, queued: map[string]types.Type{}}
	edit := gen.Edit{Rename: map[string]string{}, Drop: in.Drop}
	for _, text := range in.Rename {
		old, name, err := assignment("rename", text)
		if err != nil {
			return gen.Draft{}, err
		}
		edit.Rename[old] = name
	}
	for _, text := range in.Default {
		name, value, err := assignment("default", text)
		if err != nil {
			return gen.Draft{}, err
		}
		u.defaults[name] = value
	}
	var err error
	if u.Migration, err = p.Migrate(in.Name, edit); err != nil {
		return gen.Draft{}, err
	}
	u.edit = edit
	if err := u.check(); err != nil {
		return gen.Draft{}, err
	}
	u.canonical()
	if in.Body != "" {
		if u.body, err = parseBody(in.Body); err != nil {
			return gen.Draft{}, err
		}
	}
	return u.draft()
}

// assignment reads NAME=VALUE.
func assignment(flag, text string) (name, value string, err error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" || value == "" {
		return "", "", fmt.Errorf("%s %q: write it as FIELD=%s", flag, text, map[string]string{"rename": "NEW", "default": "VALUE"}[flag])
	}
	return name, value, nil
}

// An upgrade writes what reads the events of an older version.
type upgrade struct {
	*gen.Migration
	p         gen.Project
	edit      gen.Edit
	defaults  map[string]string
	body      *body
	undecided []string
	queued    map[string]types.Type // struct types that are upgraded too, by their names in the recorded shape
	order     []string              // their names, as they were met
}

// check refuses what does not concern the command.
func (u *upgrade) check() error {
	for old := range u.edit.Rename {
		if !u.Old.Has(old) {
			return fmt.Errorf("rename %s: version %d of %s has no such field; it has %s", old, u.Version, u.Entry, u.Old.Names())
		}
	}
	for _, name := range u.edit.Drop {
		if _, renamed := u.edit.Rename[name]; renamed {
			return fmt.Errorf("drop %s: it is renamed too; give one of them", name)
		}
		if !u.Old.Has(name) {
			return fmt.Errorf("drop %s: version %d of %s has no such field; it has %s", name, u.Version, u.Entry, u.Old.Names())
		}
	}
	for name := range u.defaults {
		if !u.New.Has(name) {
			return fmt.Errorf("default %s: %s has no such field; add it to the struct first, or name one of %s", name, u.Type, u.New.Names())
		}
	}
	if len(u.Old.Changes(u.New)) == 0 {
		return fmt.Errorf("%s: its fields are those of the recorded version %d; change them first, or say what to rename or drop", u.Entry, u.Version)
	}
	if taken := u.OldType(""); slices.Contains(u.Declared, taken) {
		return fmt.Errorf("%s: the package declares %s already; remove it, or rename it", u.Entry, taken)
	}
	return nil
}

// canonical names all fields by the path under which the command first has them.
func (u *upgrade) canonical() {
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

// draft is the old version with its test.
func (u *upgrade) draft() (gen.Draft, error) {
	imported, pkg := u.p.Import(u.Dir), u.p.Package(u.Dir)
	file := gen.NewGoFile(imported, pkg)
	file.ImportName(u.p.Import("core/app"), "app")
	old := u.OldType("")
	file.Paragraph(
		fmt.Sprintf("%s is version %d of %s: what stored events of %s hold. It never changes.", old, u.Version, u.Type, u.Entry),
	)
	u.declare(file, old, u.Old.Fields)
	file.Commentf("// Upgrade is the %s that an event of version %d stands for.", u.Type, u.Version)
	file.Func().Params(jen.Id("old").Id(old)).Id("Upgrade").Params().Id(u.Type).BlockFunc(func(g *jen.Group) {
		if u.body != nil {
			g.Op(u.body.text)
			return
		}
		u.convertStruct(g, "", jen.Id(u.Type), u.Old.Fields, u.Struct)
	})
	for _, name := range slices.Sorted(maps.Keys(u.Old.Types)) {
		if name == u.Type {
			continue // the command contains itself
		}
		file.Commentf("// %s is what version %d of %s had as %s.", u.OldType(name), u.Version, u.Type, name)
		u.declare(file, u.OldType(name), u.Old.Types[name])
	}
	for i := 0; i < len(u.order); i++ { // it grows on the way
		u.convertNamed(file, u.order[i])
	}
	if len(u.undecided) > 0 {
		slices.Sort(u.undecided)
		return gen.Draft{}, fmt.Errorf("%s: version %d does not say all that version %d needs:\n  %s\nor send the body of the upgrade", u.Entry, u.Version, u.Version+1, strings.Join(slices.Compact(u.undecided), "\n  "))
	}
	text, err := file.Bytes()
	if err != nil {
		return gen.Draft{}, err
	}
	test, err := u.test(imported, pkg)
	if err != nil {
		return gen.Draft{}, err
	}
	name, err := gen.ParseName(gen.WireName(old))
	if err != nil {
		return gen.Draft{}, err
	}
	source := path.Join(u.Dir, name.File("command"))
	draft := gen.Draft{
		Kind: "version", Name: u.Entry, Settles: u.Entry, Changes: u.Changes,
		Files: []gen.File{
			{Path: source, Text: text},
			{Path: strings.TrimSuffix(source, ".go") + "_test.go", Text: test},
		},
		Trial: gen.Trial{Test: "Test" + old},
		Next: []string{
			fmt.Sprintf("Events of version %d are read as %s and upgraded in %s; older builds cannot read the new events.", u.Version, old, source),
			fmt.Sprintf("go test ./%s", u.Dir),
		},
	}
	for _, name := range u.Unbuilt {
		draft.Next = append(draft.Next, fmt.Sprintf("This system does not build %s, which may use a renamed field; rename it there.", name))
	}
	if u.body != nil {
		draft.Files[0].Seek, draft.Files[0].Imports = true, u.body.imports
	}
	return draft, nil
}
