package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
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

// A migration edits the source for a new version of a command: it renames and removes fields with all
// their uses, and sets //petrock:version. The generator then writes CreateV1 with the recorded fields.
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
	if m.rewrite, err = e.newRewrite(ctx, m.result.Dir); err != nil {
		return nil, err
	}
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
		return derive.Component{}, deriveRefusal(packages[0], nil)
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
	pkg, _ := m.pass.Package(m.result.Dir) // findCommand has found the type
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
		return deriveRefusal(packages[0], texts)
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
// Create: func (old CreateV1) Upgrade() CreateV2 { return CreateV2{Href: old.URL} }.
func (m *migration) redirectUpgrades() {
	if m.result.Version < 2 {
		return
	}
	m.chainCalls()
	inspected := m.pass.Inspect(m.result.Dir)
	names := map[string]string{m.result.Type: m.result.OldType("")}
	for name := range m.result.Old.Types {
		names[name] = m.result.OldType(name)
	}
	for _, file := range inspected.Files {
		for _, decl := range file.Syntax.Decls {
			if m.isOlderMethod(decl) {
				m.redirectMethod(file, decl, inspected.Info, names)
			}
		}
	}
}

// chainCalls adds one more Upgrade to calls outside older versions, such as those of tests: old.Upgrade()
// becomes old.Upgrade().Upgrade().
func (m *migration) chainCalls() {
	for inspected := range m.packages() {
		for _, file := range inspected.Files {
			for call := range nodesOf[*ast.CallExpr](file.Syntax) {
				if file.IsDerived() || m.isInOlder(file, call.Pos()) || !m.upgradesToCommand(call, inspected.Info) || m.isPlanned(file, call.End()-1) {
					continue
				}
				m.replace(file, call.End()-1, call.End(), ").Upgrade()")
			}
		}
	}
}

// upgradesToCommand reports whether a call calls Upgrade of an older version and returns the command.
func (m *migration) upgradesToCommand(call *ast.CallExpr, info *types.Info) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != "Upgrade" {
		return false
	}
	isOurs := func(t types.Type, is func(name string) bool) bool {
		named, ok := types.Unalias(t).(*types.Named)
		return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == m.named.Obj().Pkg().Path() && is(named.Obj().Name())
	}
	receiver, result := info.Types[selector.X].Type, info.Types[call].Type
	return receiver != nil && result != nil && isOurs(receiver, m.isOlder) && isOurs(result, func(name string) bool { return name == m.result.Type })
}

// redirectMethod makes a method of an older version return the types of the recorded version, with
// the field names of that version. Named strings and numbers become basic types, as in recorded types.
func (m *migration) redirectMethod(file *typecheck.File, method ast.Decl, info *types.Info, names map[string]string) {
	for node := range ast.Preorder(method) {
		if selector, ok := node.(*ast.SelectorExpr); ok {
			if name := plainType(info.Uses[selector.Sel]); name != "" {
				m.replace(file, selector.Pos(), selector.End(), name)
				m.noteRemoved(file, selector)
			}
			continue
		}
		ident, ok := node.(*ast.Ident)
		if !ok || m.isPlanned(file, ident.Pos()) {
			continue
		}
		switch object := info.Uses[ident].(type) {
		case *types.TypeName:
			isOurs := object.Pkg() != nil && object.Pkg().Path() == m.named.Obj().Pkg().Path()
			if name := cmp.Or(names[ident.Name], plainType(object)); name != "" && isOurs {
				m.replace(file, ident.Pos(), ident.End(), name)
			}
		case *types.Var:
			if object.IsField() {
				if name := m.recordedGo[object.Origin().Pos()]; name != "" && name != ident.Name {
					m.replace(file, ident.Pos(), ident.End(), name)
				}
			}
		}
	}
}

// plainType returns the basic type that underlies a named type without its own marshalling. It is empty for
// other objects.
func plainType(object types.Object) string {
	name, ok := object.(*types.TypeName)
	if !ok || name.Pkg() == nil {
		return ""
	}
	named, ok := name.Type().(*types.Named)
	if !ok || derive.IsOpaque(named) {
		return ""
	}
	basic, ok := named.Underlying().(*types.Basic)
	if !ok {
		return ""
	}
	return types.Typ[basic.Kind()].Name()
}

// recordedNames returns the Go names of fields in the recorded version, by the position of their current
// declaration.
func (m *migration) recordedNames(edit gen.Edit) map[token.Pos]string {
	names, seen := map[token.Pos]string{}, map[string]bool{}
	var walk func(prefix string, t types.Type, fields []contract.Field)
	walk = func(prefix string, t types.Type, fields []contract.Field) {
		structure, ok := structIn(t)
		if !ok {
			return
		}
		for _, now := range derive.JSONFields(structure, false) {
			for _, old := range fields {
				renamed, ok := edit.Rename[prefix+old.Name]
				if old.Name != now.Key && !(ok && strings.TrimPrefix(renamed, prefix) == now.Key) {
					continue
				}
				names[now.Var.Origin().Pos()] = old.Go[strings.LastIndex(old.Go, ".")+1:]
				if inside := m.result.Old.StructAt(prefix + old.Name); inside != "" && !seen[inside] {
					seen[inside] = true
					walk(prefix+old.Name+".", now.Var.Type(), m.result.Old.Types[inside])
				}
			}
		}
	}
	walk("", m.named, m.result.Old.Fields)
	return names
}

// isInOlder reports whether a position is in a method of an older version of the command.
func (m *migration) isInOlder(file *typecheck.File, pos token.Pos) bool {
	return slices.ContainsFunc(file.Syntax.Decls, func(decl ast.Decl) bool {
		return decl.Pos() <= pos && pos <= decl.End() && m.isOlderMethod(decl)
	})
}

func (m *migration) isOlderMethod(decl ast.Decl) bool {
	function, ok := decl.(*ast.FuncDecl)
	return ok && m.isOlder(receiverName(function))
}

// isOlder reports whether a type belongs to an older version of the command: CreateV1 or CreateV1Item.
func (m *migration) isOlder(name string) bool {
	rest, ok := strings.CutPrefix(name, m.result.Type+"V")
	return ok && rest != "" && rest[0] >= '0' && rest[0] <= '9'
}

// withoutUnused removes imports of packages, given by name, that a file no longer uses.
func withoutUnused(text []byte, packages []string) []byte {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
	if err != nil {
		return text
	}
	used := map[string]bool{}
	for selector := range nodesOf[*ast.SelectorExpr](file) {
		if pkg, ok := selector.X.(*ast.Ident); ok {
			used[pkg.Name] = true
		}
	}
	for _, spec := range slices.Backward(file.Imports) {
		name := path.Base(strings.Trim(spec.Path.Value, `"`))
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if slices.Contains(packages, name) && !used[name] {
			start, end := fset.Position(spec.Pos()).Offset, fset.Position(spec.End()).Offset
			if bytes.HasSuffix(text[:start], []byte("import ")) {
				start -= len("import ")
			}
			text = slices.Concat(text[:start], text[end:])
		}
	}
	return text
}
