package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/constant"
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

// A migration edits the source for new versions of commands: it renames and removes fields with all their
// uses, and sets //petrock:version. The generator then writes CreateV1 with the recorded fields.
type migration struct {
	*rewrite
	engine  *Engine
	edit    gen.Edit
	record  *contract.Contract
	edited  *typecheck.Pass // the source with the edited fields
	result  *gen.Migration
	stored  []*storedCommand        // of the source; the requested one first
	live    map[string]*types.Named // struct types that current versions contain
	structs map[string]*gen.OldStruct
	prefix  map[string]string // paths of struct types in the requested command, see [gen.OldStruct.Path]
}

func (e *Engine) newMigration(edit gen.Edit, record *contract.Contract) *migration {
	return &migration{engine: e, edit: edit, record: record, result: &gen.Migration{}, live: map[string]*types.Named{}, structs: map[string]*gen.OldStruct{}, prefix: map[string]string{}}
}

// noteCalls notes the calls that keep the events of broken commands readable, and the commands that get a new
// version together with another one.
func (e *Engine) noteCalls(ctx context.Context, p *plan, record *contract.Contract) error {
	for i, first := range p.broken {
		p.broken[i].call = e.versionCall(first.command, contract.Renamed(first.changes))
		if p.action == actionEdit && !slices.Contains(p.brokenBefore, first.command) {
			p.broken[i].call = e.changeCall(first) // the edit is not written
		}
		if first.sharedWith != "" || first.file == "" || i == len(p.broken)-1 {
			continue
		}
		m := e.newMigration(gen.Edit{}, record)
		if err := m.findStored(ctx, e.before.With(p.texts), first.command); err != nil {
			return err
		}
		if m.stored == nil {
			continue
		}
		m.chooseVersions()
		for j, other := range p.broken[i+1:] {
			if slices.ContainsFunc(m.result.Versions, func(v *gen.Version) bool { return v.EventType == other.command }) {
				p.broken[i+1+j].sharedWith = first.command
			}
		}
	}
	return nil
}

// migrate plans a new version of a recorded command, with edited fields, and of the commands that break
// through the same types.
func (e *Engine) migrate(ctx context.Context, command string, edit gen.Edit) (*gen.Migration, error) {
	component, _, err := e.lookUp(ctx, derive.Command, command)
	if err != nil {
		return nil, err
	}
	command = component.EventType
	m := e.newMigration(edit, nil)
	if m.record, err = e.readContract(newPlan(actionGenerate)); err != nil {
		return nil, err
	}
	recorded, known := m.record.Commands[command]
	switch version := component.Version(); {
	case !known:
		return nil, fmt.Errorf("%s is not recorded in %s; run petrock sync", command, contract.File)
	case version < recorded.Version || version > recorded.Version+1:
		return nil, fmt.Errorf("%s: version %d is recorded, but its type has version %d; set its //petrock:version to %d", command, recorded.Version, version, recorded.Version)
	}
	if err := m.editFields(ctx, component); err != nil {
		return nil, err
	}
	m.renameUses()
	m.result.Warnings = m.unbuilt
	texts, err := m.completed(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.findStored(ctx, e.before.With(texts), command); err != nil {
		return nil, err
	}
	if m.stored == nil {
		return nil, fmt.Errorf("%s: the edited fields do not make a command", command)
	}
	m.chooseVersions()
	m.chooseTypes()
	for _, v := range m.result.Versions {
		m.setVersion(v)
	}
	m.redirectOlder()
	texts, err = m.completed(ctx)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		m.result.Changes = append(m.result.Changes, gen.File{Path: name, Text: texts[name]})
	}
	return m.result, err
}

// editFields plans to rename and remove fields of the command.
func (m *migration) editFields(ctx context.Context, c derive.Component) (err error) {
	dirs := []string{path.Dir(c.File)}
	for _, place := range m.engine.existingPlaces() {
		if place.Kind == derive.Feature {
			dirs = append(dirs, place.Dir)
		}
	}
	if m.rewrite, err = m.engine.newRewrite(ctx, dirs...); err != nil {
		return err
	}
	pkg, _ := m.pass.Package(dirs[0]) // lookUp has found the type
	named := pkg.Scope().Lookup(c.Func).Type().(*types.Named)
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(m.edit.Rename)), m.edit.Drop) {
		if v := jsonField(named, name); v != nil && fileAt(m.view, v.Pos()) != nil {
			dirs = append(dirs, fileAt(m.view, v.Pos()).Dir())
		}
	}
	if m.rewrite, err = m.engine.newRewrite(ctx, dirs...); err != nil {
		return err
	}
	pkg, _ = m.pass.Package(dirs[0])
	named = pkg.Scope().Lookup(c.Func).Type().(*types.Named)
	for _, old := range slices.Sorted(maps.Keys(m.edit.Rename)) {
		if err := m.renameField(named, old, m.edit.Rename[old]); err != nil {
			return err
		}
	}
	for _, name := range m.edit.Drop {
		if found := jsonField(named, name); found != nil {
			if err := m.removeField(found); err != nil {
				return err
			}
		}
	}
	return nil
}

// completed returns the edited files with their imports.
func (m *migration) completed(ctx context.Context) (map[string][]byte, error) {
	edited := newPlan(actionGenerate)
	edited.texts = m.texts()
	return edited.texts, m.engine.completeGo(ctx, edited)
}

// A storedCommand is a command of the source that the contract records.
type storedCommand struct {
	*gen.Version
	named    *types.Named
	defaults map[string]string
	parts    []*part
}

// A part is a struct type of the source that the recorded fields of a command contain: the type of the
// command, of a field or of an embedded field.
type part struct {
	name     string // in the recorded shape; empty for the command and for embedded structs
	old, now contract.Shape
	named    *types.Named
	path     string // of the struct in the command
	embedded map[string]*part
}

// findStored finds the commands of the edited source and the parts of their recorded fields. It finds none if
// the requested command has neither its recorded version nor the next.
func (m *migration) findStored(ctx context.Context, view *typecheck.View, requested string) error {
	var dirs []string
	places := slices.DeleteFunc(derive.Places(view), func(place derive.Place) bool {
		return place.Kind != derive.Feature || len(view.Files(place.Dir)) == 0
	})
	for _, place := range places {
		dirs = append(dirs, place.Dir)
	}
	packages, err := m.engine.deriver.Packages(ctx, view, places)
	if err != nil {
		return err
	}
	if m.edited, err = m.engine.checker.NewPass(ctx, view, dirs, typecheck.PassOptions{}); err != nil {
		return err
	}
	for _, pkg := range packages {
		declared, _ := m.edited.Package(pkg.Dir)
		for _, c := range pkg.Components {
			if c.Kind != derive.Command {
				continue
			}
			named := declared.Scope().Lookup(c.Func).Type().(*types.Named)
			addStructs(m.live, named)
			recorded, known := m.record.Commands[c.EventType]
			if !known || c.Version() < recorded.Version || c.Version() > recorded.Version+1 {
				continue
			}
			s := &storedCommand{named: named, defaults: defaultsOf(c.Input)}
			s.Version = &gen.Version{
				EventType: c.EventType, Dir: pkg.Dir, Type: c.Func, Number: recorded.Version,
				Old: recorded.Versions[recorded.Version], New: c.Stored(),
				StructRefs: map[string]gen.StructRef{}, EnumRefs: map[string]gen.EnumRef{},
			}
			if c.EventType == requested {
				m.stored = slices.Insert(m.stored, 0, s)
			} else if c.Version() == recorded.Version {
				m.stored = append(m.stored, s)
			}
		}
	}
	if len(m.stored) == 0 || m.stored[0].EventType != requested {
		m.stored = nil
		return nil
	}
	renames := map[string]string{}
	for old, name := range m.edit.Rename {
		renames[m.stored[0].Old.Canonical(old)] = name[strings.LastIndex(name, ".")+1:]
	}
	for i, s := range m.stored {
		w := partWalk{stored: m.engine.deriver.Stored, command: s, renames: renames, seen: map[string]bool{}}
		if i > 0 {
			w.prefix = m.prefix
		}
		w.add(&part{old: s.Old, now: s.New, named: s.named})
		for _, p := range s.parts {
			if _, known := m.prefix[typeKey(p.named)]; !known && i == 0 {
				m.prefix[typeKey(p.named)] = p.path
			}
		}
	}
	return nil
}

// addStructs adds the struct types that a type is or contains.
func addStructs(all map[string]*types.Named, t types.Type) {
	named := namedStruct(t)
	if named == nil {
		switch under := types.Unalias(t).Underlying().(type) {
		case *types.Map:
			addStructs(all, under.Key())
			addStructs(all, under.Elem())
		case interface{ Elem() types.Type }:
			addStructs(all, under.Elem())
		}
		return
	}
	if all[typeKey(named)] != nil {
		return
	}
	all[typeKey(named)] = named
	structure := named.Underlying().(*types.Struct)
	for f := range structure.Fields() {
		if f.Embedded() {
			addStructs(all, f.Type())
		}
	}
	for _, f := range derive.JSONFields(structure, false) {
		addStructs(all, f.Var.Type())
	}
}

// typeKey identifies a type in several passes.
func typeKey(t types.Type) string { return types.TypeString(t, nil) }

// A partWalk finds the parts of a command: it follows the recorded fields and those of the source in
// parallel.
type partWalk struct {
	stored  func(*types.Named) contract.Shape
	command *storedCommand
	renames map[string]string // new names, by their old paths in the requested command
	prefix  map[string]string // paths of struct types in the requested command; nil if this is the requested one
	seen    map[string]bool
}

func (w *partWalk) add(p *part) {
	if p.name != "" && w.seen[p.name] {
		return
	}
	w.seen[p.name] = true
	w.command.parts = append(w.command.parts, p)
	p.embedded = map[string]*part{}
	structure := p.named.Underlying().(*types.Struct)
	for f := range structure.Fields() {
		inner := f.Type()
		if pointer, ok := types.Unalias(inner).(*types.Pointer); ok {
			inner = pointer.Elem()
		}
		old := p.old.Promoted(f.Name())
		if named := namedStruct(inner); f.Embedded() && named != nil && len(old.Fields) > 0 {
			p.embedded[f.Name()] = &part{old: old, now: p.now.Promoted(f.Name()), named: named, path: p.path}
			w.add(p.embedded[f.Name()])
		}
	}
	for _, f := range derive.JSONFields(structure, false) {
		if was, ok := w.sourceOf(p, f.Key); ok {
			if old, err := contract.ParseType(was.Type); err == nil {
				w.pair(old, f.Var.Type())
			}
		}
	}
}

// sourceOf returns the recorded field that a field of the source gets its value from.
func (w *partWalk) sourceOf(p *part, name string) (contract.Field, bool) {
	prefix, ok := p.path, true
	if w.prefix != nil {
		prefix, ok = w.prefix[typeKey(p.named)]
	}
	for _, was := range p.old.Fields {
		renamed, isRenamed := w.renames[prefix+was.Name]
		if ok && isRenamed && renamed == name || !(ok && isRenamed) && was.Name == name {
			return was, true
		}
	}
	return contract.Field{}, false
}

// pair adds the parts in a recorded type and the type of the source that its values are converted to.
func (w *partWalk) pair(old contract.Type, target types.Type) {
	target = types.Unalias(target)
	if pointer, ok := target.(*types.Pointer); ok && old.Kind != contract.Pointer {
		target = types.Unalias(pointer.Elem())
	}
	if named := namedStruct(target); old.Kind == contract.Struct && named != nil {
		w.add(&part{
			name: old.Name, old: w.command.Old.Of(old.Name), now: w.stored(named), named: named, path: w.command.Old.PathOf(old.Name) + ".",
		})
	} else if under, ok := target.Underlying().(interface{ Elem() types.Type }); ok && old.Elem != nil {
		w.pair(*old.Elem, under.Elem())
	}
}

// namedStruct returns a type that is a struct with a name and without its own marshalling, or nil.
func namedStruct(t types.Type) *types.Named {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || derive.IsOpaque(named) {
		return nil
	}
	if _, ok := named.Underlying().(*types.Struct); !ok {
		return nil
	}
	return named
}

// isChanged reports whether the fields of a part itself changed, so that recorded events do not fit. Fields of
// nested and embedded structs are parts of their own.
func (p *part) isChanged() bool {
	own := func(fields []contract.Field) contract.Shape {
		return contract.Shape{Fields: slices.DeleteFunc(slices.Clone(fields), func(f contract.Field) bool {
			first, _, promoted := strings.Cut(f.Go, ".")
			return promoted && p.embedded[first] != nil
		})}
	}
	return own(p.old.Fields).Breaks(own(p.now.Fields))
}

// chooseVersions chooses the commands that get a new version: the requested one, and all that break because
// of a type that changed in one of them.
func (m *migration) chooseVersions() {
	changed := map[string]bool{}
	var chosen []*storedCommand
	for waiting := m.stored; ; {
		before := len(waiting)
		waiting = slices.DeleteFunc(slices.Clone(waiting), func(s *storedCommand) bool {
			var own []string
			for _, p := range s.parts {
				if p.isChanged() {
					own = append(own, typeKey(p.named))
				}
			}
			isShared := slices.ContainsFunc(own, func(key string) bool { return changed[key] })
			if s != m.stored[0] && !(isShared && s.Old.Breaks(s.New)) {
				return false
			}
			for _, key := range own {
				changed[key] = true
			}
			chosen = append(chosen, s)
			return true
		})
		if len(waiting) == before {
			break
		}
	}
	for _, s := range chosen {
		m.result.Versions = append(m.result.Versions, s.Version)
		o := &gen.OldStruct{Name: s.OldType(""), Dir: s.Dir, Of: s.Version, Fields: s.Old.Fields, Current: s.named, Defaults: s.defaults}
		m.structs[typeKey(s.named)] = o
		m.result.Structs = append(m.result.Structs, o)
	}
	m.stored = slices.Concat(chosen, slices.DeleteFunc(m.stored, func(s *storedCommand) bool { return slices.Contains(chosen, s) }))
}

// A recordedStruct is a struct type in the recorded fields of commands that get a new version.
type recordedStruct struct {
	named *types.Named // nil if the source does not have it
	users []structUse
}

// A structUse is a struct in the recorded fields of one command.
type structUse struct {
	command *storedCommand
	*part
	short string // name for the types of the old version
}

// chooseTypes chooses the types for the recorded structs and enums. A struct type of the source stays in use
// while it has the recorded fields and a current version contains it: a change of it then changes that
// command too, and all older versions follow. Other structs get an old type, one for all commands.
func (m *migration) chooseTypes() {
	found := map[string]*recordedStruct{}
	var order []string
	add := func(key string, named *types.Named, use structUse) {
		if found[key] == nil {
			found[key] = &recordedStruct{named: named}
			order = append(order, key)
		}
		found[key].users = append(found[key].users, use)
	}
	keys := map[*gen.Version]map[string]string{} // by recorded name
	chosen := m.stored[:len(m.result.Versions)]
	for _, s := range chosen {
		keys[s.Version] = map[string]string{}
		for _, p := range s.parts {
			if p.name != "" {
				keys[s.Version][p.name] = typeKey(p.named)
			}
			add(typeKey(p.named), p.named, structUse{s, p, cmp.Or(p.name, recordedName(s, p.named))})
		}
	}
	for _, s := range chosen {
		for _, name := range slices.Sorted(maps.Keys(s.Old.Types)) {
			if keys[s.Version][name] != "" {
				continue
			}
			key, named := s.EventType+" "+name, m.structNamed(s, name, found)
			p := &part{name: name, old: s.Old.Of(name), named: named}
			if named != nil {
				key, p.now = typeKey(named), m.engine.deriver.Stored(named)
			}
			keys[s.Version][name] = key
			add(key, named, structUse{s, p, name})
		}
	}
	refs := map[string]gen.StructRef{}
	parts := map[*gen.OldStruct]*part{}
	for _, key := range order {
		r := found[key]
		first := r.users[0]
		for _, use := range r.users[1:] { // a shadowed field of an embedded struct is not recorded
			if first.name == "" && (use.name != "" || len(use.old.Fields) > len(first.old.Fields)) {
				first = use
			}
		}
		o := m.structs[key]
		switch {
		case o != nil:
			parts[o] = r.users[slices.IndexFunc(r.users, func(use structUse) bool { return use.named == r.named && use.command.Version == o.Of })].part
		case r.named != nil && m.live[key] != nil && !first.old.Breaks(first.now):
			refs[key] = gen.StructRef{Kept: r.named}
			continue
		default:
			o = &gen.OldStruct{Of: first.command.Version, Recorded: first.name, Fields: first.old.Fields, Current: r.named}
			m.nameOld(o, r)
			m.structs[key], parts[o] = o, first.part
			m.result.Structs = append(m.result.Structs, o)
		}
		o.Changed = slices.ContainsFunc(r.users, func(use structUse) bool { return use.isChanged() })
		if prefix, ok := m.prefix[key]; ok {
			o.Path = &prefix
		}
		refs[key] = gen.StructRef{Old: o}
	}
	for o, p := range parts {
		o.Embedded = map[string]gen.StructRef{}
		for name, inner := range p.embedded {
			o.Embedded[name] = refs[typeKey(inner.named)]
		}
	}
	for _, s := range chosen {
		for name, key := range keys[s.Version] {
			s.StructRefs[name] = refs[key]
		}
		m.chooseEnums(s.Version)
	}
}

// recordedName returns the name of a struct type in the recorded fields of a command.
func recordedName(s *storedCommand, t *types.Named) string {
	if t.Obj().Pkg().Path() == s.named.Obj().Pkg().Path() {
		return t.Obj().Name()
	}
	return gen.Capitalize(t.Obj().Pkg().Name()) + gen.Capitalize(t.Obj().Name())
}

// structNamed returns the struct type of the source that has a recorded name, or nil.
func (m *migration) structNamed(s *storedCommand, name string, found map[string]*recordedStruct) *types.Named {
	for _, r := range found {
		if r.named != nil && recordedName(s, r.named) == name {
			return r.named
		}
	}
	if object, ok := s.named.Obj().Pkg().Scope().Lookup(name).(*types.TypeName); ok {
		return namedStruct(object.Type())
	}
	return nil
}

// nameOld sets the name and the package of an old struct: those of the first command that has it, or the
// package of its type if commands of several packages have it.
func (m *migration) nameOld(o *gen.OldStruct, r *recordedStruct) {
	owner := r.users[0]
	isElsewhere := func(use structUse) bool { return use.command.Dir != owner.command.Dir }
	if o.Exported = slices.ContainsFunc(r.users, isElsewhere); o.Exported && r.named != nil {
		if dir, ok := m.edited.Dir(r.named.Obj().Pkg().Path()); ok {
			at := slices.IndexFunc(r.users, func(use structUse) bool { return use.command.Dir == dir })
			if at < 0 {
				o.Dir, o.Name = dir, freeName(r.named.Obj().Pkg(), r.named.Obj().Name())
				return
			}
			owner = r.users[at]
		}
	}
	o.Dir, o.Name = owner.command.Dir, owner.command.OldType(owner.short)
}

// freeName returns the first name that a package does not declare: ItemV1, ItemV2, ….
func freeName(pkg *types.Package, base string) string {
	for n := 1; ; n++ {
		if name := fmt.Sprintf("%sV%d", base, n); pkg.Scope().Lookup(name) == nil {
			return name
		}
	}
}

// chooseEnums chooses the types for the recorded enums of a command: those of the source if they still have
// the recorded values.
func (m *migration) chooseEnums(v *gen.Version) {
	for _, name := range slices.Sorted(maps.Keys(v.Old.Enums)) {
		values, dir, source := v.Old.Enums[name], v.Dir, name
		if at := strings.LastIndex(name, "."); at >= 0 {
			dir, source = strings.TrimPrefix(name[:at], "./"), name[at+1:]
		}
		pkg, _ := m.edited.Package(dir)
		if pkg != nil {
			object, _ := pkg.Scope().Lookup(source).(*types.TypeName)
			if object != nil && hasValues(object, values) {
				v.EnumRefs[name] = gen.EnumRef{Kept: object.Type().(*types.Named)}
				continue
			}
		} else {
			dir = v.Dir
		}
		at := slices.IndexFunc(m.result.Enums, func(e *gen.OldEnum) bool { return e.Dir == dir && e.Source == source })
		if at < 0 {
			e := &gen.OldEnum{Name: v.OldType(source), Dir: dir, Of: v, Source: source, Values: values}
			if dir != v.Dir {
				e.Name = freeName(pkg, source)
			}
			at, m.result.Enums = len(m.result.Enums), append(m.result.Enums, e)
		}
		v.EnumRefs[name] = gen.EnumRef{Old: m.result.Enums[at]}
	}
}

func hasValues(name *types.TypeName, values []contract.Constant) bool {
	known := constantsOf(name)
	return !slices.ContainsFunc(values, func(v contract.Constant) bool { return known[v.Value] == nil })
}

// setVersion writes the new version into the doc comment of a command's type.
func (m *migration) setVersion(v *gen.Version) {
	pkg, _ := m.pass.Package(v.Dir)
	pos := pkg.Scope().Lookup(v.Type).Pos()
	file := fileAt(m.view, pos)
	line := fmt.Sprintf("//petrock:version %d", v.Number+1)
	doc, at := docAt(file, pos)
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

// An oldName is the name of a type or constant of an old version.
type oldName struct {
	dir, name string
	isEnum    bool // of an enum or its constant, which may stay in use in other commands
}

// redirectOlder makes the code of older versions use the new old types instead of those of the source:
// func (old CreateV1) Upgrade() CreateV2 { return CreateV2{Href: old.URL} }. Fields that the source already
// renames get their recorded names. Named strings and numbers that are not recorded as enums become basic
// types, as in recorded types.
func (m *migration) redirectOlder() {
	names, fields := map[string]oldName{}, map[token.Pos]string{}
	for key, o := range m.structs {
		names[key] = oldName{o.Dir, o.Name, false}
		if o.Current != nil {
			m.recordedFields(o, fields, names)
		}
	}
	basic := map[string]bool{} // whether a named string is an enum that stays
	for _, v := range m.result.Versions {
		for _, ref := range v.EnumRefs {
			if ref.Kept != nil {
				basic[typeKey(ref.Kept)] = true
			}
		}
	}
	dirs := slices.Clone(m.dirs)
	for _, o := range m.result.Structs {
		dirs = append(dirs, o.Dir)
	}
	slices.Sort(dirs)
	for _, inTypes := range []bool{true, false} { // a renamed embedded field is used in methods
		for _, dir := range slices.Compact(slices.Clone(dirs)) {
			m.redirectPackage(dir, inTypes, names, fields, basic)
		}
	}
}

// recordedFields adds the recorded Go names of the fields of a struct, by the positions of their declarations,
// and the names of their enums.
func (m *migration) recordedFields(o *gen.OldStruct, fields map[token.Pos]string, names map[string]oldName) {
	dir, _ := m.pass.Dir(o.Current.Obj().Pkg().Path())
	pkg, _ := m.pass.Package(dir)
	if pkg == nil {
		return
	}
	object, ok := pkg.Scope().Lookup(o.Current.Obj().Name()).(*types.TypeName)
	if !ok || namedStruct(object.Type()) == nil {
		return
	}
	for f := range object.Type().Underlying().(*types.Struct).Fields() {
		if inner := o.Embedded[f.Name()].Old; f.Embedded() && inner != nil {
			fields[f.Pos()] = inner.Name
		}
	}
	for _, old := range o.Fields {
		name := old.Name
		if o.Path != nil {
			name = cmp.Or(m.edit.Rename[*o.Path+old.Name], name)
		}
		if v := jsonField(object.Type(), name[strings.LastIndex(name, ".")+1:]); v != nil {
			fields[v.Pos()] = old.Go[strings.LastIndex(old.Go, ".")+1:]
			if t, err := old.ParseType(); err == nil {
				addEnums(o.Of, t, v.Type(), names)
			}
		}
	}
}

// addEnums adds the names of the old enums in a recorded type, for those of the source in their places.
func addEnums(v *gen.Version, old contract.Type, t types.Type, names map[string]oldName) {
	t = types.Unalias(t)
	if pointer, ok := t.(*types.Pointer); ok && old.Kind != contract.Pointer {
		t = types.Unalias(pointer.Elem())
	}
	if enum := v.EnumRefs[old.Enum].Old; enum != nil {
		if named, ok := t.(*types.Named); ok {
			names[typeKey(named)] = oldName{enum.Dir, enum.Name, true}
			for _, c := range derive.Constants(named) {
				for _, value := range enum.Values {
					if value.Value == constant.StringVal(c.Val()) {
						names[c.Pkg().Path()+"."+c.Name()] = oldName{enum.Dir, enum.ConstantName(value), true}
					}
				}
			}
		}
	}
	if under, ok := t.Underlying().(*types.Map); ok && old.Key != nil {
		addEnums(v, *old.Key, under.Key(), names)
	}
	if under, ok := t.Underlying().(interface{ Elem() types.Type }); ok && old.Elem != nil {
		addEnums(v, *old.Elem, under.Elem(), names)
	}
}

// redirectPackage is redirectOlder for the types or the methods of one package.
func (m *migration) redirectPackage(dir string, inTypes bool, names map[string]oldName, fields map[token.Pos]string, basic map[string]bool) {
	pkg, _ := m.pass.Package(dir)
	if pkg == nil || !slices.ContainsFunc(pkg.Scope().Names(), func(name string) bool { return olderOf(pkg, name) != "" }) {
		return
	}
	inspected := m.pass.Inspect(dir)
	for _, file := range inspected.Files {
		for _, decl := range olderDecls(pkg, file, inTypes) {
			_, isVersioned := names[pkg.Path()+"."+olderOf(pkg, decl.name)]
			for node := range ast.Preorder(decl.node) {
				var ident *ast.Ident
				isIdent := false
				switch node := node.(type) {
				case *ast.Ident:
					ident, isIdent = node, true
				case *ast.SelectorExpr:
					ident = node.Sel
				case *ast.IndexExpr, *ast.IndexListExpr: // an instance of a generic type
					if t := inspected.Info.Types[node.(ast.Expr)]; t.IsType() {
						if name, isOld := names[typeKey(t.Type)]; isOld {
							m.replace(file, node.Pos(), node.End(), m.nameIn(file, name))
						}
					}
				}
				if ident == nil || m.isPlanned(file, node.Pos()) {
					continue
				}
				text := ""
				switch object := inspected.Info.Uses[ident].(type) {
				case *types.Var:
					if isIdent {
						text = fields[object.Origin().Pos()]
					}
				case *types.TypeName, *types.Const:
					if object.Pkg() == nil || object.Parent() != object.Pkg().Scope() {
						continue
					}
					key := object.Pkg().Path() + "." + object.Name()
					name, isOld := names[key]
					isOld = isOld && (isVersioned || !name.isEnum)
					_, isType := object.(*types.TypeName)
					switch {
					case isOld:
						text = m.nameIn(file, name)
						if v, ok := inspected.Info.Defs[ident].(*types.Var); ok { // embedded
							fields[v.Pos()] = name.name
						}
					case isType && isVersioned && !inTypes && !basic[key]:
						text = plainType(object.(*types.TypeName))
					}
				}
				if text != "" {
					m.replace(file, node.Pos(), node.End(), text)
				}
			}
		}
	}
}

// versionCall returns the call that generates a version of a command, with a renamed field as OLD=NEW or "".
func (e *Engine) versionCall(command, rename string) string {
	if e.OptionPrefix == "" {
		if rename != "" {
			rename = fmt.Sprintf(`, "rename": [%q]`, rename)
		}
		return fmt.Sprintf(`generate_component {"kind": "version", "name": %q%s}`, command, rename)
	}
	if rename != "" {
		rename = " --rename " + rename
	}
	return "petrock generate version " + command + rename
}

// changeCall returns the call that makes the change of a broken command and generates its version.
func (e *Engine) changeCall(b brokenCommand) string {
	inputs := map[string][]string{}
	if rename := contract.Renamed(b.changes); rename != "" {
		inputs["rename_fields"] = []string{rename}
	} else {
		for _, c := range b.changes {
			if c.Removes() {
				inputs["remove_fields"] = append(inputs["remove_fields"], c.Path)
			} else {
				inputs["fields"] = append(inputs["fields"], c.Path+":TYPE")
			}
		}
	}
	call := fmt.Sprintf(`change {"kind": "command", "name": %q`, b.command)
	if e.OptionPrefix != "" {
		call = "petrock change command " + b.command
	}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		if e.OptionPrefix == "" {
			call += fmt.Sprintf(", %q: [\"%s\"]", name, strings.Join(inputs[name], `", "`))
			continue
		}
		for _, value := range inputs[name] {
			call += " --" + strings.ReplaceAll(strings.TrimSuffix(name, "s"), "_", "-") + " " + value
		}
	}
	if e.OptionPrefix == "" {
		call += "}"
	}
	return call
}

// nameIn returns a name as a file writes it.
func (m *migration) nameIn(file *typecheck.File, name oldName) string {
	if file.Dir() == name.dir {
		return name.name
	}
	pkg, _ := m.pass.Package(name.dir)
	return pkg.Name() + "." + name.name
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
