package derive

import (
	"cmp"
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// A Kind is a kind of component.
type Kind string

// The kinds.
const (
	Tool      Kind = "tool"
	Resource  Kind = "resource"
	Prompt    Kind = "prompt"
	Generator Kind = "generator"
	Feature   Kind = "feature"
	Command   Kind = "command"
	Query     Kind = "query"
	Worker    Kind = "worker"
)

// IsTool reports whether clients see components of the kind as tools, unless they are internal.
func (k Kind) IsTool() bool { return k == Tool || k == Command || k == Query }

// Features is the folder of features. Each folder with Go files in it is a feature.
const Features = "features"

// OwnGenerators is the folder of a project's own generators.
const OwnGenerators = "internal/generators"

// A Place is a folder whose package contains components.
type Place struct {
	Dir   string // from the project's root
	Kind  Kind   // of its components; Feature if they are of several kinds
	Wired bool   // the server registers its components
}

// Places returns the folders of a project that may contain components: the fixed ones and its
// features.
func Places(view *typecheck.View) []Place {
	places := slices.Clone(fixedPlaces)
	for _, dir := range view.Dirs() {
		if path.Dir(dir) == Features {
			places = append(places, FeaturePlace(dir))
		}
	}
	slices.SortFunc(places, func(a, b Place) int { return strings.Compare(a.Dir, b.Dir) })
	return places
}

// FeaturePlace returns the place of the feature in a folder.
func FeaturePlace(dir string) Place { return Place{dir, Feature, true} }

var fixedPlaces = []Place{
	{OwnGenerators, Generator, false},
	{"prompts", Prompt, true},
	{"resources", Resource, true},
	{"tools", Tool, true},
}

// Kinds returns the kinds of components that may be in the place.
func (p Place) Kinds() []Kind {
	if p.Kind == Feature {
		return []Kind{Command, Feature, Query, Worker}
	}
	return []Kind{p.Kind}
}

// PlaceOf returns the place of a kind that has a fixed folder.
func PlaceOf(kind Kind) (Place, bool) {
	return findPlace(func(p Place) bool { return p.Kind == kind })
}

// PlaceAt returns the place in a folder. It returns false if the folder cannot contain components.
func PlaceAt(dir string) (Place, bool) {
	if path.Dir(dir) == Features {
		return FeaturePlace(dir), true
	}
	return findPlace(func(p Place) bool { return p.Dir == dir })
}

func findPlace(matches func(Place) bool) (Place, bool) {
	if at := slices.IndexFunc(fixedPlaces, matches); at >= 0 {
		return fixedPlaces[at], true
	}
	return Place{}, false
}

// setMakes sets the files of the components that a generator creates.
func (f *finder) setMakes(c *Component, d directive) {
	c.Makes = strings.Fields(d.text)
	for _, pattern := range c.Makes {
		if err := gen.CheckPattern(pattern); err != nil {
			f.problem(d.pos, "//petrock:makes: %v", err)
		} else if place, ok := PlaceAt(path.Dir(pattern)); ok && place.Kind == Generator {
			f.problem(d.pos, "//petrock:makes %s: %s has generators; choose another folder", pattern, place.Dir)
		}
	}
}

// derivedFunc returns the name of the derived function that registers or lists the components.
func (p Place) derivedFunc() string {
	return cmp.Or(map[Kind]string{Generator: "All", Feature: "Feature"}[p.Kind], "Register")
}

// receiver returns the name of the type whose methods are components too, or "".
func (p Place) receiver() string {
	return map[Kind]string{Tool: "Tools", Resource: "Resources", Prompt: "Prompts"}[p.Kind]
}

// CheckNames adds a problem to each package that has a tool with the name of a tool in others or in
// an earlier package, or that maps events of a command, or of a type that another package maps. It
// ignores packages with problems.
func CheckNames(packages, others []*Package) {
	checkMappedTypes(packages, others)
	known := map[string]Component{}
	for i, pkg := range slices.Concat(others, packages) {
		for _, c := range pkg.tools() {
			if other, taken := known[c.Name]; taken && i >= len(others) {
				pkg.Problems = append(pkg.Problems, typecheck.Diagnostic{File: c.File, Line: c.Line, Message: fmt.Sprintf("%s has the name %s, which %s in %s already has; change one of them with //petrock:name", c.Func, c.Name, other.Func, other.File)})
			}
			known[c.Name] = c
		}
	}
}

// tools returns the tools of a package that the server registers.
func (p *Package) tools() []Component {
	var tools []Component
	for _, c := range p.Components {
		if len(p.Problems) == 0 && p.Wired && c.IsTool() {
			tools = append(tools, c.WithAliases()...)
		}
	}
	return tools
}

var workerCall = regexp.MustCompile(`app\.WorkerOf\("([^"]+)"`)

var nearlyScopes = regexp.MustCompile(`(?i)^//\s*petrock:\s*scopes?\b`)

// Workers returns the workers of a feature, such as posts/digest, from its derived file, which may
// be nil.
func Workers(derived *typecheck.File) []string {
	if derived == nil || path.Dir(derived.Dir()) != Features || !derived.IsDerived() {
		return nil
	}
	var names []string
	for _, call := range workerCall.FindAllSubmatch(derived.Text, -1) {
		names = append(names, path.Base(derived.Dir())+"/"+string(call[1]))
	}
	return names
}

func (f *finder) addScopes(c *Component, d directive) {
	for word := range strings.FieldsSeq(d.text) {
		switch {
		case strings.Contains(word, ","):
			f.problem(d.pos, "%q is not a scope; separate scopes with spaces, not commas", word)
		case !auth.IsScope(word):
			f.problem(d.pos, "%q is not a scope; use printable ASCII without quotes and backslashes", word)
		case slices.Contains(c.scopes, word):
			f.problem(d.pos, "duplicate scope %q; remove one", word)
		default:
			c.scopes = append(c.scopes, word)
		}
	}
	f.scoped[d.pos] = true
}

// checkScopeDirectives refuses scope directives that apply to no component, since the user would
// think that the component is protected. It ignores function bodies.
func (f *finder) checkScopeDirectives(file *typecheck.File) {
	for _, group := range file.Syntax.Comments {
		for _, comment := range group.List {
			if nearlyScopes.MatchString(comment.Text) && !f.scoped[comment.Pos()] && declaration[*ast.BlockStmt](f, comment.Pos()) == nil {
				f.problem(comment.Pos(), "%q has no effect here; write //petrock:scopes, without spaces, in the doc comment of the function of a tool, resource or prompt, or of the type of a command or query", strings.TrimSpace(comment.Text))
			}
		}
	}
}
