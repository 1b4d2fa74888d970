package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// A migration edits the source for a new version of a command: it renames and removes fields with all
// their uses, and sets //petrock:version. The generator then writes CreateV1 with the recorded fields.
type migration struct {
	*rewrite
	engine *Engine
	result *gen.Migration
	named  *types.Named // the command's type
}

// migrate plans a new version of a recorded command, with edited fields.
func (e *Engine) migrate(ctx context.Context, command string, edit gen.Edit) (*gen.Migration, error) {
	component, _, err := e.lookUp(ctx, derive.Command, command)
	if err != nil {
		return nil, err
	}
	command = component.EventType
	record, err := e.readContract(newPlan(actionGenerate))
	if err != nil {
		return nil, err
	}
	recorded, known := record.Commands[command]
	switch version := component.Version(); {
	case !known:
		return nil, fmt.Errorf("%s is not recorded in %s; run petrock sync", command, contract.File)
	case version < recorded.Version || version > recorded.Version+1:
		return nil, fmt.Errorf("%s: version %d is recorded, but its type has version %d; set its //petrock:version to %d", command, recorded.Version, version, recorded.Version)
	}
	m := &migration{engine: e}
	m.result = &gen.Migration{
		EventType: command,
		Dir:       path.Dir(component.File),
		Type:      component.Func,
		File:      component.File,
		Version:   recorded.Version,
		Old:       recorded.Versions[recorded.Version],
	}
	if m.rewrite, err = e.newRewrite(ctx, m.result.Dir); err != nil {
		return nil, err
	}
	if err := m.plan(edit); err != nil {
		return nil, err
	}
	return m.result, m.finish(ctx)
}

func (m *migration) plan(edit gen.Edit) error {
	m.command = m.result.Type
	pkg, _ := m.pass.Package(m.result.Dir) // lookUp has found the type
	m.named = pkg.Scope().Lookup(m.result.Type).Type().(*types.Named)
	for _, old := range slices.Sorted(maps.Keys(edit.Rename)) {
		if err := m.renameField(m.named, old, edit.Rename[old]); err != nil {
			return err
		}
	}
	for _, name := range edit.Drop {
		if found := jsonField(m.named, name); found != nil {
			if err := m.removeField(found); err != nil {
				return err
			}
		}
	}
	m.setVersion()
	m.redirectUpgrades(edit)
	m.renameUses()
	m.result.Warnings = m.unbuilt
	return nil
}

// setVersion writes the new version into the doc comment of the command's type.
func (m *migration) setVersion() {
	file := m.engine.before.File(m.result.File)
	line := fmt.Sprintf("//petrock:version %d", m.result.Version+1)
	doc, at := docAt(file, m.named.Obj().Pos())
	if doc == nil {
		m.replace(file, at, at, line+"\n")
		return
	}
	for _, comment := range doc.List {
		if strings.HasPrefix(comment.Text, "//petrock:version ") {
			m.replace(file, comment.Pos(), comment.End(), line)
			return
		}
	}
	m.replace(file, at, at, "//\n"+line+"\n") // gofmt moves it to the end of the comment
}

// finish applies the edits, and derives the new shape of the command.
func (m *migration) finish(ctx context.Context) error {
	edited := newPlan(actionGenerate)
	edited.texts = m.texts()
	if err := m.engine.completeGo(ctx, edited); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(edited.texts)) {
		m.result.Changes = append(m.result.Changes, gen.File{Path: name, Text: edited.texts[name]})
	}
	view := m.engine.before.With(edited.texts)
	packages, err := m.engine.deriver.Packages(ctx, view, []derive.Place{derive.FeaturePlace(m.result.Dir)})
	if err != nil {
		return err
	}
	at := slices.IndexFunc(packages[0].Components, func(c derive.Component) bool { return c.EventType == m.result.EventType })
	if at < 0 {
		return deriveRefusal(packages[0], view)
	}
	component := packages[0].Components[at]
	m.result.New = component.Stored()
	m.result.Defaults = defaultsOf(component.Input)
	pass, err := m.engine.checker.NewPass(ctx, view, []string{m.result.Dir}, typecheck.PassOptions{})
	if err != nil {
		return err
	}
	pkg, _ := pass.Package(m.result.Dir)
	m.result.Struct, _ = pkg.Scope().Lookup(m.result.Type).Type().Underlying().(*types.Struct)
	return nil
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

// redirectUpgrades makes CreateV1.Upgrade return CreateV2, the new type for the recorded fields, instead of
// Create: func (old CreateV1) Upgrade() CreateV2 { return CreateV2{Href: old.URL} }. Named strings and numbers
// become basic types, as in recorded types. Fields that the source already renames get their recorded names.
func (m *migration) redirectUpgrades(edit gen.Edit) {
	if m.result.Version < 2 {
		return
	}
	names := map[string]string{m.result.Type: m.result.OldType("")}
	for name := range m.result.Old.Types {
		names[name] = m.result.OldType(name)
	}
	fields := map[token.Pos]string{}
	for _, old := range m.result.Old.Fields {
		if v := jsonField(m.named, cmp.Or(edit.Rename[old.Name], old.Name)); v != nil {
			fields[v.Pos()] = old.Go[strings.LastIndex(old.Go, ".")+1:]
		}
	}
	inspected := m.pass.Inspect(m.result.Dir)
	for _, file := range inspected.Files {
		for node := range ast.Preorder(file.Syntax) {
			ident, isIdent := node.(*ast.Ident)
			if selector, ok := node.(*ast.SelectorExpr); ok {
				ident = selector.Sel
			}
			if ident == nil || !m.isInOlder(file, node.Pos()) || m.isPlanned(file, node.Pos()) {
				continue
			}
			name := ""
			switch object := inspected.Info.Uses[ident].(type) {
			case *types.Var:
				if isIdent {
					name = fields[object.Origin().Pos()]
				}
			case *types.TypeName:
				name = plainType(object)
				if object.Pkg() != nil && object.Pkg().Path() == m.named.Obj().Pkg().Path() {
					name = cmp.Or(names[object.Name()], name)
				}
			}
			if name != "" {
				m.replace(file, node.Pos(), node.End(), name)
			}
		}
	}
}

// plainType returns the basic type that underlies a named type without its own marshalling. It is empty for
// other types.
func plainType(name *types.TypeName) string {
	named, ok := name.Type().(*types.Named)
	if !ok || name.Pkg() == nil || derive.IsOpaque(named) {
		return ""
	}
	if basic, ok := named.Underlying().(*types.Basic); ok {
		return types.Typ[basic.Kind()].Name()
	}
	return ""
}
