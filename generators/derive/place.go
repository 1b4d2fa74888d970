package derive

import (
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
)

// IsTool reports whether clients see components of the kind as tools, unless they are internal.
func (k Kind) IsTool() bool { return k == Tool || k == Command || k == Query }

// IsOfFeature reports whether components of the kind are in the package of a feature, or are one.
func (k Kind) IsOfFeature() bool {
	return k == Feature || k == Command || k == Query || k == Worker
}

// Features is the folder below which each folder with Go in it is a feature.
const Features = "features"

// OwnGenerators is the folder of the generators that a project adds to petrock's.
const OwnGenerators = "internal/generators"

// A Place is a folder whose package holds components.
type Place struct {
	Dir   string // from the project's root
	Kind  Kind   // of its components; Feature if they are of several kinds
	Wired bool   // the program that ships offers what is there
}

// Places are the folders in which a project has components: those that every project may have, and its features.
func Places(view *typecheck.View) []Place {
	places := fixed()
	for _, dir := range view.Dirs() {
		if path.Dir(dir) == Features {
			places = append(places, FeatureIn(dir))
		}
	}
	slices.SortFunc(places, func(a, b Place) int { return strings.Compare(a.Dir, b.Dir) })
	return places
}

// FeatureIn is the place of a feature.
func FeatureIn(dir string) Place { return Place{dir, Feature, true} }

// fixed are the places that every project may have.
func fixed() []Place {
	return []Place{
		{OwnGenerators, Generator, false},
		{"prompts", Prompt, true},
		{"resources", Resource, true},
		{"tools", Tool, true},
	}
}

// Kinds are the kinds of components that may be in the place.
func (p Place) Kinds() []Kind {
	if p.Kind == Feature {
		return []Kind{Command, Feature, Query, Worker}
	}
	return []Kind{p.Kind}
}

// HasTools reports whether the program that ships offers tools from the place.
func (p Place) HasTools() bool { return p.Wired && (p.Kind == Tool || p.Kind == Feature) }

// PlaceOf is the folder to which a project adds components of a kind, for those that have but one.
func PlaceOf(kind Kind) (Place, bool) {
	for _, place := range fixed() {
		if place.Kind == kind && (place.Wired || kind == Generator) {
			return place, true
		}
	}
	return Place{}, false
}

// offer is the name of the derived function that has all components of the place.
func (p Place) offer() string {
	switch p.Kind {
	case Generator:
		return "All"
	case Feature:
		return "Feature"
	}
	return "Register"
}

// receiver is the name of the type whose methods are components, beside functions.
func (p Place) receiver() string {
	switch p.Kind {
	case Tool:
		return "Tools"
	case Resource:
		return "Resources"
	case Prompt:
		return "Prompts"
	}
	return ""
}
