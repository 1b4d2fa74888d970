package derive

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// stateType and newState are what every feature has, and mapFunc what it may have.
const (
	stateType = "State"
	newState  = "NewState"
	mapFunc   = "Map"
)

func (p Place) featureName() string { return path.Base(p.Dir) }

// feature looks at what there is of the feature once: its name, the state, and the names that derived code has. What
// other files may add to a part that is known already is looked at here too.
func (f *finder) feature() {
	name := f.place.featureName()
	taken := token.IsKeyword(name) || slices.Contains([]string{"init", "internal", "main", "vendor"}, name) // nobody could import it
	if taken || !regexp.MustCompile(`^[a-z][a-z0-9]*$`).MatchString(name) {
		f.problem(f.anywhere(), "%s is no name for a feature, which is one word of small letters and digits, as the package, and none that means something to Go; rename the folder %s", name, f.place.Dir)
	} else if f.pkg.Name() != name {
		f.problem(f.anywhere(), "the package is called %s, and the feature %s, by its folder; call the package that too", f.pkg.Name(), name)
	}
	for _, taken := range []string{f.place.offer(), "register"} {
		if object := f.pkg.Scope().Lookup(taken); object != nil {
			f.problem(object.Pos(), "%s is the name of what is derived; call it otherwise", taken)
		}
	}
	f.duplicates()
	f.linkOlders()
	f.state(name)
	f.mapping()
	f.found.begins = map[string]begin{}
	for _, c := range f.found.Components {
		if c.Kind == Worker {
			f.found.begins[c.Func] = f.begin(c.Func)
		}
	}
}

// duplicates reports commands of the same event type, and queries of the same name. Tool names do
// not matter.
func (f *finder) duplicates() {
	known := map[string]Component{}
	for _, c := range f.found.Components {
		key := string(c.Kind) + " " + c.local()
		if other, taken := known[key]; taken && c.Kind != Worker { // those have their names for it
			f.refuse(typecheck.Diagnostic{File: c.File, Line: c.Line, Message: fmt.Sprintf("%s is the %s %s/%s, and so is %s in %s; rename one of them", c.Func, c.Kind, c.Feature, c.local(), other.Func, other.File)})
		}
		known[key] = c
	}
}

func (f *finder) anywhere() token.Pos {
	for _, file := range f.view.Files(f.place.Dir) {
		if !file.IsTest() && !file.IsDerived() {
			return file.Syntax.Name.Pos()
		}
	}
	return token.NoPos
}

// part looks at a type: is it a command, a query or a worker, and a good one?
func (f *finder) part(file *typecheck.File, spec *ast.TypeSpec) {
	name := spec.Name.Name
	object, _ := f.pkg.Scope().Lookup(name).(*types.TypeName)
	docs := f.typeDocs(spec.Name.Pos())
	if !spec.Name.IsExported() || name == stateType || object == nil || object.IsAlias() || ignored(docs...) {
		return
	}
	named, ok := object.Type().(*types.Named)
	if !ok {
		return
	}
	kind, ok := f.kindOf(named, spec)
	if !ok {
		f.older(file.Path, f.fset.PositionFor(spec.Name.Pos(), false).Line, named)
		return
	}
	_, isStruct := named.Underlying().(*types.Struct)
	switch {
	case object.Pos() != spec.Name.Pos():
		f.problem(spec.Name.Pos(), "%s is declared more than once", name)
		return
	case constrained(file):
		f.problem(spec.Name.Pos(), "%s is in a file that not every build takes, and a %s has to be in all of them; move it to another file, and let it call what differs, or put //petrock:ignore into its doc comment", name, kind)
		return
	case named.TypeParams() != nil:
		f.problem(spec.Name.Pos(), "%s is generic, and a %s is one type; write it without type parameters, or put //petrock:ignore into its doc comment", name, kind)
		return
	case !isStruct && !isInvalid(named):
		f.problem(spec.Name.Pos(), "%s is no struct, and a %s is one, whose fields are what it is told; change it, or put //petrock:ignore into its doc comment", name, kind)
		return
	}
	c := Component{Kind: kind, Func: name, Feature: f.place.featureName(), File: file.Path, Line: f.fset.PositionFor(spec.Name.Pos(), false).Line, version: 1}
	c.Name = c.Feature + "_" + gen.WireName(name)
	for _, doc := range docs {
		if c.Description == "" {
			c.Description = describe(doc, name)
		}
	}
	before := len(f.found.Problems)
	f.direct(&c, directives(docs...))
	switch kind {
	case Command:
		c.EventType = c.Feature + "/" + gen.WireName(name)
		f.command(&c, spec.Name, named)
	case Query:
		f.query(&c, spec.Name, named)
	case Worker:
		f.worker(&c, spec.Name, named)
	}
	if c.IsTool() && c.Description == "" {
		f.warn(spec.Name.Pos(), "%s has no doc comment; models choose by what it says", name)
	}
	if len(f.found.Problems) == before {
		f.found.Components = append(f.found.Components, c)
	}
}

// kindOf is what a type is by the methods that it declares. Those of what it embeds do not make it one.
func (f *finder) kindOf(named *types.Named, spec *ast.TypeSpec) (Kind, bool) {
	because := map[Kind]string{}
	for i := range named.NumMethods() {
		method := named.Method(i)
		if kind, ok := kindByMethod(method.Name()); ok && !f.ignores(method) {
			because[kind] = method.Name()
		}
	}
	var kinds []Kind
	for _, kind := range []Kind{Command, Query, Worker} {
		if because[kind] != "" {
			kinds = append(kinds, kind)
		}
	}
	switch len(kinds) {
	case 0:
		return "", false
	case 1:
		return kinds[0], true
	}
	f.problem(spec.Name.Pos(), "%s has %s, as a %s has, and %s, as a %s has, and can be but one of them; make two types of it, or put //petrock:ignore into the doc comment of the method that only has the name", spec.Name.Name, because[kinds[0]], kinds[0], because[kinds[1]], kinds[1])
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
	return Worker, isOn(name)
}

func isOn(name string) bool {
	rest, ok := strings.CutPrefix(name, "On")
	first, _ := utf8.DecodeRuneInString(rest)
	return ok && (rest == "" || !unicode.IsLower(first))
}

// ignores reports whether the doc comment of a function or method says that it only has the name.
func (f *finder) ignores(object types.Object) bool {
	decl, ok := f.declaration(object.Pos()).(*ast.FuncDecl)
	return ok && ignored(decl.Doc)
}

// method is one of a type, its own or of what it embeds; nil if it has none of that name.
func method(t types.Type, name string) *types.Func {
	object, _, _ := types.LookupFieldOrMethod(t, true, nil, name)
	found, _ := object.(*types.Func)
	return found
}

func onValue(t types.Type, name string) bool { return types.NewMethodSet(t).Lookup(nil, name) != nil }

// placeOf is where something is declared, if it is in the project's source, and else where it is used.
func (f *finder) placeOf(object types.Object, used token.Pos) token.Pos {
	if f.isOurs(object) {
		return object.Pos()
	}
	return used
}

// unknown reports whether a type of a signature is not known, and says so.
func (f *finder) unknown(pos token.Pos, what string, s *types.Signature) bool {
	for _, tuple := range []*types.Tuple{s.Params(), s.Results()} {
		for v := range tuple.Variables() {
			t := v.Type()
			if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
				t = pointer.Elem()
			}
			if isInvalid(t) {
				f.problem(pos, "what %s takes and returns is not all known: something that it refers to is missing or does not compile", what)
				return true
			}
		}
	}
	return false
}

func takesAndGives(s *types.Signature, takes, gives []func(types.Type) bool) bool {
	if s.Variadic() || s.Params().Len() != len(takes) || s.Results().Len() != len(gives) {
		return false
	}
	for i, is := range slices.Concat(takes, gives) {
		tuple, at := s.Params(), i
		if i >= len(takes) {
			tuple, at = s.Results(), i-len(takes)
		}
		if !is(tuple.At(at).Type()) {
			return false
		}
	}
	return true
}

// IsContext reports whether a type is context.Context.
func IsContext(t types.Type) bool {
	return isNamed(t, "Context") && types.Unalias(t).(*types.Named).Obj().Pkg().Path() == "context"
}

func isAny(types.Type) bool { return true }

func isStateOf(pkg *types.Package) func(types.Type) bool {
	return func(t types.Type) bool {
		pointer, ok := types.Unalias(t).(*types.Pointer)
		return ok && isNamed(pointer.Elem(), stateType) && types.Unalias(pointer.Elem()).(*types.Named).Obj().Pkg().Path() == pkg.Path()
	}
}

func (f *finder) isApp(name string) func(types.Type) bool {
	return func(t types.Type) bool {
		return isNamed(t, name) && types.Unalias(t).(*types.Named).Obj().Pkg().Path() == f.Core+"/app"
	}
}

// orIgnore is the way out of what is no part of a feature.
const orIgnore = "or put //petrock:ignore into the doc comment of the type or of the method"

func (f *finder) command(c *Component, name *ast.Ident, t *types.Named) {
	check, apply := method(t, "Check"), method(t, "Apply")
	switch {
	case check == nil:
		f.problem(f.placeOf(apply, name.Pos()), "%s has Apply and no Check, and a command has both; write %s, %s", name.Name, wantedOf(name.Name, "Check"), orIgnore)
		return
	case apply == nil:
		f.problem(f.placeOf(check, name.Pos()), "%s has Check and no Apply, and a command has both; write %s, %s", name.Name, wantedOf(name.Name, "Apply"), orIgnore)
		return
	}
	good := true
	for _, m := range []*types.Func{check, apply} {
		good = f.fits(c, name, t, m) && good
	}
	if !good || !f.input(c, name, t) {
		return
	}
	f.output(c, name, apply.Signature().Results().At(0).Type())
	c.stored = f.stored(t)
	c.hints = append([]hint{{field: "ReadOnlyHint"}}, append(c.hints, hint{field: "OpenWorldHint"})...)
	if err := f.checkName(c.Name); err != nil && !c.Internal {
		f.problem(name.Pos(), "%v", err)
	}
}

func (f *finder) query(c *Component, name *ast.Ident, t *types.Named) {
	answer := method(t, "Answer")
	if !f.fits(c, name, t, answer) || !f.input(c, name, t) {
		return
	}
	f.output(c, name, answer.Signature().Results().At(0).Type())
	c.hints = []hint{{field: "ReadOnlyHint", value: true}, {field: "OpenWorldHint"}}
	if err := f.checkName(c.Name); err != nil && !c.Internal {
		f.problem(name.Pos(), "%v", err)
	}
}

// fits checks a method of a command or query: its receiver, and what it takes and returns.
func (f *finder) fits(c *Component, name *ast.Ident, t *types.Named, m *types.Func) bool {
	pos := f.placeOf(m, name.Pos())
	switch {
	case f.unknown(pos, m.Name(), m.Signature()):
		return false
	case !f.hasShape(m, t.Obj().Pkg()):
		f.problem(pos, "the method %s of %s is not that of a %s: %s; change it, %s", m.Name(), name.Name, c.Kind, wantedOf(name.Name, m.Name()), orIgnore)
		return false
	case !onValue(t, m.Name()):
		f.problem(pos, "%s of %s has a pointer as its receiver, and a %s does not change itself: %s", m.Name(), name.Name, c.Kind, wantedOf(name.Name, m.Name()))
		return false
	}
	return true
}

func (f *finder) hasShape(m *types.Func, pkg *types.Package) bool {
	type list = []func(types.Type) bool
	s, state := m.Signature(), isStateOf(pkg)
	switch m.Name() {
	case "Check":
		return takesAndGives(s, list{IsContext, state}, list{IsError})
	case "Apply":
		return takesAndGives(s, list{state, f.isApp("Event")}, list{isAny})
	}
	return takesAndGives(s, list{IsContext, state}, list{isAny, IsError})
}

func wantedOf(name, method string) string {
	switch method {
	case "Check":
		return "func (c " + name + ") Check(ctx context.Context, s *State) error"
	case "Apply":
		return "func (c " + name + ") Apply(s *State, e app.Event) T"
	case "Answer":
		return "func (q " + name + ") Answer(ctx context.Context, s *State) (T, error)"
	case "Every":
		return "func (w *" + name + ") Every(ctx context.Context) error"
	}
	return "func (w *" + name + ") " + method + "(ctx context.Context, c T, e app.Event) error, T being a command"
}

func (f *finder) version(c *Component, d directive) {
	n, err := strconv.Atoi(d.text)
	if err != nil || n < 1 {
		f.problem(d.pos, "%q is no version, which is a number: 1 if nothing is said, and one more whenever older events mean something else", d.text)
		return
	}
	c.version = n
}

func (f *finder) state(name string) {
	object, _ := f.pkg.Scope().Lookup(stateType).(*types.TypeName)
	if object == nil {
		f.problem(f.anywhere(), "the feature %s has no state; write type State struct{ … } and func NewState() *State, or move the package out of the folder %s if it is no feature", name, Features)
		return
	}
	named, ok := object.Type().(*types.Named)
	if !ok || named.TypeParams() != nil || !isStruct(named) {
		if !isInvalid(object.Type()) {
			f.problem(object.Pos(), "State has to be a plain struct: type State struct{ … }")
		}
		return
	}
	begin, _ := f.pkg.Scope().Lookup(newState).(*types.Func)
	switch {
	case begin == nil:
		f.problem(object.Pos(), "nothing says how State begins; write func NewState() *State, which makes its maps")
	case begin.Signature().TypeParams() != nil || !takesAndGives(begin.Signature(), nil, []func(types.Type) bool{isStateOf(f.pkg)}):
		f.problem(begin.Pos(), "NewState is called before the first event of the log is read, and has to be func NewState() *State")
	}
	k := keeper{finder: f, root: stateType, seen: map[types.Type]bool{}}
	k.look(named, object.Pos()) // a snapshot of it is JSON
	at := f.fset.PositionFor(object.Pos(), false)
	c := Component{Kind: Feature, Name: name, Func: stateType, Feature: name, File: at.Filename, Line: at.Line}
	for _, doc := range f.typeDocs(object.Pos()) {
		if c.Description == "" {
			c.Description = gen.Capitalize(strings.TrimPrefix(flow(doc), stateType+" is "))
		}
	}
	f.found.Components = append(f.found.Components, c)
}

func isStruct(t types.Type) bool {
	_, ok := t.Underlying().(*types.Struct)
	return ok
}

// mapping checks the function that replaces or drops old events, if there is one.
func (f *finder) mapping() {
	object := f.pkg.Scope().Lookup(mapFunc)
	function, ok := object.(*types.Func)
	if object == nil || f.ignores(object) {
		return
	}
	type list = []func(types.Type) bool
	if !ok || function.Signature().TypeParams() != nil || !takesAndGives(function.Signature(), list{f.isApp("Payload")}, list{f.isApp("Payload"), IsError}) {
		f.problem(object.Pos(), "Map replaces or drops old events, and has to be func Map(p app.Payload) (app.Payload, error); change it, or call it otherwise, or put //petrock:ignore into its doc comment")
		return
	}
	f.found.maps = true
}
