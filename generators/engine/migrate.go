package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ast/astutil"

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
	engine   *Engine
	result   *gen.Migration
	pass     *typecheck.Pass
	named    *types.Named          // the command's type
	edits    map[string][]textEdit // by file
	renamed  map[token.Pos]string  // new Go names of fields, by the position of their declaration
	oldNames []string              // old Go names of these fields
	tidy     map[string][]string   // by file, names of packages that it may no longer use

	recordedGo map[token.Pos]string // Go names of fields in the recorded version, by the position of their declaration
}

type textEdit struct {
	start, end int
	text       string
}

// migrate plans a new version of a recorded command, with edited fields.
func (e *Engine) migrate(ctx context.Context, command string, edit gen.Edit) (*gen.Migration, error) {
	component, err := e.findCommand(ctx, command)
	if err != nil {
		return nil, err
	}
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
	m := &migration{engine: e, edits: map[string][]textEdit{}, renamed: map[token.Pos]string{}, tidy: map[string][]string{}}
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
	if m.pass, err = e.checker.NewPass(ctx, e.before, dirs, typecheck.PassOptions{}); err != nil {
		return nil, err
	}
	if err := m.plan(edit, dirs); err != nil {
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
			if c.EventType == command {
				return c, nil
			}
			names = append(names, c.EventType)
		}
	}
	return derive.Component{}, terminal.Usagef("command %q does not exist; the commands are %s", command, joinOrNone(names))
}

func (m *migration) plan(edit gen.Edit, dirs []string) error {
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
		if err := m.rename(old, edit.Rename[old]); err != nil {
			return err
		}
	}
	for _, name := range edit.Drop {
		if err := m.drop(name); err != nil {
			return err
		}
	}
	m.setVersion()
	m.recordedGo = m.recordedNames(edit)
	m.redirectUpgrades(dirs)
	m.renameUses(dirs)
	return nil
}

// field returns a field of the command's type by its JSON path, or nil.
func (m *migration) field(jsonPath string) *types.Var {
	t := types.Type(m.named)
	var found *types.Var
	for name := range strings.SplitSeq(jsonPath, ".") {
		structure, ok := structIn(t)
		if !ok {
			return nil
		}
		fields := derive.JSONFields(structure, false)
		at := slices.IndexFunc(fields, func(f derive.JSONField) bool { return f.Key == name })
		if at < 0 {
			return nil
		}
		found = fields[at].Var.Origin()
		t = fields[at].Var.Type()
	}
	return found
}

// structIn returns the struct that a type is, points to or contains.
func structIn(t types.Type) (*types.Struct, bool) {
	for {
		switch under := t.Underlying().(type) {
		case *types.Struct:
			return under, true
		case interface{ Elem() types.Type }: // a pointer, slice, array or map
			t = under.Elem()
		default:
			return nil, false
		}
	}
}

// rename plans a new name for a field, unless the source already has it.
func (m *migration) rename(old, name string) error {
	prefix := ""
	if at := strings.LastIndex(old, "."); at >= 0 {
		prefix = old[:at+1]
	}
	if !strings.Contains(name, ".") {
		name = prefix + name
	}
	before, after := m.field(old), m.field(name)
	switch {
	case !strings.HasPrefix(name, prefix) || strings.Contains(strings.TrimPrefix(name, prefix), "."):
		return fmt.Errorf("rename %s=%s: cannot move a field to another struct; use %sNAME", old, name, prefix)
	case old == name:
		return fmt.Errorf("rename %s=%s: both names are the same", old, name)
	case before != nil && after != nil:
		return fmt.Errorf("rename %s=%s: %s has both fields; remove one of them", old, name, m.result.Type)
	case after != nil:
		return nil // the source was already edited
	case before == nil:
		return fmt.Errorf("rename %s=%s: %s has neither field", old, name, m.result.Type)
	}
	short := strings.TrimPrefix(name, prefix)
	parsed, err := gen.ParseFieldName(short)
	if err != nil {
		return fmt.Errorf("rename %s=%s: %w", old, name, err)
	}
	file, field, err := m.declaration(before)
	if err != nil {
		return err
	}
	m.renamed[before.Pos()] = parsed.Go()
	m.oldNames = append(m.oldNames, before.Name())
	m.replace(file, field.Names[0].Pos(), field.Names[0].End(), parsed.Go())
	m.retag(file, field, short)
	m.recomment(file, field, strings.TrimPrefix(old, prefix), short)
	return nil
}

// recomment replaces the comment of a field if it was generated from the old name.
func (m *migration) recomment(file *typecheck.File, field *ast.Field, old, name string) {
	for _, group := range []*ast.CommentGroup{field.Doc, field.Comment} {
		if group != nil && strings.TrimSpace(group.Text()) == (gen.Field{Name: old}).Comment() {
			m.replace(file, group.Pos(), group.End(), "// "+gen.Field{Name: name}.Comment())
		}
	}
}

func (m *migration) declaration(v *types.Var) (*typecheck.File, *ast.Field, error) {
	view, fset := m.engine.before, m.engine.before.Fset()
	if at := fset.File(v.Pos()); at != nil && view.File(at.Name()) != nil {
		file := view.File(at.Name())
		nodes, _ := astutil.PathEnclosingInterval(file.Syntax, v.Pos(), v.Pos())
		for _, node := range nodes {
			field, ok := node.(*ast.Field)
			if !ok || len(field.Names) == 0 {
				continue
			}
			if len(field.Names) > 1 {
				return nil, nil, fmt.Errorf("%s: %s is declared together with other fields; declare it on its own line", file.Path, v.Name())
			}
			return file, field, nil
		}
	}
	return nil, nil, fmt.Errorf("the field %s is not declared in a struct of the project", v.Name())
}

func (m *migration) retag(file *typecheck.File, field *ast.Field, name string) {
	if field.Tag == nil {
		m.replace(file, field.Type.End(), field.Type.End(), " `json:"+strconv.Quote(name)+"`")
		return
	}
	text, err := strconv.Unquote(field.Tag.Value)
	if err != nil {
		return // verify reports the error
	}
	value := reflect.StructTag(text).Get("json")
	_, options, more := strings.Cut(value, ",")
	if more {
		options = "," + options
	}
	tag := strings.Replace(text, "json:"+strconv.Quote(value), "json:"+strconv.Quote(name+options), 1)
	if tag == text { // it had no JSON name
		tag = "json:" + strconv.Quote(name) + " " + text
	}
	m.replace(file, field.Tag.Pos(), field.Tag.End(), "`"+tag+"`")
}

func (m *migration) drop(name string) error {
	found := m.field(name)
	if found == nil {
		return nil
	}
	file, field, err := m.declaration(found)
	if err != nil {
		return err
	}
	start, end := field.Pos(), field.End()
	if field.Doc != nil {
		start = field.Doc.Pos()
	}
	if field.Comment != nil {
		end = field.Comment.End()
	}
	m.replace(file, start, end, "")
	for node := range ast.Preorder(field.Type) {
		if selector, ok := node.(*ast.SelectorExpr); ok {
			m.noteRemoved(file, selector)
		}
	}
	return nil
}

// setVersion writes the new version into the doc comment of the command's type.
func (m *migration) setVersion() {
	file := m.engine.before.File(m.result.File)
	line := fmt.Sprintf("//petrock:version %d", m.result.Version+1)
	nodes, _ := astutil.PathEnclosingInterval(file.Syntax, m.named.Obj().Pos(), m.named.Obj().Pos())
	var doc *ast.CommentGroup
	at := token.NoPos
	for _, node := range nodes {
		switch node := node.(type) {
		case *ast.TypeSpec:
			doc, at = node.Doc, node.Pos()
		case *ast.GenDecl:
			if doc == nil && len(node.Specs) == 1 {
				doc, at = node.Doc, node.Pos()
			}
		}
	}
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

// renameUses renames all uses of renamed fields, except in methods of older versions, which use the
// recorded types.
func (m *migration) renameUses(dirs []string) {
	if len(m.renamed) == 0 {
		return
	}
	seen := map[token.Pos]bool{}
	for _, dir := range dirs {
		unbuilt := slices.Clone(m.engine.before.Files(dir))
		for _, inspected := range m.pass.InspectTests(dir) {
			for _, file := range inspected.Files {
				unbuilt = slices.DeleteFunc(unbuilt, func(f *typecheck.File) bool { return f == file })
				if file.IsDerived() {
					continue
				}
				for node := range ast.Preorder(file.Syntax) {
					ident, ok := node.(*ast.Ident)
					if !ok || seen[ident.Pos()] {
						continue
					}
					v, ok := inspected.Info.Uses[ident].(*types.Var)
					if !ok || !v.IsField() {
						continue
					}
					if name := m.renamed[v.Origin().Pos()]; name != "" && !m.isPlanned(file, ident.Pos()) && !m.isInOlder(file, ident.Pos()) {
						seen[ident.Pos()] = true
						m.replace(file, ident.Pos(), ident.End(), name)
					}
				}
			}
		}
		m.noteUnbuilt(unbuilt)
	}
}

// noteUnbuilt notes files that are not built for this system and use names of renamed fields.
func (m *migration) noteUnbuilt(files []*typecheck.File) {
	for _, file := range files {
		for node := range ast.Preorder(file.Syntax) {
			if ident, ok := node.(*ast.Ident); ok && slices.Contains(m.oldNames, ident.Name) {
				m.result.Unbuilt = append(m.result.Unbuilt, file.Path)
				break
			}
		}
	}
}

func (m *migration) replace(file *typecheck.File, start, end token.Pos, text string) {
	at := m.engine.before.Fset().File(start)
	edit := textEdit{at.Offset(start), at.Offset(end), text}
	if !slices.Contains(m.edits[file.Path], edit) { // a field may have two paths
		m.edits[file.Path] = append(m.edits[file.Path], edit)
	}
}

func (m *migration) isPlanned(file *typecheck.File, pos token.Pos) bool {
	at := m.engine.before.Fset().File(pos).Offset(pos)
	return slices.ContainsFunc(m.edits[file.Path], func(e textEdit) bool { return e.start <= at && at < e.end })
}

// finish applies the edits, and derives the new shape of the command.
func (m *migration) finish(ctx context.Context) error {
	texts := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(m.edits)) {
		file := m.engine.before.File(name)
		edits := m.edits[name]
		slices.SortStableFunc(edits, func(a, b textEdit) int { return b.start - a.start })
		text := slices.Clone(file.Text)
		for _, e := range edits {
			text = slices.Concat(text[:e.start], []byte(e.text), text[e.end:])
		}
		text = withoutUnused(text, m.tidy[name])
		texts[name] = text
		m.result.Changes = append(m.result.Changes, gen.File{Path: name, Text: text})
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
