package derive

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// Declarations of a feature; Map is optional.
const (
	stateType = "State"
	newState  = "NewState"
	mapFunc   = "Map"
)

func (p Place) featureName() string { return path.Base(p.Dir) }

// checkFeature checks the whole feature after all files are visited.
func (f *finder) checkFeature() {
	name := f.place.featureName()
	taken := token.IsKeyword(name) || slices.Contains([]string{"init", "internal", "main", "vendor"}, name) // cannot be imported
	if taken || !regexp.MustCompile(`^[a-z][a-z0-9]*$`).MatchString(name) {
		f.problem(f.packagePos(), "invalid feature name %s: use lower-case letters and digits, and no name that Go reserves; rename the folder %s", name, f.place.Dir)
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
	for i, c := range f.found.Components {
		if c.Kind == Worker {
			f.found.Components[i].constructor = f.findWorkerConstructor(c.Func)
		}
	}
}

// checkDuplicates refuses commands with the same event type and queries with the same name.
// checkClashes compares tool names.
func (f *finder) checkDuplicates() {
	known := map[string]Component{}
	for _, c := range f.found.Components {
		key := string(c.Kind) + " " + c.localName()
		if other, taken := known[key]; taken && c.Kind != Worker { // checkClashes compares workers
			f.problemAt(c.File, c.Line, "%s and %s in %s are both the %s %s/%s; rename one of them", c.Func, other.Func, other.File, c.Kind, c.Feature, c.localName())
		}
		known[key] = c
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

// visitType adds a type that is a command, query or worker, or reports its errors.
func (f *finder) visitType(file *typecheck.File, spec *ast.TypeSpec) {
	name := spec.Name.Name
	object, _ := f.pkg.Scope().Lookup(name).(*types.TypeName)
	docs := f.typeDocs(spec.Name.Pos())
	if !spec.Name.IsExported() || name == stateType || object == nil || object.IsAlias() || isIgnored(docs...) {
		return
	}
	named, ok := object.Type().(*types.Named)
	if !ok {
		return
	}
	kind, ok := f.kindOf(named, spec)
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
	for _, doc := range docs {
		c.Description = cmp.Or(c.Description, describe(doc, name))
	}
	before := len(f.found.Problems)
	f.applyDirectives(&c, directives(docs...))
	switch kind {
	case Command:
		c.EventType = c.Feature + "/" + cmp.Or(c.EventType, gen.WireName(name))
		f.checkCommand(&c, spec.Name, named)
	case Query:
		if answer := method(named, "Answer"); f.checkMethod(&c, spec.Name, named, answer) && f.setSchemas(&c, spec.Name, named, answer) {
			c.hints = []hint{{field: "ReadOnlyHint", value: true}, {field: "OpenWorldHint"}}
		}
	case Worker:
		f.checkWorker(&c, spec.Name, named)
	}
	if c.IsTool() && c.Description == "" {
		f.warn(spec.Name.Pos(), undocumented, name, kind)
	}
	if len(f.found.Problems) == before {
		f.found.Components = append(f.found.Components, c)
	}
}

// kindOf returns the kind of a type, from the methods that it declares, not promoted ones.
func (f *finder) kindOf(named *types.Named, spec *ast.TypeSpec) (Kind, bool) {
	methods := map[Kind]string{}
	for i := range named.NumMethods() {
		method := named.Method(i)
		if kind, ok := kindByMethod(method.Name()); ok && !f.ignores(method) {
			methods[kind] = method.Name()
		}
	}
	var kinds []Kind
	for _, kind := range []Kind{Command, Query, Worker} {
		if methods[kind] != "" {
			kinds = append(kinds, kind)
		}
	}
	switch len(kinds) {
	case 0:
		return "", false
	case 1:
		return kinds[0], true
	}
	f.problem(spec.Name.Pos(), "%s has the method %s of a %s and %s of a %s; split it into two types, or put //petrock:ignore into the doc comment of one method", spec.Name.Name, methods[kinds[0]], kinds[0], methods[kinds[1]], kinds[1])
	return "", false
}

func kindByMethod(name string) (Kind, bool) {
	switch name {
	case "Check", "Apply":
		return Command, true
	case "Answer":
		return Query, true
	case "Every":
		return Worker, true
	}
	return Worker, regexp.MustCompile(`^On(\P{Ll}|$)`).MatchString(name) // OnCreate, but not Once
}

// ignores reports whether the comment of a function, method or constant has //petrock:ignore.
func (f *finder) ignores(object types.Object) bool {
	switch decl := f.declaration(object.Pos()).(type) {
	case *ast.FuncDecl:
		return isIgnored(decl.Doc)
	case *ast.ValueSpec:
		return isIgnored(decl.Doc, decl.Comment)
	}
	return false
}

// method returns a method of a type, which may be promoted, or nil.
func method(t types.Type, name string) *types.Func {
	object, _, _ := types.LookupFieldOrMethod(t, true, nil, name)
	found, _ := object.(*types.Func)
	return found
}

func hasValueReceiver(t types.Type, name string) bool {
	return types.NewMethodSet(t).Lookup(nil, name) != nil
}

// posOf returns the position of a declaration if it is in the project, else fallback.
func (f *finder) posOf(object types.Object, fallback token.Pos) token.Pos {
	if f.isInProject(object) {
		return object.Pos()
	}
	return fallback
}

// reportUnknown reports whether a signature has an invalid type, and adds a problem if so.
func (f *finder) reportUnknown(pos token.Pos, method string, s *types.Signature) bool {
	for _, tuple := range []*types.Tuple{s.Params(), s.Results()} {
		for v := range tuple.Variables() {
			t := v.Type()
			if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
				t = pointer.Elem()
			}
			if isInvalid(t) {
				f.problem(pos, "the signature of %s uses a type that is missing or does not compile", method)
				return true
			}
		}
	}
	return false
}

// hasTypes reports whether the parameters and results of a signature match the predicates.
func hasTypes(s *types.Signature, params, results []func(types.Type) bool) bool {
	if s.Variadic() || s.Params().Len() != len(params) || s.Results().Len() != len(results) {
		return false
	}
	for i, matches := range params {
		if !matches(s.Params().At(i).Type()) {
			return false
		}
	}
	for i, matches := range results {
		if !matches(s.Results().At(i).Type()) {
			return false
		}
	}
	return true
}

// IsContext reports whether a type is context.Context.
func IsContext(t types.Type) bool { return typecheck.IsType(t, "context", "Context") }

func isAny(types.Type) bool { return true }

func isStateOf(pkg *types.Package) func(types.Type) bool {
	return func(t types.Type) bool {
		pointer, ok := types.Unalias(t).(*types.Pointer)
		return ok && typecheck.IsType(pointer.Elem(), pkg.Path(), stateType)
	}
}

func (f *finder) isApp(name string) func(types.Type) bool {
	return func(t types.Type) bool { return typecheck.IsType(t, f.Core+"/app", name) }
}

const orIgnore = "or put //petrock:ignore into the doc comment of the type or of the method"

func (f *finder) checkCommand(c *Component, name *ast.Ident, t *types.Named) {
	check, apply := method(t, "Check"), method(t, "Apply")
	switch {
	case check == nil:
		f.problem(f.posOf(apply, name.Pos()), "%s has Apply but no Check, and a command needs both; write %s, %s", name.Name, wantedMethod(name.Name, "Check"), orIgnore)
		return
	case apply == nil:
		f.problem(f.posOf(check, name.Pos()), "%s has Check but no Apply, and a command needs both; write %s, %s", name.Name, wantedMethod(name.Name, "Apply"), orIgnore)
		return
	}
	good := true
	for _, m := range []*types.Func{check, apply} {
		good = f.checkMethod(c, name, t, m) && good
	}
	if good && f.setSchemas(c, name, t, apply) {
		c.stored = f.storedShape(t)
		c.hints = append([]hint{{field: "ReadOnlyHint"}}, append(c.hints, hint{field: "OpenWorldHint"})...)
	}
}

// setSchemas derives the input and output of a command or query from its type and a method. It reports
// false if there is no input.
func (f *finder) setSchemas(c *Component, name *ast.Ident, t *types.Named, method *types.Func) bool {
	if !f.setInput(c, name, t) {
		return false
	}
	f.setOutput(c, name, method.Signature().Results().At(0).Type())
	if err := f.checkName(c.Name); err != nil && !c.Internal {
		f.problem(name.Pos(), "%v", err)
	}
	return true
}

// checkMethod checks the receiver and signature of a method of a command or query.
func (f *finder) checkMethod(c *Component, name *ast.Ident, t *types.Named, m *types.Func) bool {
	pos := f.posOf(m, name.Pos())
	switch {
	case f.reportUnknown(pos, m.Name(), m.Signature()):
		return false
	case !f.hasSignature(m, t.Obj().Pkg()):
		f.problem(pos, wrongSignature, m.Name(), name.Name, c.Kind, wantedMethod(name.Name, m.Name()), orIgnore)
		return false
	case !hasValueReceiver(t, m.Name()):
		f.problem(pos, "%s of %s has a pointer receiver, but a %s needs a value receiver: %s", m.Name(), name.Name, c.Kind, wantedMethod(name.Name, m.Name()))
		return false
	}
	return true
}

const wrongSignature = "the method %s of %s does not have the signature of a %s: %s; change it, %s"

// hasSignature reports whether Check, Apply or Answer has the right parameters and results.
func (f *finder) hasSignature(m *types.Func, pkg *types.Package) bool {
	type list = []func(types.Type) bool
	s, state := m.Signature(), isStateOf(pkg)
	switch m.Name() {
	case "Check":
		return hasTypes(s, list{IsContext, state}, list{IsError})
	case "Apply":
		return hasTypes(s, list{state, f.isApp("Event")}, list{isAny})
	}
	return hasTypes(s, list{IsContext, state}, list{isAny, IsError})
}

func wantedMethod(name, method string) string {
	known := map[string]string{
		"Check":  "func (c " + name + ") Check(ctx context.Context, s *State) error",
		"Apply":  "func (c " + name + ") Apply(s *State, e app.Event) T",
		"Answer": "func (q " + name + ") Answer(ctx context.Context, s *State) (T, error)",
		"Every":  "func (w *" + name + ") Every(ctx context.Context) error",
	}[method]
	return cmp.Or(known, "func (w *"+name+") "+method+"(ctx context.Context, c T, e app.Event) error with a command T")
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
	case initial.Signature().TypeParams() != nil || !hasTypes(initial.Signature(), nil, []func(types.Type) bool{isStateOf(f.pkg)}):
		f.problem(initial.Pos(), "NewState must be func NewState() *State; replay calls it before the first event")
	}
	k := jsonChecker{finder: f, root: stateType, seen: map[types.Type]bool{}}
	k.check(named, object.Pos()) // snapshots are JSON
	at := f.fset.PositionFor(object.Pos(), false)
	c := Component{Kind: Feature, Name: name, Func: stateType, Feature: name, File: at.Filename, Line: at.Line}
	for _, doc := range f.typeDocs(object.Pos()) {
		c.Description = cmp.Or(c.Description, gen.Capitalize(strings.TrimPrefix(commentText(doc), stateType+" is ")))
	}
	f.found.Components = append(f.found.Components, c)
}

func isStruct(t types.Type) bool {
	_, ok := t.Underlying().(*types.Struct)
	return ok
}

// checkMap checks func Map, which replaces or drops old events, if it exists.
func (f *finder) checkMap() {
	object := f.pkg.Scope().Lookup(mapFunc)
	function, ok := object.(*types.Func)
	if object == nil || f.ignores(object) {
		return
	}
	type list = []func(types.Type) bool
	if !ok || function.Signature().TypeParams() != nil || !hasTypes(function.Signature(), list{f.isApp("Payload")}, list{f.isApp("Payload"), IsError}) {
		f.problem(object.Pos(), "Map replaces or drops old events, so it must be func Map(p app.Payload) (app.Payload, error); change it, rename it, or put //petrock:ignore into its doc comment")
		return
	}
	f.found.hasMap = true
}
