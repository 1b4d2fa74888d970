package derive

import (
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/generators/gen"
)

// A duty is what a worker does: a method that is called with each command of a type, or again and again.
type duty struct {
	method string
	every  time.Duration // how often; 0 for a method that follows commands
}

// A begin is how a worker is made.
type begin int

// The ways.
const (
	asZero      begin = iota // it is a zero value
	byFunction               // func NewX() (*X, error)
	withContext              // func NewX(ctx context.Context) (*X, error)
)

func (f *finder) worker(c *Component, name *ast.Ident, t *types.Named) {
	c.Name = c.Feature + "/" + gen.WireName(name.Name)
	for _, d := range directives(f.typeDocs(name.Pos())...) {
		if d.name == "name" {
			c.Name = c.Feature + "/" + d.text
			if !regexp.MustCompile(`^[a-z][a-z0-9_-]*$`).MatchString(d.text) {
				f.problem(d.pos, "%q is no name for a worker; use small letters, digits and _", d.text)
			}
		}
	}
	for selection := range types.NewMethodSet(types.NewPointer(t)).Methods() {
		m := selection.Obj().(*types.Func)
		if kind, ok := kindByMethod(m.Name()); !ok || kind != Worker || f.ignores(m) {
			continue
		}
		pos := f.placeOf(m, name.Pos())
		switch {
		case f.unknown(pos, m.Name(), m.Signature()):
		case onValue(t, m.Name()):
			f.problem(pos, "%s of %s has a value as its receiver, and what it keeps would be lost; make it %s", m.Name(), name.Name, wantedOf(name.Name, m.Name()))
		case m.Name() == "Every":
			f.every(c, name, m)
		default:
			f.follows(c, name, m)
		}
	}
	slices.SortFunc(c.duties, func(a, b duty) int { // what it does by the clock is last
		if a.every != b.every {
			return int(min(max(a.every-b.every, -1), 1))
		}
		return strings.Compare(a.method, b.method)
	})
	f.lastingFields(t, name.Pos())
}

func (f *finder) follows(c *Component, name *ast.Ident, m *types.Func) {
	pos := f.placeOf(m, name.Pos())
	if !takesAndGives(m.Signature(), []func(types.Type) bool{IsContext, isAny, f.isApp("Event")}, []func(types.Type) bool{IsError}) {
		f.problem(pos, "the method %s of %s is not that of a worker: %s; change it, %s", m.Name(), name.Name, wantedOf(name.Name, m.Name()), orIgnore)
		return
	}
	if t := m.Signature().Params().At(1).Type(); !f.isCommand(t) {
		f.problem(pos, "%s of %s follows %s, which is no command; take a type of a feature that has Check and Apply", m.Name(), name.Name, f.name(t))
		return
	}
	c.duties = append(c.duties, duty{method: m.Name()})
}

func (f *finder) isCommand(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.TypeParams() != nil || named.Obj().Pkg() == nil || !named.Obj().Exported() || !isStruct(named) {
		return false
	}
	if path.Dir(named.Obj().Pkg().Path()) != f.Checker.ImportPath(Features) || ignored(f.typeDocs(named.Obj().Pos())...) {
		return false
	}
	check, apply := method(named, "Check"), method(named, "Apply")
	return check != nil && apply != nil && f.hasShape(check, named.Obj().Pkg()) && f.hasShape(apply, named.Obj().Pkg())
}

// every checks the method that is called again and again, and how often that is.
func (f *finder) every(c *Component, name *ast.Ident, m *types.Func) {
	pos := f.placeOf(m, name.Pos())
	if !takesAndGives(m.Signature(), []func(types.Type) bool{IsContext}, []func(types.Type) bool{IsError}) {
		f.problem(pos, "the method Every of %s is not that of a worker: %s; change it, %s", name.Name, wantedOf(name.Name, "Every"), orIgnore)
		return
	}
	var said []directive
	if decl, ok := f.declaration(m.Pos()).(*ast.FuncDecl); ok {
		for _, d := range directives(decl.Doc) {
			if d.name == "every" {
				said = append(said, d)
			} else {
				f.problem(d.pos, "//petrock:%s means nothing on Every; it may have every, ignore", d.name)
			}
		}
	}
	switch len(said) {
	case 0:
		f.problem(pos, "nothing says how often Every of %s is called; put it into its doc comment: //petrock:every 5m", name.Name)
		return
	case 1:
	default:
		f.problem(said[1].pos, "//petrock:every stands there twice; leave one")
		return
	}
	interval, err := time.ParseDuration(said[0].text)
	if err != nil || interval < time.Millisecond {
		f.problem(said[0].pos, "%q is no time between two calls; write one such as 30s, 5m or 24h", said[0].text)
		return
	}
	c.duties = append(c.duties, duty{"Every", interval})
}

func (f *finder) begin(name string) begin {
	object := f.pkg.Scope().Lookup("New" + name)
	if object == nil || f.ignores(object) {
		return asZero
	}
	isWorker := func(t types.Type) bool { return f.name(t) == "*"+name }
	function, ok := object.(*types.Func)
	if ok && function.Signature().TypeParams() == nil {
		type list = []func(types.Type) bool
		switch s := function.Signature(); {
		case takesAndGives(s, nil, list{isWorker, IsError}):
			return byFunction
		case takesAndGives(s, list{IsContext}, list{isWorker, IsError}):
			return withContext
		}
	}
	f.problem(f.placeOf(object, token.NoPos), "New%s makes the worker %[1]s when the work begins, and has to be func New%[1]s() (*%[1]s, error), which may take a context; change it, or call it otherwise, or put //petrock:ignore into its doc comment", name)
	return asZero
}

// lastingFields checks that the exported fields of a worker come back from JSON. Others are its tools.
func (f *finder) lastingFields(t *types.Named, at token.Pos) {
	fields, ok := t.Underlying().(*types.Struct)
	if !ok {
		return
	}
	k := keeper{finder: f, root: t.Obj().Name(), seen: map[types.Type]bool{t: true}}
	for i := range fields.NumFields() {
		if field := fields.Field(i); field.Exported() && !isLeftOut(fields.Tag(i)) {
			k.look(field.Type(), f.placeOf(field, at))
		}
	}
}

// A keeper looks for what JSON would lose.
type keeper struct {
	finder *finder
	root   string // the type that is kept
	seen   map[types.Type]bool
}

func (k *keeper) lost(at token.Pos, format string, args ...any) {
	k.finder.problem(at, "%s is kept as JSON: "+format, append([]any{k.root}, args...)...)
}

// look looks at a type. The place is that of the field that has it.
func (k *keeper) look(t types.Type, at token.Pos) {
	t = types.Unalias(t)
	if k.seen[t] {
		return
	}
	k.seen[t] = true
	if named, ok := t.(*types.Named); ok {
		if _, ok := schema.StandardSchema(types.TypeString(named, nil)); ok || writesItself(named) {
			return
		}
	}
	name := k.finder.name(t)
	switch t := t.Underlying().(type) {
	case *types.Pointer:
		k.look(t.Elem(), at)
	case *types.Slice:
		k.look(t.Elem(), at)
	case *types.Array:
		k.look(t.Elem(), at)
	case *types.Map:
		basic, _ := t.Key().Underlying().(*types.Basic)
		if (basic == nil || basic.Info()&(types.IsString|types.IsInteger) == 0) && !writesItself(t.Key()) && !isInvalid(t.Key()) {
			k.lost(at, "a map with keys of type %s cannot be written; use string keys", k.finder.name(t.Key()))
		}
		k.look(t.Elem(), at)
	case *types.Struct:
		k.fields(t, name, at)
	case *types.Basic:
		if t.Info()&types.IsComplex != 0 || t.Kind() == types.Uintptr || t.Kind() == types.UnsafePointer {
			k.lost(at, "%s cannot be written; use another type", name)
		}
	case *types.Interface:
		if !t.Empty() { // what is in any has come from JSON itself
			k.lost(at, "it is not said which type was in %s; use a struct", name)
		}
	case *types.Signature, *types.Chan:
		k.lost(at, "%s cannot be written; use another type", name)
	}
}

func (k *keeper) fields(t *types.Struct, name string, at token.Pos) {
	for i := range t.NumFields() {
		field, tag := t.Field(i), t.Tag(i)
		place := k.finder.placeOf(field, at)
		_, isStruct := types.Unalias(field.Type()).Underlying().(*types.Struct)
		switch {
		case field.Name() == "_":
		case !k.finder.isOurs(field) && (!field.Exported() || isLeftOut(tag)):
			k.lost(at, "%s would not come back, as it has fields that are not written; use another type", name)
			return
		case isLeftOut(tag):
			k.lost(place, "the field %s would be lost, as its tag says; take the tag away, or give %s methods MarshalJSON and UnmarshalJSON", field.Name(), name)
		case !field.Exported() && !(field.Embedded() && isStruct):
			k.lost(place, "the field %s would be lost, as it is not exported; begin its name with a capital", field.Name())
		default:
			_, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
			if _, isMap := types.Unalias(field.Type()).Underlying().(*types.Map); isMap && (strings.Contains(options, "omitempty")) {
				k.lost(place, "the map %s would come back as nil if it is empty, and nothing can be put into that; take omitempty away", field.Name())
			}
			k.look(field.Type(), place)
		}
	}
}

func isLeftOut(tag string) bool { return reflect.StructTag(tag).Get("json") == "-" }

func writesItself(t types.Type) bool {
	return method(t, "MarshalJSON") != nil && method(t, "UnmarshalJSON") != nil || method(t, "MarshalText") != nil && method(t, "UnmarshalText") != nil
}
