package derive

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// visitType adds a type that is a command, query or worker, or reports its errors.
func (f *finder) visitType(file *typecheck.File, spec *ast.TypeSpec) {
	name := spec.Name.Name
	object, _ := f.pkg.Scope().Lookup(name).(*types.TypeName)
	doc := f.typeDoc(spec.Name.Pos())
	if !spec.Name.IsExported() || name == stateType || object == nil || object.IsAlias() || isIgnored(doc) {
		return
	}
	named, ok := object.Type().(*types.Named)
	if !ok {
		return
	}
	kind, ok := f.kindOf(named)
	if !ok {
		f.addOldVersion(file.Path, f.fset.PositionFor(spec.Name.Pos(), false).Line, named)
		return
	}
	switch {
	case object.Pos() != spec.Name.Pos():
		f.problem(spec.Name.Pos(), "%s is declared more than once", name)
		return
	case isConstrained(file):
		f.problem(spec.Name.Pos(), constrainedProblem, name, kind)
		return
	case named.TypeParams() != nil:
		f.problem(spec.Name.Pos(), "%s is generic, but a %s cannot be generic; remove the type parameters, or put //petrock:ignore into its doc comment", name, kind)
		return
	case !isStruct(named) && !isInvalid(named):
		f.problem(spec.Name.Pos(), "%s is not a struct, but a %s must be a struct; change it, or put //petrock:ignore into its doc comment", name, kind)
		return
	}
	c := Component{Kind: kind, Func: name, Feature: f.place.featureName(), File: file.Path, Line: f.fset.PositionFor(spec.Name.Pos(), false).Line, version: 1}
	c.Name = c.Feature + "_" + gen.WireName(name)
	c.Description = describe(doc, name)
	before := len(f.found.Problems)
	f.applyDirectives(&c, directives(doc))
	switch kind {
	case Command:
		c.EventType = c.Feature + "/" + cmp.Or(c.EventType, gen.WireName(name))
		f.checkCommand(&c, spec.Name, named)
	case Query:
		if answer := method(named, "Answer"); f.checkMethod(&c, spec.Name, named, answer) && f.setSchemas(&c, spec.Name, named, answer) {
			c.annotations = &mcp.ToolAnnotations{ReadOnlyHint: new(true), OpenWorldHint: new(false)}
		}
	case Worker:
		f.checkWorker(&c, spec.Name, named)
	}
	if c.IsTool() && c.Description == "" {
		f.warnUndescribed(spec.Name, kind)
	}
	if len(f.found.Problems) == before {
		f.found.Components = append(f.found.Components, c)
	}
}

// kindOf returns the kind of a type, from the methods that it declares, not promoted ones.
func (f *finder) kindOf(named *types.Named) (kind Kind, ok bool) {
	before := ""
	for m := range named.Methods() {
		next, ok := kindByMethod(m.Name())
		switch {
		case !ok || f.ignores(m):
			continue
		case kind != "" && kind != next:
			f.problem(named.Obj().Pos(), "%s has the method %s of a %s and %s of a %s; split it into two types, or put //petrock:ignore into the doc comment of one method", named.Obj().Name(), before, kind, m.Name(), next)
			return "", false
		}
		kind, before = next, m.Name()
	}
	return kind, kind != ""
}

func (f *finder) checkCommand(c *Component, name *ast.Ident, t *types.Named) {
	good := true
	for _, wanted := range []string{"Check", "Apply"} {
		if c.Retired && wanted == "Check" {
			continue // it is not called
		}
		m := method(t, wanted)
		if m == nil {
			f.problem(name.Pos(), "%s has no %s, and a command needs Check and Apply; write %s, %s", name.Name, wanted, wantedMethod(name.Name, wanted), orIgnore)
			return
		}
		good = f.checkMethod(c, name, t, m) && good
	}
	if good && f.setSchemas(c, name, f.writtenType(c, name, t), method(t, "Apply")) {
		c.stored = f.Stored(t)
		if c.Retired { // no client calls it
			c.Input, c.Output = nil, nil
			return
		}
		c.annotations = cmp.Or(c.annotations, &mcp.ToolAnnotations{})
		c.annotations.ReadOnlyHint, c.annotations.OpenWorldHint = new(false), new(false)
	}
}

// writtenType returns the type whose fields are the input and the events of a command: t, or that
// of the older version in //petrock:writes.
func (f *finder) writtenType(c *Component, name *ast.Ident, t *types.Named) *types.Named {
	if c.writes == 0 {
		return t
	}
	if older, ok := f.pkg.Scope().Lookup(c.writtenFunc()).(*types.TypeName); ok && c.writes < c.version {
		if named, ok := older.Type().(*types.Named); ok && isStruct(named) && method(named, upgradeMethod) != nil {
			return named
		}
	}
	f.problem(name.Pos(), "//petrock:writes %d: %s is not an older version of %s with a method %s; remove the directive, or run petrock change with --read-first, which writes both", c.writes, c.writtenFunc(), name.Name, upgradeMethod)
	return t
}

// writtenFunc returns the Go type of the version that a command writes.
func (c Component) writtenFunc() string {
	if c.writes == 0 {
		return c.Func
	}
	return fmt.Sprintf("%sV%d", c.Func, c.writes)
}

// setSchemas derives the input and output of a command or query from its type and a method. It
// returns false if the input has no valid schema, which it reports as a problem.
func (f *finder) setSchemas(c *Component, name *ast.Ident, t *types.Named, method *types.Func) bool {
	if !f.setInput(c, name, t) {
		return false
	}
	f.setOutput(c, name, method.Signature().Results().At(0).Type())
	if err := f.checkName(c.Name); err != nil && !c.isHidden() {
		f.problem(name.Pos(), "%v", err)
	}
	return true
}

// checkFeature checks the whole feature after all files are visited.
func (f *finder) checkFeature() {
	name := f.place.featureName()
	if err := CheckFeatureName(name); err != nil {
		f.problem(f.packagePos(), "%v; rename the folder %s", err, f.place.Dir)
	} else if f.pkg.Name() != name {
		f.problem(f.packagePos(), "package %s must be named %s, like its folder", f.pkg.Name(), name)
	}
	for _, taken := range []string{f.place.derivedFunc(), "register"} {
		if object := f.pkg.Scope().Lookup(taken); object != nil {
			f.problem(object.Pos(), "%s is the name of a derived function; rename yours", taken)
		}
	}
	f.checkDuplicates()
	f.linkOldVersions()
	f.checkState(name)
	f.checkMap()
	f.checkMappers()
	for i, c := range f.found.Components {
		if c.Kind == Worker {
			f.found.Components[i].constructor = f.workerConstructor(c.Func)
		}
	}
}

func (f *finder) packagePos() token.Pos {
	for _, file := range f.view.Files(f.place.Dir) {
		if !file.IsTest() && !file.IsDerived() {
			return file.Syntax.Name.Pos()
		}
	}
	return token.NoPos
}

// checkState checks State and NewState, and adds the feature to the components.
func (f *finder) checkState(name string) {
	object, _ := f.pkg.Scope().Lookup(stateType).(*types.TypeName)
	if object == nil {
		f.problem(f.packagePos(), "the feature %s has no state; write type State struct{ … } and func NewState() *State, or move the package out of the folder %s if it is not a feature", name, Features)
		return
	}
	named, ok := object.Type().(*types.Named)
	if !ok || named.TypeParams() != nil || !isStruct(named) {
		if !isInvalid(object.Type()) {
			f.problem(object.Pos(), "State must be a plain struct: type State struct{ … }")
		}
		return
	}
	initial, _ := f.pkg.Scope().Lookup(newState).(*types.Func)
	switch {
	case initial == nil:
		f.problem(object.Pos(), "State has no constructor; write func NewState() *State, and initialize the maps in it")
	case !f.hasSignature(initial, f.pkg, signature{"", "*State"}):
		f.problem(initial.Pos(), "NewState must be func NewState() *State; replay calls it before the first event")
	}
	k := jsonChecker{finder: f, root: stateType, seen: map[types.Type]bool{}}
	k.check(named, object.Pos()) // snapshots are JSON
	at := f.fset.PositionFor(object.Pos(), false)
	c := Component{Kind: Feature, Name: name, Func: stateType, Feature: name, File: at.Filename, Line: at.Line}
	c.Description = gen.Capitalize(strings.TrimPrefix(commentText(f.typeDoc(object.Pos())), stateType+" is "))
	f.found.Components = append(f.found.Components, c)
}

// checkMap checks func Map, which replaces or drops old events, if it exists.
func (f *finder) checkMap() {
	object := f.pkg.Scope().Lookup(mapFunc)
	function, ok := object.(*types.Func)
	if object == nil || f.ignores(object) {
		return
	}
	if !ok || !f.hasSignature(function, f.pkg, signature{"eventlog.Record", "eventlog.Payload error"}) {
		f.problem(object.Pos(), "Map replaces or drops old events, so it must be func Map(old eventlog.Record) (eventlog.Payload, error); change it, rename it, or put //petrock:ignore into its doc comment")
		return
	}
	f.found.hasMap = true
}

// UsedFeatures returns the names of the features whose packages the package in a folder imports,
// directly or through packages that are not features.
func (p Project) UsedFeatures(view *typecheck.View, dir string) (names []string) {
	isFeature := func(dir string) bool {
		return path.Dir(dir) == Features && slices.ContainsFunc(view.Files(dir), func(f *typecheck.File) bool { return slices.Contains(f.Names(), stateType) })
	}
	for _, imported := range p.Checker.Imports(view, dir, func(dir string) bool { return isFeature(dir) || p.isCore(dir) }) {
		if isFeature(imported) && imported != dir {
			names = append(names, path.Base(imported))
		}
	}
	return names
}

func (p Project) isCore(dir string) bool {
	return strings.HasPrefix(p.Checker.ImportPath(dir)+"/", p.Core+"/")
}
