package derive

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/petrock/petrock/core/plumbing/inference"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/gen"
)

var workerName = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

func (f *finder) checkWorker(c *Component, name *ast.Ident, t *types.Named) {
	c.Name = c.Feature + "/" + gen.WireName(name.Name)
	if d, ok := findDirective("name", f.typeDoc(name.Pos())); ok {
		c.Name = c.Feature + "/" + d.text
		if !workerName.MatchString(d.text) {
			f.problem(d.pos, "invalid worker name %q; use lower-case letters, digits, - and _", d.text)
		}
	}
	for selection := range types.NewMethodSet(types.NewPointer(t)).Methods() {
		m := selection.Obj().(*types.Func)
		if kind, ok := kindByMethod(m.Name()); !ok || kind != Worker || f.ignores(m) {
			continue
		}
		pos := f.posOf(m, name.Pos())
		switch {
		case hasValueReceiver(t, m.Name()):
			f.problem(pos, "%s of %s has a value receiver, so changes to the fields would be lost; make it %s", m.Name(), name.Name, wantedMethod(name.Name, m.Name()))
		case m.Signature().Params().Len() == 3 && isInvalid(m.Signature().Params().At(1).Type()):
			f.missingCommand(m, name.Name)
		case !f.hasSignature(m, f.pkg, methodSignature(m.Name())):
			f.problem(pos, wrongSignature, m.Name(), name.Name, c.Kind, wantedMethod(name.Name, m.Name()), orIgnore)
		case m.Name() == "Every":
			f.checkEvery(c, name, m)
		case !f.isCommand(m.Signature().Params().At(1).Type()):
			f.problem(pos, "%s of %s follows %s, which is not a command; use a type of a feature with Check and Apply", m.Name(), name.Name, f.name(m.Signature().Params().At(1).Type()))
		default:
			c.triggers = append(c.triggers, trigger{method: m.Name()})
		}
	}
	slices.SortFunc(c.triggers, func(a, b trigger) int { // Every is last
		return cmp.Or(cmp.Compare(a.every, b.every), strings.Compare(a.method, b.method))
	})
	k := jsonChecker{finder: f, root: name.Name, isWorker: true, seen: map[types.Type]bool{}}
	k.check(t, name.Pos())
}

// missingCommand reports that a method of a worker follows a type that does not exist.
func (f *finder) missingCommand(m *types.Func, worker string) {
	var params []ast.Expr
	for _, field := range declaration[*ast.FuncDecl](f, m.Pos()).Type.Params.List {
		params = append(params, slices.Repeat([]ast.Expr{field.Type}, max(1, len(field.Names)))...)
	}
	text := types.ExprString(params[1])
	feature, _, isOther := strings.Cut(text, ".")
	var commands []string
	for _, pkg := range append(f.pkg.Imports(), f.pkg) {
		for _, name := range pkg.Scope().Names() {
			isOwn := pkg == f.pkg
			if isOwn == isOther || isOther && pkg.Name() != feature || !f.isCommand(pkg.Scope().Lookup(name).Type()) {
				continue
			}
			if !isOwn {
				name = feature + "." + name
			}
			commands = append(commands, name)
		}
	}
	f.problem(params[1].Pos(), "%s of %s follows the command %s, which does not exist; the commands are %s%s",
		m.Name(), worker, text, cmp.Or(strings.Join(commands, ", "), "none"), terminal.Suggest(text, commands))
}

func (f *finder) isCommand(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.TypeParams() != nil || named.Obj().Pkg() == nil || !named.Obj().Exported() || !isStruct(named) {
		return false
	}
	if path.Dir(named.Obj().Pkg().Path()) != f.Checker.ImportPath(Features) || isIgnored(f.typeDoc(named.Obj().Pos())) {
		return false
	}
	_, isRetired := findDirective("retired", f.typeDoc(named.Obj().Pos()))
	has := func(name string) bool {
		m := method(named, name)
		return m != nil && f.hasSignature(m, named.Obj().Pkg(), methodSignature(name))
	}
	return has("Apply") && (isRetired || has("Check"))
}

func (f *finder) checkEvery(c *Component, name *ast.Ident, m *types.Func) {
	var doc *ast.CommentGroup
	if decl := declaration[*ast.FuncDecl](f, m.Pos()); decl != nil {
		doc = decl.Doc
	}
	every, _ := findDirective("every", doc)
	for _, d := range directives(doc) {
		if d != every {
			f.problem(d.pos, "//petrock:%s is not allowed here; use only one //petrock:every, or //petrock:ignore", d.name)
		}
	}
	interval, err := time.ParseDuration(every.text)
	if err != nil || interval < time.Millisecond {
		f.problem(f.posOf(m, name.Pos()), "Every of %s needs an interval, not %q; put one such as //petrock:every 5m into its doc comment", name.Name, every.text)
	}
	c.triggers = append(c.triggers, trigger{"Every", interval})
}

// workerConstructor returns an expression of type func(context.Context) (*X, error) for a worker X:
// NewX, or a function that calls NewX or returns &X{}.
func (f *finder) workerConstructor(name string) string {
	object := f.pkg.Scope().Lookup("New" + name)
	wrap := func(results string) string {
		return "func(context.Context) (*" + name + ", error) {\nreturn " + results + "\n}"
	}
	if object == nil || f.ignores(object) {
		return wrap("&" + name + "{}, nil")
	}
	if function, ok := object.(*types.Func); ok {
		switch results := "*" + name + " error"; {
		case f.hasSignature(function, f.pkg, signature{"", results}):
			return wrap("New" + name + "()")
		case f.hasSignature(function, f.pkg, signature{"context.Context", results}):
			return "New" + name
		}
	}
	f.problem(f.posOf(object, token.NoPos), "New%s creates the worker %[1]s, so it must be func New%[1]s() (*%[1]s, error), optionally with a context; change it, rename it, or put //petrock:ignore into its doc comment", name)
	return ""
}

// A jsonChecker refuses types whose values change when they are encoded as JSON and decoded again.
type jsonChecker struct {
	finder *finder
	root   string // name of the saved type
	seen   map[types.Type]bool

	isWorker bool // whether the root is a worker, which may have fields that are not saved
}

func (k *jsonChecker) problem(at token.Pos, format string, args ...any) {
	k.finder.problem(at, "%s is saved as JSON: "+format, append([]any{k.root}, args...)...)
}

// check checks a type. at is the position of the field that has it.
func (k *jsonChecker) check(t types.Type, at token.Pos) {
	t = types.Unalias(t)
	if k.seen[t] {
		return
	}
	k.seen[t] = true
	if named, ok := t.(*types.Named); ok {
		if inference.IsStandardType(types.TypeString(named, nil)) || hasMarshaler(named) {
			return
		}
	}
	name := k.finder.name(t)
	switch t := t.Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Array:
		k.check(t.(interface{ Elem() types.Type }).Elem(), at)
	case *types.Map:
		basic, _ := t.Key().Underlying().(*types.Basic)
		if (basic == nil || basic.Info()&(types.IsString|types.IsInteger) == 0) && !hasMarshaler(t.Key()) && !isInvalid(t.Key()) {
			k.problem(at, "map keys of type %s have no JSON encoding; use string keys", k.finder.name(t.Key()))
		}
		k.check(t.Elem(), at)
	case *types.Struct:
		k.fields(t, name, at)
	case *types.Basic:
		if t.Info()&types.IsComplex != 0 || t.Kind() == types.Uintptr || t.Kind() == types.UnsafePointer {
			k.problem(at, noJSON, name)
		}
	case *types.Interface:
		if !t.Empty() { // values of any come from JSON
			k.problem(at, "the concrete type in %s would be lost; use a struct", name)
		}
	case *types.Signature, *types.Chan:
		k.problem(at, noJSON, name)
	}
}

const noJSON = "%s has no JSON encoding; use another type"

func (k *jsonChecker) fields(t *types.Struct, name string, at token.Pos) {
	for i := range t.NumFields() {
		field, tag := t.Field(i), t.Tag(i)
		pos := k.finder.posOf(field, at)
		_, isStruct := types.Unalias(field.Type()).Underlying().(*types.Struct)
		isRoot := k.isWorker && name == k.root
		switch {
		case field.Name() == "_" || isRoot && (!field.Exported() || isOmitted(tag)):
		case !k.finder.isInProject(field) && (!field.Exported() || isOmitted(tag)):
			k.problem(at, "%s has fields that are not encoded; use another type", name)
			return
		case isOmitted(tag):
			k.problem(pos, "the tag of field %s excludes it; remove the tag, or give %s methods MarshalJSON and UnmarshalJSON", field.Name(), name)
		case !field.Exported() && !(field.Embedded() && isStruct):
			k.problem(pos, "the unexported field %s would be lost; export it", field.Name())
		default:
			_, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
			if _, isMap := types.Unalias(field.Type()).Underlying().(*types.Map); isMap && !isRoot && strings.Contains(options, "omitempty") {
				k.problem(pos, "an empty map %s would be decoded as nil; remove omitempty", field.Name())
			}
			k.check(field.Type(), pos)
		}
	}
}

func isOmitted(tag string) bool { return reflect.StructTag(tag).Get("json") == "-" }

func hasMarshaler(t types.Type) bool {
	return method(t, "MarshalJSON") != nil && method(t, "UnmarshalJSON") != nil || method(t, "MarshalText") != nil && method(t, "UnmarshalText") != nil
}
