package derive

import (
	"encoding/json"
	"fmt"
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/gen"
)

// Contract is what packages promise, without what was promised before: list entries, capabilities, and the commands with the
// versions that the source has. Packages with problems promise nothing.
func Contract(packages []*Package) (*contract.Contract, error) {
	made := contract.New()
	made.Capabilities["logging"] = json.RawMessage(`{}`)
	for _, pkg := range packages {
		if !pkg.Wired || len(pkg.Problems) > 0 {
			continue
		}
		for _, c := range pkg.Components {
			if list := c.listOf(made); list != nil {
				entry, err := c.listEntry()
				if err != nil {
					return nil, fmt.Errorf("encoding the list entry of %s: %w", c.Name, err)
				}
				list[c.Name] = entry
			}
			if c.Kind == Command {
				made.Commands[c.EventType] = c.recorded()
			}
			c.declare(made.Capabilities)
		}
	}
	return made, nil
}

// listOf is the list of a contract that a component is in, nil if it is in none.
func (c Component) listOf(all *contract.Contract) map[string]json.RawMessage {
	switch {
	case c.IsTool():
		return all.Tools
	case c.isTemplate():
		return all.ResourceTemplates
	case c.Kind == Resource:
		return all.Resources
	case c.Kind == Prompt:
		return all.Prompts
	}
	return nil
}

func (c Component) declare(capabilities map[string]json.RawMessage) {
	switch {
	case c.IsTool():
		capabilities["tools"] = json.RawMessage(`{"listChanged":true}`)
	case c.Kind == Prompt:
		capabilities["prompts"] = json.RawMessage(`{"listChanged":true}`)
	case c.Kind == Resource, c.Kind == Feature: // features show their log
		capabilities["resources"] = json.RawMessage(`{"subscribe":true,"listChanged":true}`)
	}
	if c.completes() {
		capabilities["completions"] = json.RawMessage(`{}`)
	}
}

func (c Component) recorded() contract.Command {
	made := contract.Command{Version: c.version, Versions: map[int]contract.Shape{c.version: c.stored}}
	for _, o := range c.olders {
		made.Versions[o.version] = o.shape
	}
	return made
}

// listEntry is what clients are told of a tool, a resource, a template or a prompt in a list, nil for other components.
func (c Component) listEntry() (json.RawMessage, error) {
	switch {
	case c.IsTool():
		return strictjson.Marshal(c.Tool())
	case c.Kind == Resource && c.isTemplate():
		return strictjson.Marshal(mcp.ResourceTemplate{URITemplate: c.URI, Name: c.Name, Title: c.Title, Description: c.Description, MIMEType: c.MIMEType})
	case c.Kind == Resource:
		return strictjson.Marshal(mcp.Resource{URI: c.URI, Name: c.Name, Title: c.Title, Description: c.Description, MIMEType: c.MIMEType})
	case c.Kind == Prompt:
		made := mcp.Prompt{Name: c.Name, Title: c.Title, Description: c.Description}
		input, err := schema.Compile(string(c.Input))
		if err != nil {
			return nil, err
		}
		for _, p := range input.Properties() {
			made.Arguments = append(made.Arguments, mcp.PromptArgument{Name: p.Name, Description: p.Description, Required: p.Required})
		}
		return strictjson.Marshal(made)
	}
	return nil, nil
}

func (c Component) isTemplate() bool { return c.Kind == Resource && len(c.arguments) > 0 }

func (c Component) completes() bool {
	return c.completer != "" || (c.Kind == Prompt || c.isTemplate()) && strings.Contains(string(c.Input), `"enum":`)
}

// Version is that of a command.
func (c Component) Version() int { return c.version }

// Stored is what the events of a command hold, in its own version.
func (c Component) Stored() contract.Shape { return c.stored }

// upgradeMethod is what makes a type an older version of a command.
const upgradeMethod = "Upgrade"

// An older is the type of an older version of a command: func (old CreateV1) Upgrade() Create.
type older struct {
	command string // the Go type of the command
	version int
	name    string // its own Go type
	next    string // the Go type that it is upgraded to
	shape   contract.Shape
	file    string
	line    int
}

// older notes a type that is an older version of a command, by its name and its method Upgrade. Whether there is such a command
// is known once all files have been read.
func (f *finder) older(file string, line int, t *types.Named) {
	parts := regexp.MustCompile(`^(.+)V([0-9]+)$`).FindStringSubmatch(t.Obj().Name())
	upgrade := method(t, upgradeMethod)
	if parts == nil || upgrade == nil || !isStruct(t) || t.TypeParams() != nil {
		return
	}
	version, err := strconv.Atoi(parts[2])
	s := upgrade.Signature()
	if err != nil || version < 1 || s.Params().Len() != 0 || s.Results().Len() != 1 || !onValue(t, upgradeMethod) {
		return
	}
	next, ok := types.Unalias(s.Results().At(0).Type()).(*types.Named)
	if !ok || !f.isHere(next.Obj().Pkg()) {
		return
	}
	f.found.olders = append(f.found.olders, older{
		command: parts[1], version: version, name: t.Obj().Name(), next: next.Obj().Name(),
		shape: f.stored(t), file: file, line: line,
	})
}

// linkOlders gives each command its older versions, and refuses those that do not lead to it.
func (f *finder) linkOlders() {
	for i := range f.found.Components {
		c := &f.found.Components[i]
		if c.Kind != Command {
			continue
		}
		c.olders = nil
		leads := map[string]bool{c.Func: true}
		for again := true; again; {
			again = false
			for _, o := range f.found.olders {
				if o.command == c.Func && leads[o.next] && !leads[o.name] {
					leads[o.name], again = true, true
				}
			}
		}
		for _, o := range f.found.olders {
			switch {
			case o.command != c.Func:
			case !leads[o.name]:
				f.problemAt(o.file, o.line, "%s upgrades to %s, which does not lead to %s; return %[3]s, or a later version of it", o.name, o.next, c.Func)
			case o.version >= c.version:
				f.problemAt(o.file, o.line, "%s reads version %d of %s, which is at version %d; write //petrock:version %d into the doc comment of %[3]s", o.name, o.version, c.Func, c.version, o.version+1)
			default:
				c.olders = append(c.olders, o)
			}
		}
		slices.SortFunc(c.olders, func(a, b older) int { return a.version - b.version })
	}
}

// HasMap reports whether the feature of a command has a func Map, which may know older versions.
func HasMap(packages []*Package, entry string) bool {
	feature, _, _ := strings.Cut(entry, "/")
	for _, pkg := range packages {
		if pkg.Kind == Feature && pkg.featureName() == feature {
			return pkg.maps
		}
	}
	return false
}

func (f *finder) stored(t *types.Named) contract.Shape {
	s := storer{finder: f, names: map[string]types.Type{}}
	shape := contract.Shape{Fields: s.fields(t.Obj().Name(), t.Underlying().(*types.Struct))}
	if len(s.types) > 0 {
		shape.Types = s.types
	}
	return shape
}

// A storer writes types down as a contract has them.
type storer struct {
	finder *finder
	types  map[string][]contract.Field
	names  map[string]types.Type
}

// fields are those of a struct that encoding/json writes. The owner is its name, for structs that have none inside of it.
func (s *storer) fields(owner string, t *types.Struct) []contract.Field {
	fields := []contract.Field{}
	for _, m := range JSONFields(t, false) {
		_, pointer := types.Unalias(m.Var.Type()).(*types.Pointer)
		fields = append(fields, contract.Field{
			Name:     m.Key,
			Go:       strings.Join(m.Path, "."),
			Type:     s.of(owner+m.Var.Name(), m.Var.Type()),
			Optional: m.Omits || pointer || m.Indirect,
			Quoted:   m.Quoted,
		})
	}
	return fields
}

// of is a type as [contract.ParseType] reads it. A struct without a name gets the one that is given.
func (s *storer) of(name string, t types.Type) string {
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
		return types.Typ[under.Kind()].Name()
	case *types.Pointer:
		return "*" + s.of(name, under.Elem())
	case *types.Slice:
		elem, isNamed := types.Unalias(under.Elem()).(*types.Named)
		if basic, ok := under.Elem().Underlying().(*types.Basic); ok && basic.Kind() == types.Uint8 && !(isNamed && IsOpaque(elem)) {
			return "[]byte"
		}
		return "[]" + s.of(name, under.Elem())
	case *types.Array:
		return "[" + strconv.FormatInt(under.Len(), 10) + "]" + s.of(name, under.Elem())
	case *types.Map:
		return "map[" + s.of(name, under.Key()) + "]" + s.of(name, under.Elem())
	case *types.Struct:
		return s.structure(name, t, under)
	}
	return "any"
}

// structure takes a struct type in, once, and returns its name.
func (s *storer) structure(name string, t types.Type, under *types.Struct) string {
	base := name
	for n := 2; s.names[name] != nil && !types.Identical(s.names[name], t); n++ {
		name = base + strconv.Itoa(n)
	}
	if s.names[name] == nil {
		s.names[name] = t
		fields := s.fields(name, under)
		if s.types == nil {
			s.types = map[string][]contract.Field{}
		}
		s.types[name] = fields
	}
	return name
}

// typeName is a name for a named type that Go takes too.
func (s *storer) typeName(t *types.Named) string {
	text := t.Obj().Name()
	if pkg := t.Obj().Pkg(); pkg != nil && !s.finder.isHere(pkg) {
		text = gen.Capitalize(pkg.Name()) + gen.Capitalize(text)
	}
	for i := range t.TypeArgs().Len() {
		text += regexp.MustCompile(`\W+`).ReplaceAllString(s.of("", t.TypeArgs().At(i)), "")
	}
	return text
}

// opaque is the name of a type with its own marshalling: its import path, relative for packages of the project, and its name.
func (s *storer) opaque(t *types.Named) string {
	path := t.Obj().Pkg().Path()
	if inside, ok := strings.CutPrefix(path, s.finder.Checker.Module().Path+"/"); ok {
		path = "./" + inside
	}
	text := path + "." + t.Obj().Name()
	if t.TypeArgs().Len() == 0 {
		return text
	}
	var arguments []string
	for i := range t.TypeArgs().Len() {
		arguments = append(arguments, s.of("", t.TypeArgs().At(i)))
	}
	return text + "[" + strings.Join(arguments, ",") + "]"
}

// IsOpaque reports whether values of a type decide themselves how they are read.
func IsOpaque(t *types.Named) bool {
	pkg := t.Obj().Pkg()
	isNumber := pkg != nil && pkg.Path() == "encoding/json" && t.Obj().Name() == "Number"
	return isNumber || pkg != nil && (method(t, "UnmarshalJSON") != nil || method(t, "UnmarshalText") != nil)
}
