package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// A migration edits the source for new versions of commands, in three steps. First it renames and
// removes fields with all their uses. Then it finds the commands whose recorded events do not fit
// the edited source: they get a new version. When the generator has chosen the names in CreateV2,
// it makes the code of older versions convert to that instead of Create, and sets
// //petrock:version.
type migration struct {
	*rewrite          // of the edited source, for the last step
	base     snapshot // before the edits
	edit     gen.Edit
	record   *contract.Contract
	texts    map[string][]byte // files that are edited so far
	stored   []*gen.Version    // recorded commands of the edited source; the requested one first
}

// migrate plans a new version of a recorded command, with edited fields, and of the commands that
// break through the same types.
func (s snapshot) migrate(ctx context.Context, command string, edit gen.Edit) (*gen.Migration, error) {
	component, _, err := s.lookUp(ctx, derive.Command, command)
	if err != nil {
		return nil, err
	}
	command = component.EventType
	m := &migration{base: s, edit: edit, texts: map[string][]byte{}}
	if m.record, err = s.engine.readContract(nil); err != nil {
		return nil, err
	}
	recorded, known := m.record.Commands[command]
	switch version := component.Version(); {
	case !known:
		return nil, fmt.Errorf("%s is not recorded in %s; run %s", command, contract.File, s.engine.Call("sync"))
	case version < recorded.Version || version > recorded.Version+1:
		return nil, fmt.Errorf("%s: version %d is recorded, but its type has version %d; set its //petrock:version to %d", command, recorded.Version, version, recorded.Version)
	}
	edited, err := m.editFields(ctx, component)
	if err != nil {
		return nil, err
	}
	if err := m.complete(ctx, edited.texts()); err != nil {
		return nil, err
	}
	if err := m.findStored(ctx, command); err != nil {
		return nil, err
	}
	if m.stored == nil {
		return nil, fmt.Errorf("%s: the edited fields do not make a command", command)
	}
	planned := &gen.Migration{Versions: m.chooseVersions(), Warnings: edited.unbuilt}
	planned.Changes = func() ([]gen.File, error) { return m.changes(ctx, planned.Versions) }
	return planned, nil
}

// editFields plans to rename and remove fields of the command.
func (m *migration) editFields(ctx context.Context, c derive.Component) (*rewrite, error) {
	dir := path.Dir(c.File)
	edit, err := m.base.newRewrite(ctx, dir)
	if err != nil {
		return nil, err
	}
	pkg, _ := edit.pass.Package(dir) // lookUp has found the type
	t := pkg.Scope().Lookup(c.Func).Type().(*types.Named)
	if err := edit.extend(ctx, m.base.engine.checker, t); err != nil {
		return nil, err
	}
	for _, old := range slices.Sorted(maps.Keys(m.edit.Rename)) {
		if err := edit.renameField(t, old, m.edit.Rename[old]); err != nil {
			return nil, err
		}
	}
	for _, name := range m.edit.Drop {
		if found := derive.FieldAt(t, name); found != nil {
			if err := edit.removeField(found); err != nil {
				return nil, err
			}
		}
	}
	edit.renameUses()
	return edit, nil
}

// complete adds edited files, with their imports.
func (m *migration) complete(ctx context.Context, texts map[string][]byte) error {
	maps.Copy(m.texts, texts)
	_, err := m.base.completeGo(ctx, m.texts)
	return err
}

// findStored finds the recorded commands of the edited source. It finds none if the requested
// command has neither its recorded version nor the next.
func (m *migration) findStored(ctx context.Context, requested string) error {
	edited := m.base.with(m.texts)
	var dirs []string
	places := slices.DeleteFunc(derive.Places(edited.view), func(place derive.Place) bool {
		return place.Kind != derive.Feature || len(edited.view.Files(place.Dir)) == 0
	})
	for _, place := range places {
		dirs = append(dirs, place.Dir)
	}
	packages, err := m.base.engine.deriver.Packages(ctx, edited.view, places)
	if err != nil {
		return err
	}
	if m.rewrite, err = edited.newRewrite(ctx, dirs...); err != nil {
		return err
	}
	for _, pkg := range packages {
		declared, _ := m.pass.Package(pkg.Dir)
		for _, c := range pkg.Components {
			recorded, known := m.record.Commands[c.EventType]
			next := c.Version() - recorded.Version // 1 if the source already has the next version
			if c.Kind != derive.Command || !known || next != 0 && (next != 1 || c.EventType != requested) {
				continue
			}
			v := &gen.Version{
				EventType: c.EventType, Dir: pkg.Dir, Type: c.Func, Named: declared.Scope().Lookup(c.Func).Type().(*types.Named),
				Number: recorded.Version, Writes: m.edit.ReadFirst && !c.Retired && !c.WritesOlder(),
				Old: recorded.Versions[recorded.Version], New: c.Stored(), Defaults: defaultsOf(c.Input),
			}
			if c.EventType == requested {
				m.stored = slices.Insert(m.stored, 0, v)
			} else {
				m.stored = append(m.stored, v)
			}
		}
	}
	if len(m.stored) > 0 && m.stored[0].EventType != requested {
		m.stored = nil
	}
	return nil
}

// chooseVersions returns the commands that get a new version: the requested one, and all that break
// because of a type that changed in one of them.
func (m *migration) chooseVersions() (chosen []*gen.Version) {
	changed := map[string]bool{}
	for before := -1; before < len(chosen); {
		before = len(chosen)
		for _, v := range m.stored {
			own := changedTypes(v, m.edit.ReadFirst)
			isShared := slices.ContainsFunc(own, func(key string) bool { return changed[key] })
			if slices.Contains(chosen, v) || v != m.stored[0] && !isShared {
				continue
			}
			chosen = append(chosen, v)
			for _, key := range own {
				changed[key] = true
			}
		}
	}
	return chosen
}

// needsVersion reports whether a change of fields needs a new version: if recorded events do not
// fit the new fields or, to read first, if older builds cannot read the new events.
func needsVersion(c contract.Change, readFirst bool) bool { return c.Breaking || readFirst }

// changedTypes returns the struct types whose own fields do not fit the recorded events of a
// command.
func changedTypes(v *gen.Version, readFirst bool) (keys []string) {
	for _, c := range v.Old.Changes(v.New) {
		if needsVersion(c, readFirst) {
			keys = append(keys, typeKey(ownerOf(v, c.Path)))
		}
	}
	return keys
}

// typeKey identifies a type in several passes.
func typeKey(t types.Type) string { return types.TypeString(t, nil) }

// ownerOf returns the struct type that declares the field of a command at a JSON path, or that
// declared it if it was removed. It may be embedded in another.
func ownerOf(v *gen.Version, jsonPath string) types.Type {
	var owner types.Type = v.Named
	at := strings.LastIndex(jsonPath, ".")
	if at >= 0 {
		owner = derive.Innermost(derive.FieldAt(owner, jsonPath[:at]).Type())
	}
	recorded, _ := v.Old.Field(jsonPath)
	goPath := strings.Split(recorded.Go, ".")
	for _, f := range derive.JSONFields(owner.Underlying().(*types.Struct), false) {
		if f.Key == jsonPath[at+1:] {
			goPath = f.Path
		}
	}
	for _, name := range goPath[:len(goPath)-1] {
		for f := range owner.Underlying().(*types.Struct).Fields() {
			if f.Embedded() && f.Name() == name {
				owner = derive.Innermost(f.Type())
				break
			}
		}
	}
	return owner
}

// changes returns all edited files, with the versions of commands and the code of older versions.
func (m *migration) changes(ctx context.Context, versions []*gen.Version) (files []gen.File, err error) {
	for _, v := range versions {
		m.setVersion(v)
		m.redirectOlder(v)
	}
	err = m.complete(ctx, m.rewrite.texts())
	for _, name := range slices.Sorted(maps.Keys(m.texts)) {
		files = append(files, gen.File{Path: name, Text: m.texts[name]})
	}
	return files, err
}

// redirectOlder makes the code of older versions use the types of the new old version instead of
// those of the source: func (old CreateV1) Upgrade() CreateV2 { return CreateV2{Href: old.URL} }.
func (m *migration) redirectOlder(v *gen.Version) {
	pkg, _ := m.pass.Package(v.Dir)
	inspected := m.pass.Inspect(v.Dir)
	for _, file := range inspected.Files {
		for _, decl := range file.Syntax.Decls {
			function, ok := decl.(*ast.FuncDecl)
			if !ok || convertsTo(pkg, function) != v.Type {
				continue
			}
			for node := range ast.Preorder(function) {
				if text := m.oldText(v, node, inspected.Info); text != "" && !m.isPlanned(file, node.Pos()) {
					m.replace(file, node.Pos(), node.End(), text)
				}
			}
		}
	}
}

// oldText returns the text that replaces an expression in the code of older versions, or "".
func (m *migration) oldText(v *gen.Version, node ast.Node, info *types.Info) string {
	var object types.Object
	switch node := node.(type) {
	case *ast.IndexExpr, *ast.IndexListExpr:
		if t := info.Types[node.(ast.Expr)]; t.IsType() { // an instance of a generic type
			return m.oldType(v, t.Type)
		}
	case *ast.SelectorExpr: // of another package; fields follow
		if object = info.Uses[node.Sel]; object != nil && object.Parent() == nil {
			return ""
		}
	case *ast.Ident:
		object = info.Uses[node]
	}
	switch object := object.(type) {
	case *types.Var:
		return v.OldFields[object.Pos()]
	case *types.TypeName:
		return m.oldType(v, object.Type())
	case *types.Const:
		if object.Pkg() != nil {
			return v.OldNames[object.Pkg().Path()+"."+object.Name()]
		}
	}
	return ""
}

// oldType returns the type of the new old version that replaces a type of the source, or "". If no
// field has the type any more, its recorded name is still known.
func (m *migration) oldType(v *gen.Version, t types.Type) string {
	if named, ok := t.(*types.Named); ok && named.Obj().Pkg() != nil {
		return cmp.Or(v.OldNames[typeKey(named)], v.OldNames[m.base.engine.deriver.TypeName(v.Named.Obj().Pkg(), named)])
	}
	return ""
}

// setVersion writes the new version, and the version that is written, into the doc comment of a
// command's type.
func (m *migration) setVersion(v *gen.Version) {
	pkg, _ := m.pass.Package(v.Dir)
	pos := pkg.Scope().Lookup(v.Type).Pos()
	m.editDoc(pos, func(text, directives []string) ([]string, []string) {
		directives = setDirective(directives, "version", strconv.Itoa(v.Number+1), true)
		if v.Writes {
			directives = setDirective(directives, "writes", strconv.Itoa(v.Number), true)
		}
		return text, directives
	})
}

func defaultsOf(schema json.RawMessage) map[string]string {
	var document struct {
		Properties map[string]struct {
			Default json.RawMessage `json:"default"`
		} `json:"properties"`
	}
	found := map[string]string{}
	if json.Unmarshal(schema, &document) == nil {
		for name, property := range document.Properties {
			if property.Default != nil {
				found[name] = string(property.Default)
			}
		}
	}
	return found
}
