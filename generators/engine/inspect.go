package engine

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/typecheck"
)

// An Inspection is all there is of one component.
type Inspection struct {
	OK        bool                   `json:"ok"`        // Always
	Component derive.Component       `json:"component"` // Its definition, as clients see it
	Source    string                 `json:"source"`    // The file that it is written in
	TestFile  string                 `json:"testFile"`  // Its tests, if they are in the file beside it
	Test      string                 `json:"test"`      // What that holds
	Warnings  []typecheck.Diagnostic `json:"warnings"`  // What had better be otherwise
}

// Inspect shows a component, by the name that clients or Go have for it. Its kind may be empty if only one
// has that name.
func (e *Engine) Inspect(ctx context.Context, kind, name string) (*Inspection, error) {
	if err := e.look(ctx); err != nil {
		return nil, err
	}
	var places []derive.Place
	var kinds []string
	for _, place := range e.there() {
		if !place.Wired && place.Kind != derive.Generator {
			continue
		}
		for _, k := range place.Kinds() {
			kinds = append(kinds, string(k))
		}
		if kind == "" || slices.Contains(place.Kinds(), derive.Kind(kind)) {
			places = append(places, place)
		}
	}
	slices.Sort(kinds)
	if len(places) == 0 {
		return nil, terminal.Usagef("the project has no %q; it has components of the kinds %s", kind, strings.Join(slices.Compact(kinds), ", "))
	}
	packages, err := e.deriver.Packages(ctx, e.before, places)
	if err != nil {
		return nil, err
	}
	var found []derive.Component
	var names []string
	for _, pkg := range packages {
		if len(pkg.Problems) > 0 && kind != "" && (pkg.Kind != derive.Feature || isIn(pkg, name)) {
			return nil, e.refused(newPlan(""), pkg)
		}
		for _, c := range pkg.Components {
			if kind != "" && string(c.Kind) != kind {
				continue
			}
			names = append(names, string(c.Kind)+" "+c.Name)
			if c.IsCalled(name) {
				found = append(found, c)
			}
		}
	}
	switch len(found) {
	case 0:
		return nil, terminal.Usagef("there is no component %q; there are %s", name, strings.Join(names, ", "))
	case 1:
	default:
		return nil, ambiguous(name, found)
	}
	return e.inspect(found[0], packages), nil
}

// ambiguous says that a name means several components.
func ambiguous(name string, found []derive.Component) error {
	if found[0].Kind == found[1].Kind {
		return terminal.Usagef("%q is %s and %s; say which is meant", name, found[0].Name, found[1].Name)
	}
	return terminal.Usagef("%q is the name of a %s and of a %s; say with kind which is meant", name, found[0].Kind, found[1].Kind)
}

// isIn reports whether a name is that of a part of the feature in a package, as far as can be told by the name.
func isIn(pkg *derive.Package, name string) bool {
	feature, _, _ := strings.Cut(strings.ReplaceAll(strings.ReplaceAll(name, "-", "_"), "/", "_"), "_")
	return feature == path.Base(pkg.Dir)
}

// inspect shows a component.
func (e *Engine) inspect(c derive.Component, packages []*derive.Package) *Inspection {
	shown := &Inspection{OK: true, Component: c, Warnings: []typecheck.Diagnostic{}}
	if file := e.before.File(c.File); file != nil {
		shown.Source = string(file.Text)
	}
	beside := strings.TrimSuffix(c.File, ".go") + "_test.go"
	if file := e.before.File(beside); file != nil {
		shown.TestFile, shown.Test = beside, string(file.Text)
	}
	for _, pkg := range packages {
		shown.Warnings = append(shown.Warnings, slices.DeleteFunc(slices.Clone(pkg.Warnings), func(d typecheck.Diagnostic) bool { return d.File != c.File })...)
	}
	return shown
}
