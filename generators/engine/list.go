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

// A Listing is the components and parts of a project.
type Listing struct {
	OK         bool                   `json:"ok"`         // Whether all packages could be read
	Name       string                 `json:"name"`       // Name of the project
	Root       string                 `json:"root"`       // Folder of the project
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
		users := e.partUsers(part, e.before)
		listing.Parts = append(listing.Parts, PartStatus{Name: part.Name, Description: part.Description, Present: isPresent(part, e.before), UsedBy: append(users, "")[0], users: users})
	}
	derive.CheckToolNames(packages, nil)
	for _, pkg := range append(packages, e.unreadPlaces()...) {
		listing.Refused = append(listing.Refused, pkg.Problems...)
		if len(pkg.Problems) == 0 {
			listing.Components = append(listing.Components, pkg.Components...)
		}
	}
	slices.SortStableFunc(listing.Components, func(a, b derive.Component) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	listing.Refused = append(listing.Refused, e.interrupted()...)
	listing.OK = len(listing.Refused) == 0
	listing.ToolsList = toolsListSize(listing.Components)
	return listing, nil
}

// A History is the recorded operations in this clone of a project.
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

// History returns the recorded operations in this clone of the project.
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

// An Inspection is the definition and source of one component.
type Inspection struct {
	OK        bool                   `json:"ok"`        // Always
	Component derive.Component       `json:"component"` // Its definition, as clients see it
	Source    string                 `json:"source"`    // Text of its file
	TestFile  string                 `json:"testFile"`  // Path of its test file, NAME_test.go; empty if it does not exist
	Test      string                 `json:"test"`      // Text of its test file
	Warnings  []typecheck.Diagnostic `json:"warnings"`  // Warnings
}

// Inspect returns a component by its client name or Go name. The kind may be empty if the name is unique.
func (e *Engine) Inspect(ctx context.Context, kind, name string) (*Inspection, error) {
	if err := e.read(ctx); err != nil {
		return nil, err
	}
	var places []derive.Place
	for _, place := range e.existingPlaces() {
		isListed := place.Wired || place.Kind == derive.Generator
		if isListed && (kind == "" || slices.Contains(place.Kinds(), derive.Kind(kind))) {
			places = append(places, place)
		}
	}
	if len(places) == 0 {
		return nil, terminal.Usagef("the project has no components of kind %q; the kinds are %s", kind, strings.Join(Kinds(), ", "))
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

// lookUp finds a component in places by its client name or Go name, and its package. An empty kind means any.
func (e *Engine) lookUp(ctx context.Context, places []derive.Place, kind derive.Kind, name string) (c derive.Component, home *derive.Package, err error) {
	packages, err := e.deriver.Packages(ctx, e.before, places)
	if err != nil {
		return c, nil, err
	}
	var found []derive.Component
	var names []string
	for _, pkg := range packages {
		if len(pkg.Problems) > 0 && kind != "" {
			if pkg.Kind != derive.Feature || mayBelongTo(pkg, name) {
				return c, nil, e.underivable(newPlan(""), pkg)
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
		return c, nil, terminal.Usagef("%s %q does not exist; the project has %s", cmp.Or(string(kind), "component"), name, joinOrNone(names))
	case len(found) == 1:
		return found[0], home, nil
	case found[0].Kind == found[1].Kind:
		return c, nil, terminal.Usagef("%q is ambiguous: %s or %s", name, found[0].Name, found[1].Name)
	}
	return c, nil, terminal.Usagef("%q is the name of a %s and of a %s; pass the kind", name, found[0].Kind, found[1].Kind)
}

// mayBelongTo reports whether a component may be part of the feature in a package, according to its name.
func mayBelongTo(pkg *derive.Package, name string) bool {
	feature, _, _ := strings.Cut(strings.ReplaceAll(strings.ReplaceAll(name, "-", "_"), "/", "_"), "_")
	return feature == path.Base(pkg.Dir)
}

// findFunction returns the function or method that a reference names in a package.
func findFunction(ref reference, pkg *types.Package) (types.Object, error) {
	name := ref.call[0]
	object := pkg.Scope().Lookup(name)
	switch {
	case object == nil:
		return nil, absentError(ref, pkg)
	case !object.Exported():
		return nil, fmt.Errorf("%q: %s is not exported, so the tools cannot call it; export it", ref, name)
	}
	if _, is := object.(*types.TypeName); is {
		return nil, fmt.Errorf("%q: %s is a type, and methods are called on variables; name a variable of the package, ./folder.Variable.Method, or write a function that creates a %[2]s and calls the method", ref, name)
	}
	if len(ref.call) == 1 {
		if isFunction(object) {
			return object, nil
		}
		if methods := methodsOf(ref, object); len(methods) > 0 {
			return nil, fmt.Errorf("%q: %s is not a function; name one of its methods: %s", ref, name, joinFew(methods))
		}
		return nil, fmt.Errorf("%q: %s is not a function and has no methods; %s", ref, name, suggestFunctions(ref, pkg))
	}
	_, addressable := object.(*types.Var)
	method, _, _ := types.LookupFieldOrMethod(object.Type(), addressable, pkg, ref.call[1])
	if method != nil && method.Exported() && isFunction(method) {
		return method, nil
	}
	if methods := methodsOf(ref, object); len(methods) > 0 {
		return nil, fmt.Errorf("%q: %s has no exported method %s; it has %s", ref, name, ref.call[1], joinFew(methods))
	}
	return nil, fmt.Errorf("%q: %s has no exported methods; %s", ref, name, suggestFunctions(ref, pkg))
}

func isFunction(object types.Object) bool {
	_, is := object.Type().Underlying().(*types.Signature)
	return is
}

// absentError reports that a package does not declare the name of a reference, and suggests others.
func absentError(ref reference, pkg *types.Package) error {
	for _, name := range pkg.Scope().Names() {
		if strings.EqualFold(name, ref.call[0]) && pkg.Scope().Lookup(name).Exported() {
			meant := reference{ref.dir, append([]string{name}, ref.call[1:]...)}
			return fmt.Errorf("%q: %s does not exist; did you mean %s?", ref, ref.call[0], meant)
		}
	}
	return fmt.Errorf("%q: %s does not exist; %s", ref, ref.call[0], suggestFunctions(ref, pkg))
}

// suggestFunctions lists the functions and methods of a package that a reference can name.
func suggestFunctions(ref reference, pkg *types.Package) string {
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
		return "the package has no exported functions"
	}
	return "the package has " + joinFew(found)
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

// findToDestroy finds the component to destroy, by its client name or Go name, and its place. It refuses a
// component whose file contains others. A feature is removed with all of its components.
func (e *Engine) findToDestroy(ctx context.Context, kind derive.Kind, name string) (derive.Place, derive.Component, error) {
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
	return pkg.Place, c, checkAlone(pkg, c)
}

func checkAlone(pkg *derive.Package, component derive.Component) error {
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
		Reason: fmt.Sprintf("%s also contains %s", component.File, strings.Join(others, ", ")),
		WayOut: fmt.Sprintf("Remove %s from it by hand, then run petrock sync (over MCP: build).", component.Func),
	}
}

// filesOf returns the files of a component: its file and its test file, or all files of a feature except
// derived ones.
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
