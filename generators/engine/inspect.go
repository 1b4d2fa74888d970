package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/check"
	"github.com/petrock/petrock/generators/derive"
)

// An Inspection is all there is of one component.
type Inspection struct {
	OK        bool               `json:"ok"`        // Always
	Component derive.Component   `json:"component"` // Its definition, as clients see it
	Source    string             `json:"source"`    // The file that it is written in
	TestFile  string             `json:"testFile"`  // Its tests, if they are in the file beside it
	Test      string             `json:"test"`      // What that holds
	Warnings  []check.Diagnostic `json:"warnings"`  // What had better be otherwise
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
		kinds = append(kinds, string(place.Kind))
		if kind == "" || string(place.Kind) == kind {
			places = append(places, place)
		}
	}
	if len(places) == 0 {
		return nil, terminal.Usagef("the project has no %q; it has components of the kinds %s", kind, strings.Join(kinds, ", "))
	}
	packages, err := e.deriver.Packages(ctx, e.before, places)
	if err != nil {
		return nil, err
	}
	var found []derive.Component
	var names []string
	for _, pkg := range packages {
		if len(pkg.Problems) > 0 && kind != "" {
			return nil, e.refused(newPlan(), pkg)
		}
		for _, c := range pkg.Components {
			if c.Kind != derive.Generator || !e.cameWith(c) {
				names = append(names, string(c.Kind)+" "+c.Name)
			}
			if c.Name == name || c.Func == name || c.Name == strings.ReplaceAll(name, "-", "_") || strings.HasSuffix(c.Func, "."+name) {
				found = append(found, c)
			}
		}
	}
	switch len(found) {
	case 0:
		return nil, terminal.Usagef("there is no component %q; there are %s", name, strings.Join(names, ", "))
	case 1:
	default:
		return nil, terminal.Usagef("%q is the name of a %s and of a %s; say with kind which is meant", name, found[0].Kind, found[1].Kind)
	}
	return e.inspect(found[0], packages), nil
}

// inspect shows a component.
func (e *Engine) inspect(c derive.Component, packages []*derive.Package) *Inspection {
	shown := &Inspection{OK: true, Component: c, Warnings: []check.Diagnostic{}}
	if file := e.before.File(c.File); file != nil {
		shown.Source = string(file.Text)
	}
	beside := strings.TrimSuffix(c.File, ".go") + "_test.go"
	if file := e.before.File(beside); file != nil {
		shown.TestFile, shown.Test = beside, string(file.Text)
	}
	for _, pkg := range packages {
		shown.Warnings = append(shown.Warnings, slices.DeleteFunc(slices.Clone(pkg.Warnings), func(d check.Diagnostic) bool { return d.File != c.File })...)
	}
	return shown
}
