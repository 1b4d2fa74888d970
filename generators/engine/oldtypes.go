package engine

import (
	"cmp"
	"fmt"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/gen"
)

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
	add := func(key string, use structUse) string {
		if r := found[key]; r != nil && use.name != "" && slices.ContainsFunc(r.users, func(other structUse) bool { return other.name != "" && len(other.old.Changes(use.old)) > 0 }) {
			key += " " + use.command.EventType + " " + use.name // two recorded types became one
		}
		if found[key] == nil {
			found[key] = &recordedStruct{named: use.named}
			order = append(order, key)
		}
		found[key].users = append(found[key].users, use)
		return key
	}
	keys := map[*gen.Version]map[string]string{} // by recorded name
	chosen := m.stored[:len(m.result.Versions)]
	for _, s := range chosen {
		keys[s.Version] = map[string]string{}
		for _, p := range s.parts {
			key := add(typeKey(p.named), structUse{s, p, cmp.Or(p.name, m.engine.deriver.StructName(s.named.Obj().Pkg(), p.named))})
			if p.name != "" {
				keys[s.Version][p.name] = key
			}
		}
	}
	for _, s := range chosen {
		for _, name := range slices.Sorted(maps.Keys(s.Old.Types)) {
			if keys[s.Version][name] != "" {
				continue
			}
			key, named := s.EventType+" "+name, m.structNamed(s, name)
			p := &part{name: name, old: s.Old.Of(name), named: named, path: s.Old.PathOf(name) + "."}
			if named != nil {
				key, p.now = typeKey(named), m.engine.deriver.Stored(named)
			}
			keys[s.Version][name] = add(key, structUse{s, p, name})
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
			parts[o] = r.users[slices.IndexFunc(r.users, func(use structUse) bool { return use.command.Version == o.Of && use.part == use.command.parts[0] })].part
		case r.named != nil && m.live[key] != nil && !m.differs(first.old, first.now):
			refs[key] = gen.StructRef{Kept: r.named}
			continue
		default:
			o = &gen.OldStruct{Of: first.command.Version, Recorded: first.name, Fields: first.old.Fields, Current: r.named, Notes: m.engine.notes[key]}
			m.nameOld(o, r)
			m.structs[key], parts[o] = o, first.part
			m.result.Structs = append(m.result.Structs, o)
		}
		o.Changed = slices.ContainsFunc(r.users, func(use structUse) bool { return m.isChanged(use.part) })
		if at := slices.IndexFunc(r.users, func(use structUse) bool { return use.command == m.stored[0] }); at >= 0 {
			o.Path = &r.users[at].path
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

// structNamed returns the struct type of the source that has a recorded name, or nil.
func (m *migration) structNamed(s *storedCommand, name string) *types.Named {
	lookUp := func(pkg *types.Package, name string) *types.Named {
		if object, ok := pkg.Scope().Lookup(name).(*types.TypeName); ok {
			return namedStruct(object.Type())
		}
		return nil
	}
	if found := lookUp(s.named.Obj().Pkg(), name); found != nil {
		return found
	}
	for _, dir := range m.engine.before.Dirs() { // the field may have been its only use in the package
		pkg := m.engine.before.Package(dir, nil)
		if pkg == nil || isPetrockPath(dir) {
			continue
		}
		if rest, ok := strings.CutPrefix(name, gen.Capitalize(pkg.Name)); ok && rest != "" {
			if declared, _ := m.edited.Package(dir); declared != nil && lookUp(declared, rest) != nil {
				return lookUp(declared, rest)
			}
		}
	}
	for _, instance := range m.pass.Inspect(s.Dir).Info.Instances { // of a generic type, in older versions
		if named := namedStruct(instance.Type); named != nil && m.engine.deriver.StructName(s.named.Obj().Pkg(), named) == name {
			return named
		}
	}
	return nil
}

// nameOld sets the name and the package of an old struct. It is in the package of its type, which all code of
// older versions that uses the type imports, or else in that of the first command that has it.
func (m *migration) nameOld(o *gen.OldStruct, r *recordedStruct) {
	o.Dir = r.users[0].command.Dir
	if r.named != nil && r.named.TypeArgs().Len() == 0 {
		if dir, ok := m.edited.Dir(r.named.Obj().Pkg().Path()); ok && !isPetrockPath(dir) {
			o.Dir = dir
		}
	}
	o.Exported = slices.ContainsFunc(r.users, func(use structUse) bool { return use.command.Dir != o.Dir })
	if at := slices.IndexFunc(r.users, func(use structUse) bool { return use.command.Dir == o.Dir }); at >= 0 {
		o.Name = r.users[at].command.OldType(r.users[at].short)
	} else {
		o.Name = m.freeName(r.named.Obj().Pkg(), r.named.Obj().Name())
	}
}

// freeName returns the first name that a package does not declare: ItemV1, ItemV2, ….
func (m *migration) freeName(pkg *types.Package, base string) string {
	for n := 1; ; n++ {
		name := fmt.Sprintf("%sV%d", base, n)
		isTaken := slices.ContainsFunc(m.result.Structs, func(o *gen.OldStruct) bool { return o.Name == name })
		if pkg.Scope().Lookup(name) == nil && !isTaken {
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
			if object != nil && hasValues(object, values) && !(m.edit.ReadFirst && len(constantsOf(object)) > len(values)) {
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
				e.Name = m.freeName(pkg, source)
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
