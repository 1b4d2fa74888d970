package versions

import (
	"fmt"
	"go/types"
	"strings"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// A converter writes expressions that convert values from the types of one version of a command to
// those of another.
type converter struct {
	p    gen.Project
	dir  string     // folder of the package that has the code
	file gen.GoFile // gets the imports

	// function returns the function that converts a struct type, or the method expression
	// CreateV1Item.upgrade, and whether there is one.
	function func(from *types.Named, to types.Type) (name string, ok bool)

	// pair is called for each pair of types whose values are converted. It may be nil.
	pair func(from types.Type, to *types.Named)
}

// convert returns the expression that converts a value. It reports false if the conversion could
// lose data, or is not known.
func (c *converter) convert(value string, from, to types.Type) (string, bool) {
	from, to = types.Unalias(from), types.Unalias(to)
	if isSame(from, to) {
		return value, true
	}
	named, isNamed := to.(*types.Named)
	if isNamed && c.pair != nil {
		c.pair(from, named)
	}
	if isOpaque(from) {
		return "", false
	}
	if pointer, ok := to.(*types.Pointer); ok {
		if old, ok := from.(*types.Pointer); ok {
			return c.convertElems("UpgradePointer", value, old.Elem(), pointer.Elem())
		}
		converted, ok := c.convert(value, from, pointer.Elem())
		return "new(" + converted + ")", ok
	}
	switch under := to.Underlying().(type) {
	case *types.Interface:
		return value, under.Empty()
	case *types.Basic:
		old, ok := from.Underlying().(*types.Basic)
		return c.typeText(to) + "(" + value + ")", ok && contract.Holds(types.Typ[under.Kind()].Name(), types.Typ[old.Kind()].Name())
	case *types.Slice:
		if old, ok := from.Underlying().(*types.Slice); ok {
			return c.convertElems("UpgradeList", value, old.Elem(), under.Elem())
		}
	case *types.Array:
		old, ok := from.Underlying().(*types.Array)
		return value, ok && under.Len() == old.Len() && isSame(old.Elem(), under.Elem())
	case *types.Map:
		if old, ok := from.Underlying().(*types.Map); ok {
			return c.convertMap(value, old, under)
		}
	case *types.Struct:
		old, ok := from.(*types.Named)
		if !ok || !isStruct(old) || isOpaque(to) {
			return "", false
		}
		name, ok := c.function(old, to)
		if _, method, isMethod := strings.Cut(name, "."); isMethod {
			return value + "." + method + "()", ok
		}
		return name + "(" + value + ")", ok
	}
	return "", false
}

// isSame reports whether values of a type can be assigned to another without a conversion. Opaque
// types of an old version are made from their names, so names are compared too.
func isSame(a, b types.Type) bool {
	return types.Identical(a, b) || types.TypeString(a, nil) == types.TypeString(b, nil)
}

// isOpaque reports whether a type has its own decoding. In old versions, such a type has no
// underlying type.
func isOpaque(t types.Type) bool {
	named, ok := t.(*types.Named)
	return ok && (named.Underlying() == types.Typ[types.Invalid] || derive.IsOpaque(named))
}

func isStruct(t types.Type) bool {
	_, ok := t.Underlying().(*types.Struct)
	return ok
}

func isPointer(t types.Type) bool {
	_, ok := types.Unalias(t).(*types.Pointer)
	return ok
}

// convertMap converts a map. Its keys may be strings of another type.
func (c *converter) convertMap(value string, from, to *types.Map) (string, bool) {
	if !isSame(from.Key(), to.Key()) {
		_, ok := c.convert("", from.Key(), to.Key())
		if !ok || !isString(from.Key()) || !isString(to.Key()) {
			return "", false
		}
		value = c.callApp("UpgradeKeys["+c.typeText(to.Key())+"]", value)
	}
	return c.convertElems("UpgradeMap", value, from.Elem(), to.Elem())
}

func isString(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Kind() == types.String
}

// convertElems converts a pointer, slice or map with a function of core/app.
func (c *converter) convertElems(function, value string, from, to types.Type) (string, bool) {
	if isSame(from, to) {
		return value, true
	}
	converter, ok := c.functionFor(from, to)
	return c.callApp(function, value, converter), ok
}

// functionFor returns a function that converts values.
func (c *converter) functionFor(from, to types.Type) (string, bool) {
	converted, ok := c.convert("v", from, to)
	if named, isNamed := types.Unalias(from).(*types.Named); ok && isNamed && isStruct(from) && isStruct(to) && !isSame(from, to) {
		return c.function(named, types.Unalias(to))
	}
	return "func(v " + c.typeText(from) + ") " + c.typeText(to) + " { return " + converted + " }", ok
}

func (c *converter) typeText(t types.Type) string { return c.file.TypeText(types.Unalias(t)) }

// callApp returns a call of a function of core/app.
func (c *converter) callApp(function string, arguments ...string) string {
	return c.file.Ref(c.p.Import("core/app"), function) + "(" + strings.Join(arguments, ", ") + ")"
}

// structLiteral returns the statement that returns a struct with the given fields and values.
func structLiteral(target string, names, values []string) string {
	between, end := ", ", ""
	if len(names) > 3 {
		between, end = ",\n", ",\n"
	}
	var set []string
	for i, name := range names {
		set = append(set, name+": "+values[i])
	}
	return fmt.Sprintf("return %s{%s%s%s}", target, strings.TrimPrefix(end, ","), strings.Join(set, between), end)
}
