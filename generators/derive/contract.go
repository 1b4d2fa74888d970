package derive

import (
	"encoding/json"
	"fmt"
	"go/constant"
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/inference"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/gen"
)

// Contract returns the contract of packages, without history: list entries, capabilities, and the
// versions of commands in the source. It leaves out packages with problems.
func Contract(packages []*Package) (*contract.Contract, error) {
	all := contract.New()
	all.Capabilities["logging"] = json.RawMessage(`{}`)
	for _, pkg := range packages {
		if !pkg.Wired || len(pkg.Problems) > 0 {
			continue
		}
		for _, c := range pkg.Components {
			for _, c := range c.WithAliases() {
				if err := c.addListEntry(all); err != nil {
					return nil, fmt.Errorf("encode the list entry of %s: %w", c.Name, err)
				}
			}
			if c.Kind == Command {
				versions := map[int]contract.Shape{c.version: c.stored}
				for _, o := range c.oldVersions {
					versions[o.version] = o.shape
				}
				all.Commands[c.EventType] = contract.Command{Version: c.version, Retired: c.Retired, Versions: versions}
			}
			c.addCapabilities(all.Capabilities)
		}
	}
	return all, nil
}

func (c Component) addCapabilities(capabilities map[string]json.RawMessage) {
	switch {
	case c.IsTool():
		capabilities["tools"] = json.RawMessage(`{"listChanged":true}`)
	case c.Kind == Prompt:
		capabilities["prompts"] = json.RawMessage(`{"listChanged":true}`)
	case c.Kind == Resource, c.Kind == Feature: // features have a resource for the event log
		capabilities["resources"] = json.RawMessage(`{"subscribe":true,"listChanged":true}`)
	}
	if c.hasCompletion() {
		capabilities["completions"] = json.RawMessage(`{}`)
	}
}

// addListEntry adds the list entry of a tool, resource, template or prompt. Other components have
// none.
func (c Component) addListEntry(all *contract.Contract) (err error) {
	switch {
	case c.IsTool():
		all.Tools[c.Name], err = strictjson.Marshal(c.Tool())
	case c.isTemplate():
		all.ResourceTemplates[c.Name], err = strictjson.Marshal(mcp.ResourceTemplate{URITemplate: c.URI, Name: c.Name, Title: c.Title, Description: c.Description, MIMEType: c.MIMEType})
	case c.Kind == Resource:
		all.Resources[c.Name], err = strictjson.Marshal(mcp.Resource{URI: c.URI, Name: c.Name, Title: c.Title, Description: c.Description, MIMEType: c.MIMEType})
	case c.Kind == Prompt:
		prompt := mcp.Prompt{Name: c.Name, Title: c.Title, Description: c.Description}
		for _, p := range inference.Properties(c.Input) {
			prompt.Arguments = append(prompt.Arguments, mcp.PromptArgument{Name: p.Name, Description: p.Description, Required: p.Required})
		}
		all.Prompts[c.Name], err = strictjson.Marshal(prompt)
	}
	return err
}

func (c Component) isTemplate() bool { return c.Kind == Resource && len(c.arguments) > 0 }

func (c Component) hasCompletion() bool {
	return c.completer != "" || (c.Kind == Prompt || c.isTemplate()) && strings.Contains(string(c.Input), `"enum":`)
}

// Version returns the version of a command.
func (c Component) Version() int { return c.version }

// Stored returns the fields of a command's events in its current version.
func (c Component) Stored() contract.Shape { return c.stored }

// WritesOlder reports whether a command writes events of an older version, whose fields are then
// its input.
func (c Component) WritesOlder() bool { return c.writes != 0 }

const (
	upgradeMethod   = "Upgrade"
	downgradeMethod = "Downgrade"
)

// An oldVersion is the type of an older version of a command: func (old CreateV1) Upgrade() Create.
type oldVersion struct {
	command string // Go type of the command
	version int
	name    string // Go type of this version
	next    string // result type of Upgrade
	back    bool   // next has a method Downgrade that returns this version
	shape   contract.Shape
	file    string
	line    int
}

var oldTypeName = regexp.MustCompile(`^(.+)V([0-9]+)$`) // CreateV1

var notInIdentifier = regexp.MustCompile(`\W+`)

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

// NotDowngraded returns the newest older version whose next version has no method Downgrade: its
// type, that of the next version, and its file. They are empty if there is none.
func (c Component) NotDowngraded() (old, next, file string) {
	for _, o := range slices.Backward(c.oldVersions) {
		if !o.back {
			return o.name, o.next, o.file
		}
	}
	return "", "", ""
}

// OlderFiles returns the files, except that of the command, that declare its older versions.
func (c Component) OlderFiles() []string {
	var files []string
	for _, o := range c.oldVersions {
		if o.file != c.File && !slices.Contains(files, o.file) {
			files = append(files, o.file)
		}
	}
	return files
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

// HasMap reports whether the feature of a command has a func Map, which may convert older versions.
func HasMap(packages []*Package, entry string) bool {
	feature, _, _ := strings.Cut(entry, "/")
	for _, pkg := range packages {
		if pkg.Kind == Feature && pkg.featureName() == feature {
			return pkg.hasMap
		}
	}
	return false
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

// Constants returns the constants of a string type in its package, sorted by name. It returns nil
// for other types.
func Constants(t *types.Named) (found []*types.Const) {
	if basic, ok := t.Underlying().(*types.Basic); !ok || basic.Info()&types.IsString == 0 {
		return nil
	}
	return constantsOf(t)
}

// constantsOf returns the constants of a type in its package, sorted by name.
func constantsOf(t *types.Named) (found []*types.Const) {
	scope := t.Obj().Pkg().Scope()
	for _, name := range scope.Names() {
		if c, ok := scope.Lookup(name).(*types.Const); ok && types.Identical(c.Type(), t) {
			found = append(found, c)
		}
	}
	return found
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
