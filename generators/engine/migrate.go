package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// A migration edits the source for a new version of a command. With url renamed to href,
//
//	// Create adds a link.
//	type Create struct {
//		URL string `json:"url"`
//	}
//
// becomes
//
//	// Create adds a link.
//	//
//	//petrock:version 2
//	type Create struct {
//		Href string `json:"href"`
//	}
//
// and all uses of the field are renamed. The generator then writes CreateV1 with the recorded fields.
type migration struct {
	*rewrite
	engine *Engine
	result *gen.Migration
	named  *types.Named // the command's type

	recordedGo map[token.Pos]string // Go names of fields in the recorded version, by the position of their declaration
}

// migrate plans a new version of a recorded command, with edited fields.
func (e *Engine) migrate(ctx context.Context, command string, edit gen.Edit) (*gen.Migration, error) {
	component, err := e.findCommand(ctx, command)
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
		Declared:  e.feature(ctx, component.Feature).Declared,
	}
	dirs := e.checker.Importers(e.before, m.result.Dir)
	pass, err := e.checker.NewPass(ctx, e.before, dirs, typecheck.PassOptions{})
	if err != nil {
		return nil, err
	}
	m.rewrite = newRewrite(e.before, pass, dirs)
	if err := m.plan(edit); err != nil {
		return nil, err
	}
	return m.result, m.finish(ctx)
}

func (e *Engine) findCommand(ctx context.Context, command string) (derive.Component, error) {
	feature, _, ok := strings.Cut(command, "/")
	place := derive.FeaturePlace(path.Join(derive.Features, feature))
	if !ok || feature == "" || !slices.Contains(derive.Places(e.before), place) {
		return derive.Component{}, fmt.Errorf("%q is not a command; write FEATURE/COMMAND, such as posts/create", command)
	}
	packages, err := e.deriver.Packages(ctx, e.before, []derive.Place{place})
	if err != nil {
		return derive.Component{}, err
	}
	if len(packages[0].Problems) > 0 {
		return derive.Component{}, e.deriveRefusal(newPlan(actionGenerate), packages[0])
	}
	var names []string
	for _, c := range packages[0].Components {
		if c.Kind == derive.Command {
			if c.EventType == command || c.Matches(command) {
				return c, nil
			}
			names = append(names, c.EventType)
		}
	}
	return derive.Component{}, terminal.Usagef("command %q does not exist; the commands are %s", command, joinOrNone(names))
}

func (m *migration) plan(edit gen.Edit) error {
	pkg, _ := m.pass.Package(m.result.Dir)
	if pkg == nil {
		return fmt.Errorf("no package in %s", m.result.Dir)
	}
	object := pkg.Scope().Lookup(m.result.Type)
	if object == nil {
		return fmt.Errorf("no type %s in %s", m.result.Type, m.result.Dir)
	}
	m.named, _ = object.Type().(*types.Named)
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
	m.recordedGo = m.recordedNames(edit)
	m.redirectUpgrades()
	m.renameUses(m.isInOlder) // older versions use the recorded types
	m.result.Unbuilt = m.unbuilt
	return nil
}

// setVersion writes the new version into the doc comment of the command's type.
func (m *migration) setVersion() {
	file := m.engine.before.File(m.result.File)
	line := fmt.Sprintf("//petrock:version %d", m.result.Version+1)
	doc, at := typeDoc(file, m.named.Obj().Pos())
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
	texts := m.texts()
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		m.result.Changes = append(m.result.Changes, gen.File{Path: name, Text: texts[name]})
	}
	view := m.engine.before.With(texts)
	packages, err := m.engine.deriver.Packages(ctx, view, []derive.Place{derive.FeaturePlace(m.result.Dir)})
	if err != nil {
		return err
	}
	at := slices.IndexFunc(packages[0].Components, func(c derive.Component) bool { return c.EventType == m.result.EventType })
	if at < 0 {
		p := newPlan(actionGenerate)
		p.texts = texts
		return m.engine.deriveRefusal(p, packages[0])
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
