package engine

import (
	"cmp"
	"context"
	"fmt"
	"go/types"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/journal"
	"github.com/petrock/petrock/generators/parts"
	"github.com/petrock/petrock/generators/typecheck"
)

// A Listing is what a project offers.
type Listing struct {
	OK         bool                   `json:"ok"`         // Whether all packages could be read
	Name       string                 `json:"name"`       // Of the project
	Root       string                 `json:"root"`       // Its folder
	Components []derive.Component     `json:"components"` // Sorted by kind and name
	Parts      []PartStatus           `json:"parts"`      // Optional code of petrock
	Refused    []typecheck.Diagnostic `json:"refused"`    // Errors in packages that could not be read
	ToolsList  *Size                  `json:"toolsList"`  // Size of tools/list
}

// List lists the components of the project, its own generators included. It changes nothing.
func (e *Engine) List(ctx context.Context) (*Listing, error) {
	if err := e.read(ctx); err != nil {
		return nil, err
	}
	packages, err := e.deriver.Packages(ctx, e.before, e.existingPlaces())
	if err != nil {
		return nil, err
	}
	listing := &Listing{OK: true, Name: e.project.Name, Root: e.project.Root, Components: []derive.Component{}, Refused: []typecheck.Diagnostic{}}
	for _, part := range parts.All() {
		listing.Parts = append(listing.Parts, PartStatus{Name: part.Name, Description: part.Description, Present: isPresent(part, e.before), UsedBy: e.partUser(part, e.before)})
	}
	derive.CheckToolNames(packages, nil)
	for _, pkg := range append(packages, e.hidden()...) {
		listing.Refused = append(listing.Refused, pkg.Problems...)
		if len(pkg.Problems) > 0 {
			continue
		}
		listing.Components = append(listing.Components, pkg.Components...)
	}
	slices.SortStableFunc(listing.Components, func(a, b derive.Component) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	listing.Refused = append(listing.Refused, e.interrupted()...)
	listing.OK = len(listing.Refused) == 0
	listing.ToolsList = size(listing.Components)
	return listing, nil
}

// A History is what was done to a project in this clone of it.
type History struct {
	OK         bool        `json:"ok"`                  // Always
	Operations []Operation `json:"operations"`          // The oldest first
	Recovered  string      `json:"recovered,omitempty"` // Recovery of an interrupted operation
}

// An Operation is one operation of a history.
type Operation struct {
	journal.Operation
	UndoneBy string `json:"undoneBy,omitempty"` // Id of the operation that undid it
}

// History tells what was done to the project in this clone of it.
func (e *Engine) History(ctx context.Context) (*History, error) {
	opened, err := e.openJournal(ctx)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	operations, err := opened.History()
	if err != nil {
		return nil, err
	}
	history := &History{OK: true, Operations: []Operation{}, Recovered: opened.Recovered()}
	undone := undoneBy(operations)
	for _, op := range operations {
		history.Operations = append(history.Operations, Operation{op, undone[op.ID]})
	}
	return history, nil
}

// An Inspection is all there is of one component.
type Inspection struct {
	OK        bool                   `json:"ok"`        // Always
	Component derive.Component       `json:"component"` // Its definition, as clients see it
	Source    string                 `json:"source"`    // The file that it is written in
	TestFile  string                 `json:"testFile"`  // Its tests, if they are in the file beside it
	Test      string                 `json:"test"`      // What that holds
	Warnings  []typecheck.Diagnostic `json:"warnings"`  // Warnings
}

// Inspect shows a component, by the name that clients or Go have for it. Its kind may be empty if only one
// has that name.
func (e *Engine) Inspect(ctx context.Context, kind, name string) (*Inspection, error) {
	if err := e.read(ctx); err != nil {
		return nil, err
	}
	var places []derive.Place
	var kinds []string
	for _, place := range e.existingPlaces() {
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
	c, pkg, err := e.lookUp(ctx, places, derive.Kind(kind), name)
	if err != nil {
		return nil, err
	}
	shown := &Inspection{OK: true, Component: c, Warnings: []typecheck.Diagnostic{}}
	if file := e.before.File(c.File); file != nil {
		shown.Source = string(file.Text)
	}
	if file := e.before.File(testPath(c.File)); file != nil {
		shown.TestFile, shown.Test = file.Path, string(file.Text)
	}
	for _, d := range pkg.Warnings {
		if d.File == c.File {
			shown.Warnings = append(shown.Warnings, d)
		}
	}
	return shown, nil
}

func testPath(file string) string { return strings.TrimSuffix(file, ".go") + "_test.go" }

// lookUp finds the component that clients or Go call by a name, in places, and its package. An
// empty kind means any.
func (e *Engine) lookUp(ctx context.Context, places []derive.Place, kind derive.Kind, name string) (c derive.Component, home *derive.Package, err error) {
	packages, err := e.deriver.Packages(ctx, e.before, places)
	if err != nil {
		return c, nil, err
	}
	var found []derive.Component
	var names []string
	for _, pkg := range packages {
		if len(pkg.Problems) > 0 && kind != "" {
			if pkg.Kind != derive.Feature || isIn(pkg, name) {
				return c, nil, e.refused(newPlan(""), pkg)
			}
			continue
		}
		for _, c := range pkg.Components {
			if kind != "" && c.Kind != kind {
				continue
			}
			if names = append(names, c.Name); kind == "" {
				names[len(names)-1] = string(c.Kind) + " " + c.Name
			}
			if c.Matches(name) {
				found, home = append(found, c), pkg
			}
		}
	}
	switch {
	case len(found) == 0:
		return c, nil, terminal.Usagef("there is no %s %q; there are %s", cmp.Or(string(kind), "component"), name, joinOrNone(names))
	case len(found) == 1:
		return found[0], home, nil
	case found[0].Kind == found[1].Kind:
		return c, nil, terminal.Usagef("%q is %s and %s; say which is meant", name, found[0].Name, found[1].Name)
	}
	return c, nil, terminal.Usagef("%q is the name of a %s and of a %s; say with kind which is meant", name, found[0].Kind, found[1].Kind)
}

// isIn reports whether a name is that of a part of the feature in a package, as far as can be told by the name.
func isIn(pkg *derive.Package, name string) bool {
	feature, _, _ := strings.Cut(strings.ReplaceAll(strings.ReplaceAll(name, "-", "_"), "/", "_"), "_")
	return feature == path.Base(pkg.Dir)
}

// find returns the function or method that a reference names in a package.
func find(ref reference, pkg *types.Package) (types.Object, error) {
	name := ref.call[0]
	object := pkg.Scope().Lookup(name)
	switch {
	case object == nil:
		return nil, absent(ref, pkg)
	case !object.Exported():
		return nil, fmt.Errorf("%q: %s is not exported, so the tools cannot call it; begin its name with a capital", ref, name)
	}
	if _, is := object.(*types.TypeName); is {
		return nil, fmt.Errorf("%q: %s is a type, and methods are called on variables; name a variable of the package, ./folder.Variable.Method, or write a function that makes a %[2]s and calls the method", ref, name)
	}
	if len(ref.call) == 1 {
		if isFunction(object) {
			return object, nil
		}
		if methods := methodsOf(ref, object); len(methods) > 0 {
			return nil, fmt.Errorf("%q: %s is no function; name one of its methods: %s", ref, name, few(methods))
		}
		return nil, fmt.Errorf("%q: %s is no function, and has no methods; %s", ref, name, offer(ref, pkg))
	}
	_, addressable := object.(*types.Var)
	method, _, _ := types.LookupFieldOrMethod(object.Type(), addressable, pkg, ref.call[1])
	if method != nil && method.Exported() && isFunction(method) {
		return method, nil
	}
	if methods := methodsOf(ref, object); len(methods) > 0 {
		return nil, fmt.Errorf("%q: %s has no exported method %s that can be called on it; it has %s", ref, name, ref.call[1], few(methods))
	}
	return nil, fmt.Errorf("%q: %s has no exported method at all that can be called on it; %s", ref, name, offer(ref, pkg))
}

func isFunction(object types.Object) bool {
	_, is := object.Type().Underlying().(*types.Signature)
	return is
}

// absent reports that a package does not declare what a reference names, and suggests what it has.
func absent(ref reference, pkg *types.Package) error {
	for _, name := range pkg.Scope().Names() {
		if strings.EqualFold(name, ref.call[0]) && pkg.Scope().Lookup(name).Exported() {
			meant := reference{ref.dir, append([]string{name}, ref.call[1:]...)}
			return fmt.Errorf("%q: there is no %s; is %s meant?", ref, ref.call[0], meant)
		}
	}
	return fmt.Errorf("%q: there is no %s; %s", ref, ref.call[0], offer(ref, pkg))
}

// offer lists the functions and methods of a package that a reference can name.
func offer(ref reference, pkg *types.Package) string {
	var found []string
	for _, name := range pkg.Scope().Names() {
		object := pkg.Scope().Lookup(name)
		if _, is := object.(*types.TypeName); is || !object.Exported() {
			continue
		}
		if isFunction(object) {
			found = append(found, reference{ref.dir, []string{name}}.String())
		} else {
			found = append(found, methodsOf(ref, object)...)
		}
	}
	if len(found) == 0 {
		return "the package has no exported function at all: write one"
	}
	return "the package has " + few(found)
}

func methodsOf(ref reference, object types.Object) []string {
	t := object.Type()
	_, pointer := t.Underlying().(*types.Pointer)
	if _, is := object.(*types.Var); is && !pointer && !types.IsInterface(t) {
		t = types.NewPointer(t)
	}
	var found []string
	for method := range types.NewMethodSet(t).Methods() {
		if method.Obj().Exported() {
			found = append(found, reference{ref.dir, []string{object.Name(), method.Obj().Name()}}.String())
		}
	}
	slices.Sort(found)
	return found
}

// choose finds the component that is to be destroyed, by the name that clients or Go have for it, and where it is.
// Its file has to be its own. A feature goes whole, whatever is in it.
func (e *Engine) choose(ctx context.Context, kind derive.Kind, name string) (derive.Place, derive.Component, error) {
	var places []derive.Place
	for _, place := range e.existingPlaces() {
		if kind == derive.Feature && place == derive.FeaturePlace(path.Join(derive.Features, name)) {
			return place, derive.Component{Kind: kind, Name: name, Feature: name}, nil
		}
		if one, fixed := derive.PlaceOf(kind); slices.Contains(place.Kinds(), kind) && (!fixed || place == one) {
			places = append(places, place)
		}
	}
	c, pkg, err := e.lookUp(ctx, places, kind, name)
	if err != nil {
		return derive.Place{}, c, err
	}
	return pkg.Place, c, alone(pkg, c)
}

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
		if test := e.before.File(testPath(c.File)); test != nil {
			files = append(files, test.Path)
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
