package engine

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/derive"
)

// choose finds the component that is to be destroyed, by the name that clients or Go have for it, and where it is.
// Its file has to be its own. A feature goes whole, whatever is in it.
func (e *Engine) choose(ctx context.Context, kind derive.Kind, name string) (derive.Place, derive.Component, error) {
	var places []derive.Place
	for _, place := range e.there() {
		if kind == derive.Feature && place == derive.FeatureIn(path.Join(derive.Features, name)) {
			return place, derive.Component{Kind: kind, Name: name, Feature: name}, nil
		}
		if one, fixed := derive.PlaceOf(kind); slices.Contains(place.Kinds(), kind) && (!fixed || place == one) {
			places = append(places, place)
		}
	}
	packages, err := e.deriver.Packages(ctx, e.before, places)
	if err != nil {
		return derive.Place{}, derive.Component{}, err
	}
	var found []derive.Component
	var home *derive.Package
	var names []string
	for _, pkg := range packages {
		if len(pkg.Problems) > 0 && (pkg.Kind != derive.Feature || isIn(pkg, name)) {
			return derive.Place{}, derive.Component{}, e.refused(newPlan(actionDestroy), pkg)
		}
		for _, c := range pkg.Components {
			if c.Kind != kind || len(pkg.Problems) > 0 {
				continue
			}
			names = append(names, c.Name)
			if c.IsCalled(name) {
				found, home = append(found, c), pkg
			}
		}
	}
	switch len(found) {
	case 0:
		there := "there are " + strings.Join(names, ", ")
		if len(names) == 0 {
			there = "there is none"
		}
		return derive.Place{}, derive.Component{}, terminal.Usagef("there is no %s %q; %s", kind, name, there)
	case 1:
		return home.Place, found[0], alone(home, found[0])
	}
	return derive.Place{}, derive.Component{}, ambiguous(name, found)
}

// alone refuses a component whose file holds others too.
func alone(pkg *derive.Package, component derive.Component) error {
	var others []string
	for _, c := range pkg.Components {
		switch {
		case c.File != component.File || c.Name == component.Name:
		case c.Kind == derive.Feature:
			others = append(others, "the state of "+c.Name)
		default:
			others = append(others, c.Name)
		}
	}
	if len(others) == 0 {
		return nil
	}
	return &Refusal{
		Reason: fmt.Sprintf("%s also holds %s", component.File, strings.Join(others, ", ")),
		WayOut: fmt.Sprintf("Remove %s there by hand, and derive again with sync or build.", component.Func),
	}
}

// filesOf are the files of a component that go with it: its own and the test beside it, or all that are in the folder
// of a feature, without derived ones.
func (e *Engine) filesOf(place derive.Place, c derive.Component) ([]string, error) {
	if c.Kind != derive.Feature {
		files := []string{c.File}
		if test := strings.TrimSuffix(c.File, ".go") + "_test.go"; e.before.File(test) != nil {
			files = append(files, test)
		}
		return files, nil
	}
	var files []string
	err := fs.WalkDir(e.root.FS(), place.Dir, func(file string, entry fs.DirEntry, err error) error {
		switch known := e.before.File(file); {
		case err != nil:
			return err
		case !entry.Type().IsRegular(), known != nil && known.IsDerived():
			return nil
		}
		files = append(files, file)
		return nil
	})
	return files, err
}
