package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/kit"
	"github.com/petrock/petrock/generators/naming"
	"github.com/petrock/petrock/generators/source"
	"github.com/petrock/petrock/generators/typing"
)

// A migration edits the source for a new version of a command.
type migration struct {
	engine   *Engine
	made     *kit.Migration
	pass     *typing.Pass
	recorded contract.Command
	named    *types.Named          // the command's type
	edits    map[string][]textEdit // by file
	renamed  map[token.Pos]string  // new Go names of fields, by the place where they are declared
	oldNames []string              // what those are called now
	tidy     map[string]bool       // files that may no longer use all that they import
}

// A textEdit replaces a part of a file.
type textEdit struct {
	start, end int
	text       string
}

// migrate edits the fields of a recorded command for a new version.
func (e *Engine) migrate(ctx context.Context, entry string, edit kit.Edit) (*kit.Migration, error) {
	component, err := e.recordedCommand(ctx, entry)
	if err != nil {
		return nil, err
	}
	record, err := e.recorded(newPlan())
	if err != nil {
		return nil, err
	}
	recorded, known := record.Commands[entry]
	switch version := component.Version(); {
	case !known:
		return nil, fmt.Errorf("%s is not in %s yet, so there is no older version of it; run petrock sync", entry, contract.File)
	case version < recorded.Version || version > recorded.Version+1:
		return nil, fmt.Errorf("%s: version %d is recorded, and its type says version %d; set its //petrock:version to %d", entry, recorded.Version, version, recorded.Version)
	}
	m := &migration{engine: e, recorded: recorded, edits: map[string][]textEdit{}, renamed: map[token.Pos]string{}, tidy: map[string]bool{}}
	m.made = &kit.Migration{
		Entry:    entry,
		Dir:      path.Dir(component.File),
		Type:     component.Func,
		File:     component.File,
		Version:  recorded.Version,
		Old:      recorded.Versions[recorded.Version],
		Declared: e.feature(ctx, component.Feature).Declared,
	}
	dirs := e.checker.Importers(e.before, m.made.Dir)
	if m.pass, err = e.checker.NewPass(ctx, e.before, dirs, typing.Options{}); err != nil {
		return nil, err
	}
	if err := m.plan(edit, dirs); err != nil {
		return nil, err
	}
	return m.made, m.result(ctx)
}

// recordedCommand finds the command that an entry of the event log is of.
func (e *Engine) recordedCommand(ctx context.Context, entry string) (derive.Component, error) {
	feature, _, ok := strings.Cut(entry, "/")
	place := derive.FeatureIn(path.Join(derive.Features, feature))
	if !ok || feature == "" || !slices.Contains(derive.Places(e.before), place) {
		return derive.Component{}, fmt.Errorf("%q is not a command; name its feature and itself, such as posts/create", entry)
	}
	packages, err := e.deriver.Packages(ctx, e.before, []derive.Place{place})
	if err != nil {
		return derive.Component{}, err
	}
	if len(packages[0].Problems) > 0 {
		return derive.Component{}, e.refused(newPlan(), packages[0])
	}
	var names []string
	for _, c := range packages[0].Components {
		if c.Kind == derive.Command {
			if c.Entry == entry {
				return c, nil
			}
			names = append(names, c.Entry)
		}
	}
	return derive.Component{}, terminal.Usagef("there is no command %q; there are %s", entry, listOr(names))
}

// plan finds all edits.
func (m *migration) plan(edit kit.Edit, dirs []string) error {
	pkg, _ := m.pass.Package(m.made.Dir)
	if pkg == nil {
		return fmt.Errorf("there is no package in %s", m.made.Dir)
	}
	object := pkg.Scope().Lookup(m.made.Type)
	if object == nil {
		return fmt.Errorf("there is no type %s in %s", m.made.Type, m.made.Dir)
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
	if err := m.bump(); err != nil {
		return err
	}
	m.redirect(dirs)
	return m.references(dirs)
}

// field finds a field of the command's type by its JSON path; nil if there is none.
func (m *migration) field(jsonPath string) *types.Var {
	t := types.Type(m.named)
	var found *types.Var
	for name := range strings.SplitSeq(jsonPath, ".") {
		structure, ok := structIn(t)
		if !ok {
			return nil
		}
		fields := derive.JSONFields(structure)
		at := slices.IndexFunc(fields, func(f derive.JSONField) bool { return f.Name == name })
		if at < 0 {
			return nil
		}
		found = fields[at].Var.Origin()
		t = fields[at].Var.Type()
	}
	return found
}

// structIn is the struct that a type is, points to or holds.
func structIn(t types.Type) (*types.Struct, bool) {
	for {
		switch under := t.Underlying().(type) {
		case *types.Struct:
			return under, true
		case *types.Pointer:
			t = under.Elem()
		case *types.Slice:
			t = under.Elem()
		case *types.Array:
			t = under.Elem()
		case *types.Map:
			t = under.Elem()
		default:
			return nil, false
		}
	}
}

// rename plans a new name for a field, unless the Go has it already.
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
		return fmt.Errorf("rename %s=%s: a field stays in its struct; name it %sNAME", old, name, prefix)
	case before != nil && after != nil:
		return fmt.Errorf("rename %s=%s: %s has both fields; remove one of them", old, name, m.made.Type)
	case after != nil:
		return nil // the Go was edited before
	case before == nil:
		return fmt.Errorf("rename %s=%s: %s has neither field", old, name, m.made.Type)
	}
	short := strings.TrimPrefix(name, prefix)
	made, err := naming.Field(short)
	if err != nil {
		return fmt.Errorf("rename %s=%s: %w", old, name, err)
	}
	file, field, err := m.declaration(before)
	if err != nil {
		return err
	}
	m.renamed[before.Pos()] = made.Go()
	m.oldNames = append(m.oldNames, before.Name())
	m.replace(file, field.Names[0].Pos(), field.Names[0].End(), made.Go())
	m.retag(file, field, short)
	return nil
}

// declaration finds where a field is declared in the project's source.
func (m *migration) declaration(v *types.Var) (*source.File, *ast.Field, error) {
	view, fset := m.engine.before, m.engine.before.Fset()
	if at := fset.File(v.Pos()); at != nil && view.File(at.Name()) != nil {
		file := view.File(at.Name())
		for node := range ast.Preorder(file.Syntax) {
			field, ok := node.(*ast.Field)
			if !ok || !slices.ContainsFunc(field.Names, func(name *ast.Ident) bool { return name.Pos() == v.Pos() }) {
				continue
			}
			if len(field.Names) > 1 {
				return nil, nil, fmt.Errorf("%s: %s is declared together with other fields; give it a line of its own", file.Path, v.Name())
			}
			return file, field, nil
		}
	}
	return nil, nil, fmt.Errorf("the field %s is not declared in a struct of the project", v.Name())
}

// retag gives a field another JSON name.
func (m *migration) retag(file *source.File, field *ast.Field, name string) {
	if field.Tag == nil {
		m.replace(file, field.Type.End(), field.Type.End(), " `json:"+strconv.Quote(name)+"`")
		return
	}
	text, err := strconv.Unquote(field.Tag.Value)
	if err != nil {
		return // it does not compile
	}
	value := reflect.StructTag(text).Get("json")
	_, options, more := strings.Cut(value, ",")
	if more {
		options = "," + options
	}
	made := strings.Replace(text, "json:"+strconv.Quote(value), "json:"+strconv.Quote(name+options), 1)
	if made == text { // there was no name
		made = "json:" + strconv.Quote(name) + " " + text
	}
	m.replace(file, field.Tag.Pos(), field.Tag.End(), "`"+made+"`")
}

// drop plans to remove a field, if the Go still has it.
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
	m.tidy[file.Path] = true
	return nil
}

// bump writes the new version into the doc comment of the command's type.
func (m *migration) bump() error {
	file := m.engine.before.File(m.made.File)
	line := fmt.Sprintf("//petrock:version %d", m.made.Version+1)
	for _, decl := range file.Syntax.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range group.Specs {
			declared, ok := spec.(*ast.TypeSpec)
			if !ok || declared.Name.Name != m.made.Type {
				continue
			}
			doc, at := declared.Doc, declared.Pos()
			if doc == nil && (len(group.Specs) == 1) {
				doc, at = group.Doc, group.Pos()
			}
			if doc == nil {
				m.replace(file, at, at, line+"\n")
				return nil
			}
			for _, comment := range doc.List {
				if strings.HasPrefix(comment.Text, "//petrock:version ") {
					m.replace(file, comment.Pos(), comment.End(), line)
					return nil
				}
			}
			m.replace(file, at, at, "//\n"+line+"\n") // gofmt puts it where it belongs
			return nil
		}
	}
	return fmt.Errorf("%s does not declare %s", file.Path, m.made.Type)
}

// redirect makes the upgrade of the version before lead to the recorded version, whose fields become a type of their own.
func (m *migration) redirect(dirs []string) {
	if m.made.Version < 2 {
		return
	}
	m.chainCalls(dirs)
	inspected := m.pass.Inspect(m.made.Dir)
	if inspected == nil {
		return
	}
	types := map[string]string{m.made.Type: m.made.OldType("")}
	for name := range m.made.Old.Types {
		types[name] = m.made.OldType(name)
	}
	for _, file := range inspected.Files {
		for _, decl := range file.Syntax.Decls {
			function, ok := decl.(*ast.FuncDecl)
			if !ok || function.Recv == nil || len(function.Recv.List) != 1 {
				continue
			}
			receiver, ok := function.Recv.List[0].Type.(*ast.Ident)
			if !ok || !m.isOlder(receiver.Name) {
				continue
			}
			m.redirectFunction(file, function, inspected.Info, types)
		}
	}
}

// chainCalls upgrades once more where somebody upgrades an older version to the command, as tests do: old.Upgrade() becomes
// old.Upgrade().Upgrade().
func (m *migration) chainCalls(dirs []string) {
	for _, dir := range dirs {
		for _, inspected := range m.pass.InspectTests(dir) {
			for _, file := range inspected.Files {
				if file.IsDerived() {
					continue
				}
				for node := range ast.Preorder(file.Syntax) {
					call, ok := node.(*ast.CallExpr)
					if !ok || m.inOlder(file, call.Pos()) || !m.upgradesToCommand(call, inspected.Info) || m.isPlanned(file, call.End()-1) {
						continue
					}
					m.replace(file, call.End()-1, call.End(), ").Upgrade()")
				}
			}
		}
	}
}

// upgradesToCommand reports whether a call is that of Upgrade of an older version, and returns the command.
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
	return receiver != nil && result != nil && isOurs(receiver, m.isOlder) && isOurs(result, func(name string) bool { return name == m.made.Type })
}

// redirectFunction replaces types in a function, and the fields of the command by the names that they had. Named types of strings and numbers become
// what they are made of, as recorded types have them.
func (m *migration) redirectFunction(file *source.File, function *ast.FuncDecl, info *types.Info, names map[string]string) {
	for node := range ast.Preorder(function) {
		if selector, ok := node.(*ast.SelectorExpr); ok {
			if name := plainType(info.Uses[selector.Sel]); name != "" {
				m.replace(file, selector.Pos(), selector.End(), name)
			}
			continue
		}
		ident, ok := node.(*ast.Ident)
		if !ok || m.isPlanned(file, ident.Pos()) {
			continue
		}
		switch object := info.Uses[ident].(type) {
		case *types.TypeName:
			ours := object.Pkg() != nil && object.Pkg().Path() == m.named.Obj().Pkg().Path()
			if name := names[ident.Name]; name != "" && ours {
				m.replace(file, ident.Pos(), ident.End(), name)
			} else if name := plainType(object); name != "" && ours {
				m.replace(file, ident.Pos(), ident.End(), name)
			}
		case *types.Var:
			if object.IsField() {
				if name := m.recordedName(object.Origin()); name != "" && name != ident.Name {
					m.replace(file, ident.Pos(), ident.End(), name)
				}
			}
		}
	}
	m.tidy[file.Path] = true
}

// plainType is the basic type that a named type without its own marshalling is made of, empty for everything else.
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

// recordedName is the Go name that a field of the command had in the recorded version, empty if it is not known.
func (m *migration) recordedName(v *types.Var) string {
	structure, ok := m.named.Underlying().(*types.Struct)
	if !ok {
		return ""
	}
	for _, field := range derive.JSONFields(structure) {
		if field.Var.Origin().Pos() != v.Pos() {
			continue
		}
		for _, old := range m.made.Old.Fields {
			if old.Name == field.Name {
				return old.Go[strings.LastIndex(old.Go, ".")+1:]
			}
		}
	}
	return ""
}

// references plans the renames of all uses of renamed fields. The functions of older versions speak of other types from now on.
func (m *migration) references(dirs []string) error {
	if len(m.renamed) == 0 {
		return nil
	}
	seen := map[token.Pos]bool{}
	for _, dir := range dirs {
		left := slices.Clone(m.engine.before.Files(dir))
		for _, inspected := range m.pass.InspectTests(dir) {
			for _, file := range inspected.Files {
				left = slices.DeleteFunc(left, func(f *source.File) bool { return f == file })
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
					if name := m.renamed[v.Origin().Pos()]; name != "" && !m.isPlanned(file, ident.Pos()) && !m.inOlder(file, ident.Pos()) {
						seen[ident.Pos()] = true
						m.replace(file, ident.Pos(), ident.End(), name)
					}
				}
			}
		}
		m.noteUnbuilt(left)
	}
	return nil
}

// noteUnbuilt names files that this system does not build and that use names of renamed fields.
func (m *migration) noteUnbuilt(files []*source.File) {
	for _, file := range files {
		for node := range ast.Preorder(file.Syntax) {
			if ident, ok := node.(*ast.Ident); ok && slices.Contains(m.oldNames, ident.Name) {
				m.made.Unbuilt = append(m.made.Unbuilt, file.Path)
				break
			}
		}
	}
}

// inOlder reports whether a place is in a method of an older version of the command.
func (m *migration) inOlder(file *source.File, pos token.Pos) bool {
	for _, decl := range file.Syntax.Decls {
		function, ok := decl.(*ast.FuncDecl)
		if !ok || pos < function.Pos() || pos > function.End() || function.Recv == nil || len(function.Recv.List) != 1 {
			continue
		}
		receiver, ok := function.Recv.List[0].Type.(*ast.Ident)
		return ok && m.isOlder(receiver.Name)
	}
	return false
}

// isOlder reports whether a type is that of an older version of the command, or one that such a type uses.
func (m *migration) isOlder(name string) bool {
	rest, ok := strings.CutPrefix(name, m.made.Type+"V")
	return ok && rest != "" && rest[0] >= '0' && rest[0] <= '9'
}

// replace plans a textEdit.
func (m *migration) replace(file *source.File, start, end token.Pos, text string) {
	at := m.engine.before.Fset().File(start)
	m.edits[file.Path] = append(m.edits[file.Path], textEdit{at.Offset(start), at.Offset(end), text})
}

// isPlanned reports whether a place is edited already.
func (m *migration) isPlanned(file *source.File, pos token.Pos) bool {
	at := m.engine.before.Fset().File(pos).Offset(pos)
	return slices.ContainsFunc(m.edits[file.Path], func(e textEdit) bool { return e.start <= at && at < e.end })
}

// result makes the edits, and finds out what the command is then.
func (m *migration) result(ctx context.Context) error {
	texts := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(m.edits)) {
		file := m.engine.before.File(name)
		edits := m.edits[name]
		slices.SortStableFunc(edits, func(a, b textEdit) int { return b.start - a.start })
		text := slices.Clone(file.Text)
		for _, e := range edits {
			text = slices.Concat(text[:e.start], []byte(e.text), text[e.end:])
		}
		if m.tidy[name] {
			text = withoutUnusedImports(name, text)
		}
		texts[name] = text
		m.made.Changes = append(m.made.Changes, kit.File{Path: name, Text: text})
	}
	view := m.engine.before.With(texts)
	packages, err := m.engine.deriver.Packages(ctx, view, []derive.Place{derive.FeatureIn(m.made.Dir)})
	if err != nil {
		return err
	}
	at := slices.IndexFunc(packages[0].Components, func(c derive.Component) bool { return c.Entry == m.made.Entry })
	if at < 0 {
		return m.unmade(packages[0], texts)
	}
	component := packages[0].Components[at]
	m.made.New = component.Stored()
	m.made.Defaults = defaultsOf(component.Input)
	pass, err := m.engine.checker.NewPass(ctx, view, []string{m.made.Dir}, typing.Options{})
	if err != nil {
		return err
	}
	pkg, _ := pass.Package(m.made.Dir)
	m.made.Struct, _ = pkg.Scope().Lookup(m.made.Type).Type().Underlying().(*types.Struct)
	return nil
}

// withoutUnusedImports is a file without those packages of the standard library that it imports and does not use. A file that does
// not parse stays as it is.
func withoutUnusedImports(name string, text []byte) []byte {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return text
	}
	used := map[string]bool{}
	for node := range ast.Preorder(file) {
		if selector, ok := node.(*ast.SelectorExpr); ok {
			if pkg, ok := selector.X.(*ast.Ident); ok {
				used[pkg.Name] = true
			}
		}
	}
	for _, decl := range slices.Backward(file.Decls) {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.IMPORT {
			continue
		}
		for _, spec := range slices.Backward(group.Specs) {
			imported := spec.(*ast.ImportSpec)
			from, err := strconv.Unquote(imported.Path.Value)
			first, _, _ := strings.Cut(from, "/")
			if err != nil || imported.Name != nil || strings.Contains(first, ".") || used[path.Base(from)] {
				continue
			}
			start, end := fset.Position(spec.Pos()).Offset, fset.Position(spec.End()).Offset
			if len(group.Specs) == 1 {
				start, end = fset.Position(group.Pos()).Offset, fset.Position(group.End()).Offset
			}
			text = slices.Concat(text[:start], text[end:])
		}
	}
	return text
}

// unmade says why the command cannot be derived after the edits.
func (m *migration) unmade(pkg *derive.Package, texts map[string][]byte) error {
	p := newPlan()
	p.texts = texts
	return m.engine.refused(p, pkg)
}

// defaultsOf are the defaults that a schema has for properties.
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
