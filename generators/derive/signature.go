package derive

import (
	"fmt"
	"go/ast"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/typecheck"
)

// checkMethod checks the receiver and signature of a method of a command or query.
func (f *finder) checkMethod(c *Component, name *ast.Ident, t *types.Named, m *types.Func) bool {
	pos := f.posOf(m, name.Pos())
	switch {
	case !f.hasSignature(m, t.Obj().Pkg(), methodSignature(m.Name())):
		f.problem(pos, wrongSignature, m.Name(), name.Name, c.Kind, wantedMethod(name.Name, m.Name()), orIgnore)
		return false
	case !hasValueReceiver(t, m.Name()):
		f.problem(pos, "%s of %s has a pointer receiver, but a %s needs a value receiver: %s", m.Name(), name.Name, c.Kind, wantedMethod(name.Name, m.Name()))
		return false
	}
	return true
}

const wrongSignature = "the method %s of %s does not have the signature of a %s: %s; change it, %s"

const orIgnore = "or put //petrock:ignore into the doc comment of the type or of the method"

// methods are the methods of commands, queries and workers, with their signatures.
var methods = map[string]struct {
	kind Kind
	signature
}{
	"Check":  {Command, signature{"context.Context *State", "error"}},
	"Apply":  {Command, signature{"*State app.Event", "T"}},
	"Answer": {Query, signature{"context.Context *State", "T error"}},
	"Every":  {Worker, signature{"context.Context", "error"}},
}

// kindByMethod returns the kind of a type with a method.
func kindByMethod(name string) (Kind, bool) {
	if m, ok := methods[name]; ok {
		return m.kind, true
	}
	return Worker, triggerMethod.MatchString(name)
}

var triggerMethod = regexp.MustCompile(`^On(\P{Ll}|$)`) // OnCreate, but not Once

// methodSignature returns the signature of a method of a command, query or worker.
func methodSignature(name string) signature {
	if m, ok := methods[name]; ok {
		return m.signature
	}
	return signature{"context.Context T app.Event", "error"} // OnCreate
}

func wantedMethod(name, method string) string {
	if kind, _ := kindByMethod(method); kind == Worker {
		name = "*" + name
	}
	return fmt.Sprintf("func (%s) %s%s", name, method, methodSignature(method))
}

// A signature is the types of parameters and results, separated by spaces. T is any type.
type signature struct{ params, results string }

// String returns the signature as Go writes it.
func (s signature) String() string {
	params, results := strings.ReplaceAll(s.params, " ", ", "), strings.ReplaceAll(s.results, " ", ", ")
	if strings.Contains(results, ",") {
		results = "(" + results + ")"
	}
	return "(" + params + ") " + results
}

// hasSignature reports whether a function has a signature, with types as a package names them.
func (f *finder) hasSignature(function *types.Func, pkg *types.Package, want signature) bool {
	are := func(tuple *types.Tuple, names []string) bool {
		for i, name := range names {
			if tuple.Len() != len(names) || name != "T" && name != f.nameIn(pkg, tuple.At(i).Type()) {
				return false
			}
		}
		return tuple.Len() == len(names)
	}
	s := function.Signature()
	return s.TypeParams() == nil && !s.Variadic() && are(s.Params(), strings.Fields(want.params)) && are(s.Results(), strings.Fields(want.results))
}

// isOneOf reports whether a type has one of the names.
func (f *finder) isOneOf(t types.Type, names ...string) bool {
	return slices.Contains(names, f.name(t))
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

// IsContext reports whether a type is context.Context.
func IsContext(t types.Type) bool { return typecheck.IsType(t, "context", "Context") }

// IsError reports whether a type is error.
func IsError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }
