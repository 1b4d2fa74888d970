package derive

import (
	"go/constant"
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/gen"
)

const (
	upgradeMethod   = "Upgrade"
	downgradeMethod = "Downgrade"
)

var oldTypeName = regexp.MustCompile(`^(.+)V([0-9]+)$`) // CreateV1

// addOldVersion adds t if its name and its method Upgrade make it an older version of a command.
// The command may be in a file that is visited later.
func (f *finder) addOldVersion(file string, line int, t *types.Named) {
	parts := oldTypeName.FindStringSubmatch(t.Obj().Name())
	upgrade := method(t, upgradeMethod)
	if parts == nil || upgrade == nil || !isStruct(t) || t.TypeParams() != nil {
		return
	}
	version, err := strconv.Atoi(parts[2])
	s := upgrade.Signature()
	if err != nil || version < 1 || s.Params().Len() != 0 || s.Results().Len() != 1 || !hasValueReceiver(t, upgradeMethod) {
		return
	}
	next, ok := types.Unalias(s.Results().At(0).Type()).(*types.Named)
	if !ok || !f.isThisPackage(next.Obj().Pkg()) {
		return
	}
	back := method(next, downgradeMethod)
	f.found.oldVersions = append(f.found.oldVersions, oldVersion{
		command: parts[1], version: version, name: t.Obj().Name(), next: next.Obj().Name(),
		back:  back != nil && f.hasSignature(back, f.pkg, signature{"", t.Obj().Name()}) && hasValueReceiver(next, downgradeMethod),
		shape: f.Stored(t), file: file, line: line,
	})
}

// linkOldVersions assigns older versions to their commands. It refuses those whose upgrades do not
// lead to the command.
func (f *finder) linkOldVersions() {
	for i := range f.found.Components {
		c := &f.found.Components[i]
		if c.Kind != Command {
			continue
		}
		c.oldVersions = nil
		isLater := func(o oldVersion) bool { // o.next is the command or a later version
			return o.next == c.Func || slices.ContainsFunc(f.found.oldVersions, func(next oldVersion) bool {
				return next.name == o.next && next.command == c.Func && next.version > o.version
			})
		}
		for _, o := range f.found.oldVersions {
			switch {
			case o.command != c.Func:
			case !isLater(o):
				f.problemAt(o.file, o.line, "Upgrade of %s returns %s; return %s, or a later version of it", o.name, o.next, c.Func)
			case o.version >= c.version:
				f.problemAt(o.file, o.line, "%s is version %d of %s, whose current version is %d; put //petrock:version %d into the doc comment of %[3]s", o.name, o.version, c.Func, c.version, o.version+1)
			default:
				c.oldVersions = append(c.oldVersions, o)
			}
		}
		slices.SortFunc(c.oldVersions, func(a, b oldVersion) int { return a.version - b.version })
	}
}

// Stored returns the fields of events that have a struct type, as contracts record them. Names are
// those of the package that declares the type.
func (p Project) Stored(t *types.Named) contract.Shape {
	s := p.shapeBuilder(t.Obj().Pkg())
	shape := contract.Shape{Fields: s.fields(t.Obj().Name(), t.Underlying().(*types.Struct))}
	if len(s.types) > 0 {
		shape.Types = s.types
	}
	if len(s.enums) > 0 {
		shape.Enums = s.enums
	}
	return shape
}

// TypeName returns the name of a type in the recorded fields of commands of a package.
func (p Project) TypeName(pkg *types.Package, t *types.Named) string {
	s := p.shapeBuilder(pkg)
	return s.typeName(t)
}

func (p Project) shapeBuilder(pkg *types.Package) shapeBuilder {
	return shapeBuilder{
		module: p.Checker.Module().Path, pkg: pkg.Path(),
		types: map[string][]contract.Field{}, names: map[string]types.Type{}, enums: map[string][]contract.Constant{},
	}
}

// A shapeBuilder converts types to the form in which contracts record them.
type shapeBuilder struct {
	module, pkg string // paths of the module, and of the package whose types are not qualified
	types       map[string][]contract.Field
	names       map[string]types.Type
	enums       map[string][]contract.Constant
	namesEnums  bool // whether typeText returns the names of enums
}

// fields returns the fields of a struct that encoding/json writes. owner prefixes the names of
// anonymous structs in it.
func (s *shapeBuilder) fields(owner string, t *types.Struct) []contract.Field {
	fields := []contract.Field{}
	for _, m := range JSONFields(t, false) {
		_, pointer := types.Unalias(m.Var.Type()).(*types.Pointer)
		f := contract.Field{
			Name:     m.Key,
			Go:       strings.Join(m.Path, "."),
			Type:     s.typeText(owner+m.Var.Name(), m.Var.Type()),
			Optional: m.Omits || pointer || m.Indirect,
			Quoted:   m.Quoted,
		}
		s.namesEnums = true
		if f.Named = s.typeText(owner+m.Var.Name(), m.Var.Type()); f.Named == f.Type {
			f.Named = ""
		}
		s.namesEnums = false
		fields = append(fields, f)
	}
	return fields
}

// typeText returns a type in the syntax of [contract.ParseType]. name is the name of an anonymous
// struct.
func (s *shapeBuilder) typeText(name string, t types.Type) string {
	t = types.Unalias(t)
	named, isNamed := t.(*types.Named)
	if isNamed {
		if IsOpaque(named) {
			return s.opaque(named)
		}
		name = s.typeName(named)
	}
	switch under := t.Underlying().(type) {
	case *types.Basic:
		if s.namesEnums && isNamed {
			return s.enum(named)
		}
		return types.Typ[under.Kind()].Name()
	case *types.Pointer:
		return "*" + s.typeText(name, under.Elem())
	case *types.Slice:
		elem, isNamed := types.Unalias(under.Elem()).(*types.Named)
		if basic, ok := under.Elem().Underlying().(*types.Basic); ok && basic.Kind() == types.Uint8 && !(isNamed && IsOpaque(elem)) {
			return "[]byte"
		}
		return "[]" + s.typeText(name, under.Elem())
	case *types.Array:
		return "[" + strconv.FormatInt(under.Len(), 10) + "]" + s.typeText(name, under.Elem())
	case *types.Map:
		return "map[" + s.typeText(name, under.Key()) + "]" + s.typeText(name, under.Elem())
	case *types.Struct:
		return s.addStruct(name, t, under)
	}
	return "any"
}

// enum returns the name of an enum of the project and adds its constants. Other types have the name
// of their underlying type.
func (s *shapeBuilder) enum(t *types.Named) string {
	constants := Constants(t)
	name, isOwn := t.Obj().Name(), t.Obj().Pkg().Path() == s.pkg
	path, inside := strings.CutPrefix(t.Obj().Pkg().Path(), s.module+"/")
	switch {
	case len(constants) == 0 || !inside || !isOwn && !t.Obj().Exported():
		return types.Typ[t.Underlying().(*types.Basic).Kind()].Name()
	case !isOwn:
		name = "./" + path + "." + name
	}
	s.enums[name] = nil
	for _, c := range constants {
		s.enums[name] = append(s.enums[name], contract.Constant{Go: c.Name(), Value: constant.StringVal(c.Val())})
	}
	return name
}

// addStruct adds a struct type, unless it is known, and returns its name.
func (s *shapeBuilder) addStruct(name string, t types.Type, under *types.Struct) string {
	base := name
	for n := 2; s.names[name] != nil && !types.Identical(s.names[name], t); n++ {
		name = base + strconv.Itoa(n)
	}
	if s.names[name] == nil {
		s.names[name] = t
		s.types[name] = s.fields(name, under)
	}
	return name
}

// typeName returns a name for a named type that is a Go identifier.
func (s *shapeBuilder) typeName(t *types.Named) string {
	text := t.Obj().Name()
	if pkg := t.Obj().Pkg(); pkg != nil && pkg.Path() != s.pkg {
		text = gen.Capitalize(pkg.Name()) + gen.Capitalize(text)
	}
	for i := range t.TypeArgs().Len() {
		text += notInIdentifier.ReplaceAllString(s.typeText("", t.TypeArgs().At(i)), "")
	}
	return text
}

var notInIdentifier = regexp.MustCompile(`\W+`)

// opaque returns the name of a type with its own marshalling, qualified by its import path, which
// is relative for packages of the project.
func (s *shapeBuilder) opaque(t *types.Named) string {
	path := t.Obj().Pkg().Path()
	if inside, ok := strings.CutPrefix(path, s.module+"/"); ok {
		path = "./" + inside
	}
	text := path + "." + t.Obj().Name()
	if t.TypeArgs().Len() == 0 {
		return text
	}
	var arguments []string
	for i := range t.TypeArgs().Len() {
		arguments = append(arguments, s.typeText("", t.TypeArgs().At(i)))
	}
	return text + "[" + strings.Join(arguments, ",") + "]"
}

// IsOpaque reports whether a type has its own decoding: UnmarshalJSON, UnmarshalText or
// json.Number.
func IsOpaque(t *types.Named) bool {
	pkg := t.Obj().Pkg()
	isNumber := pkg != nil && pkg.Path() == "encoding/json" && t.Obj().Name() == "Number"
	return isNumber || pkg != nil && (method(t, "UnmarshalJSON") != nil || method(t, "UnmarshalText") != nil)
}
