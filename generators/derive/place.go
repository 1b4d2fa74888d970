package derive

import (
	"cmp"
	"path"
	"slices"
	"strings"

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

	Type Kind = "type" // a struct or enum that components share
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

// TypeDir returns the folder of the package in the name of a type: desk in desk/Loan. It is that of
// a feature, a folder that exists or, by default, one below internal. A package with a slash is its
// own folder.
func TypeDir(pkg string, exists func(dir string) bool) string {
	_, isPlace := PlaceAt(pkg)
	switch feature := path.Join(Features, pkg); {
	case exists(feature):
		return feature
	case exists(pkg) || isPlace || strings.Contains(pkg, "/"):
		return path.Clean(pkg)
	}
	return path.Join("internal", pkg)
}

// TypeName returns the name of a type in a folder, such as desk/Loan.
func TypeName(dir, name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(dir, Features+"/"), "internal/") + "/" + name
}

// IsLogged reports whether values of the types in a folder may be stored in the event log: unless
// it is that of tools, resources, prompts or generators.
func IsLogged(dir string) bool {
	place, ok := PlaceAt(dir)
	return !ok || place.Kind == Feature
}

func (p Place) derivedFile() string { return path.Join(p.Dir, path.Base(p.Dir)+"_gen.go") }

// derivedFunc returns the name of the derived function that registers or lists the components.
func (p Place) derivedFunc() string {
	return cmp.Or(map[Kind]string{Generator: "All", Feature: "Feature"}[p.Kind], "Register")
}

// receiver returns the name of the type whose methods are components too, or "".
func (p Place) receiver() string {
	return map[Kind]string{Tool: "Tools", Resource: "Resources", Prompt: "Prompts"}[p.Kind]
}

func (p Place) featureName() string { return path.Base(p.Dir) }
