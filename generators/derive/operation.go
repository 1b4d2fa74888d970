package derive

import (
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"github.com/petrock/petrock/generators/gen"
)

// orIgnore is the way out of what is no part of a feature.
const orIgnore = "or put //petrock:ignore into the doc comment of the type or of the method"

// command checks the methods of a command, and derives its schemas.
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

// query checks the method of a query, and derives its schemas.
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

// fits checks a method of a command or query: its receiver, and what it takes and gives back.
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

// hasShape reports whether a method of a command or query, whose feature is in pkg, takes and gives back what it has to.
func (f *finder) hasShape(m *types.Func, pkg *types.Package) bool {
	type list = []func(types.Type) bool
	s, state := m.Signature(), isStateOf(pkg)
	switch m.Name() {
	case "Check":
		return takesAndGives(s, list{isContext, state}, list{isError})
	case "Apply":
		return takesAndGives(s, list{state, f.isApp("Entry")}, list{isAny})
	}
	return takesAndGives(s, list{isContext, state}, list{isAny, isError})
}

// wantedOf is a method as it has to be.
func wantedOf(name, method string) string {
	switch method {
	case "Check":
		return "func (c " + name + ") Check(ctx context.Context, s *State) error"
	case "Apply":
		return "func (c " + name + ") Apply(s *State, e app.Entry) T"
	case "Answer":
		return "func (q " + name + ") Answer(ctx context.Context, s *State) (T, error)"
	case "Every":
		return "func (w *" + name + ") Every(ctx context.Context) error"
	}
	return "func (w *" + name + ") " + method + "(ctx context.Context, c T, e app.Entry) error, T being a command"
}

// version takes in what version the data of a command is.
func (f *finder) version(c *Component, d directive) {
	n, err := strconv.Atoi(d.text)
	if err != nil || n < 1 {
		f.problem(d.pos, "%q is no version, which is a number: 1 if nothing is said, and one more whenever older entries mean something else", d.text)
		return
	}
	c.version = n
}

// state checks the state of the feature and how it begins.
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
		f.problem(begin.Pos(), "NewState is called before the first entry of the log is read, and has to be func NewState() *State")
	}
	f.lasting(named, object.Pos())
	at := f.fset.PositionFor(object.Pos(), false)
	c := Component{Kind: Feature, Name: name, Func: stateType, Feature: name, File: at.Filename, Line: at.Line}
	for _, doc := range f.typeDocs(object.Pos()) {
		if c.Description == "" {
			c.Description = gen.Capitalize(strings.TrimPrefix(flow(doc), stateType+" is "))
		}
	}
	f.found.Components = append(f.found.Components, c)
}

// isStruct reports whether a type is a struct.
func isStruct(t types.Type) bool {
	_, ok := t.Underlying().(*types.Struct)
	return ok
}

// mapping checks the function that says what old entries mean, if there is one.
func (f *finder) mapping() {
	object := f.pkg.Scope().Lookup(mapFunc)
	function, ok := object.(*types.Func)
	if object == nil || f.ignoresFunction(object.Pos()) {
		return
	}
	type list = []func(types.Type) bool
	if !ok || function.Signature().TypeParams() != nil || !takesAndGives(function.Signature(), list{f.isApp("Recorded")}, list{f.isApp("Recorded"), isError}) {
		f.problem(object.Pos(), "Map is asked what old entries mean, and has to be func Map(r app.Recorded) (app.Recorded, error); change it, or call it otherwise, or put //petrock:ignore into its doc comment")
		return
	}
	f.found.maps = true
}

// ignoresFunction reports whether the doc comment of a function says that it only has the name.
func (f *finder) ignoresFunction(pos token.Pos) bool {
	decl, ok := f.declaration(pos).(*ast.FuncDecl)
	return ok && ignored(decl.Doc)
}
