package engine

import (
	"context"
	"encoding/json"
	"fmt"
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
		p.broken[i].call = e.changeCall(first)
		if first.isOlder { // the source on disk has the change
			p.broken[i].call = e.versionCall(first.command, contract.Renamed(first.changes))
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

// versionCall returns the call that generates a version of a command, with a renamed field as OLD=NEW or "".
func (e *Engine) versionCall(command, rename string) string {
	arguments := []any{"kind", "version", "name", command}
	if rename != "" {
		arguments = append(arguments, "rename", []string{rename})
	}
	return e.Call("generate", arguments...)
}

// changeCall returns the call that makes the change of a broken command and generates its version.
func (e *Engine) changeCall(b brokenCommand) string {
	arguments := []any{"kind", "command", "name", b.command}
	if rename := contract.Renamed(b.changes); rename != "" {
		return e.Call("change", append(arguments, "rename_fields", []string{rename})...)
	}
	var set, removed []string
	for _, c := range b.changes {
		if c.Removes() {
			removed = append(removed, c.Path)
		} else {
			set = append(set, c.Path+":TYPE")
		}
	}
	if len(set) > 0 {
		arguments = append(arguments, "fields", set)
	}
	if len(removed) > 0 {
		arguments = append(arguments, "remove_fields", removed)
	}
	return e.Call("change", arguments...)
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
	if m.record, err = e.readContract(newPlan(request{action: actionGenerate})); err != nil {
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
		if v := jsonField(named, name); v != nil && m.view.FileAt(v.Pos()) != nil {
			dirs = append(dirs, m.view.FileAt(v.Pos()).Dir())
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
	edited := newPlan(request{action: actionGenerate})
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
				Writes: m.edit.ReadFirst && !c.Retired && !c.WritesOlder(),
				Old:    recorded.Versions[recorded.Version], New: c.Stored(),
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

// differs reports whether a new version is needed: if recorded events do not fit the new fields or, with
// ReadFirst, the other way around.
func (m *migration) differs(old, now contract.Shape) bool {
	return old.Breaks(now) || m.edit.ReadFirst && len(old.Changes(now)) > 0
}

// isChanged reports whether the fields of a part itself differ. Fields of nested and embedded structs are parts
// of their own.
func (m *migration) isChanged(p *part) bool {
	own := func(fields []contract.Field) contract.Shape {
		return contract.Shape{Fields: slices.DeleteFunc(slices.Clone(fields), func(f contract.Field) bool {
			first, _, promoted := strings.Cut(f.Go, ".")
			return promoted && p.embedded[first] != nil
		})}
	}
	return m.differs(own(p.old.Fields), own(p.now.Fields))
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
				if m.isChanged(p) {
					own = append(own, typeKey(p.named))
				}
			}
			isShared := slices.ContainsFunc(own, func(key string) bool { return changed[key] })
			if s != m.stored[0] && !(isShared && m.differs(s.Old, s.New)) {
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
		o := &gen.OldStruct{Name: s.OldType(""), Dir: s.Dir, Of: s.Version, Fields: s.Old.Fields, Current: s.named, Defaults: s.defaults, Notes: m.engine.notes[typeKey(s.named)]}
		m.structs[typeKey(s.named)] = o
		m.result.Structs = append(m.result.Structs, o)
	}
	m.stored = slices.Concat(chosen, slices.DeleteFunc(m.stored, func(s *storedCommand) bool { return slices.Contains(chosen, s) }))
}

// setVersion writes the new version, and the version that is written, into the doc comment of a command's type.
func (m *migration) setVersion(v *gen.Version) {
	pkg, _ := m.pass.Package(v.Dir)
	pos := pkg.Scope().Lookup(v.Type).Pos()
	file := m.view.FileAt(pos)
	line := fmt.Sprintf("//petrock:version %d", v.Number+1)
	if v.Writes {
		line += fmt.Sprintf("\n//petrock:writes %d", v.Number)
	}
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
