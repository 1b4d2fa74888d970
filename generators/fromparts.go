package generators

import (
	"encoding/json"
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
)

// A part is a parameter or a result of a function, as a field of what a tool takes or gives back.
type part struct {
	name     string     // in JSON
	goName   string     // of the field
	was      string     // in the function, may be empty
	held     types.Type // of the field
	optional bool
	about    string // what it is, if its name does not say so
}

// parts names the fields that parameters or results become: after them, or after what they are if
// they have no name, or none that JSON and Go both take. No two are alike but for case.
type parts struct {
	list  []part
	other string // what those without a name are called
	alone bool   // there is one alone, which needs no number
}

// add adds a field for a parameter or a result, which is the at-th.
func (p *parts) add(v *types.Var, at int, held types.Type, optional bool) part {
	text := gen.WireName(v.Name())
	name, err := gen.ParseFieldName(text)
	if v.Name() == "_" || err != nil {
		text = p.other
		if !p.alone {
			text = fmt.Sprintf("%s%d", p.other, at)
		}
		name, _ = gen.NameOfValue(text) // it has letters
	}
	for base, number := text, 2; p.has(text, name.Go()); number++ {
		text = fmt.Sprintf("%s_%d", base, number)
		name, _ = gen.NameOfValue(text) // it has letters
	}
	made := part{name: text, goName: name.Go(), was: v.Name(), held: held, optional: optional}
	p.list = append(p.list, made)
	return made
}

// has reports whether a field has a name, in JSON, where case may not count, or in Go.
func (p *parts) has(name, goName string) bool {
	return slices.ContainsFunc(p.list, func(other part) bool {
		return strings.EqualFold(other.name, name) || other.goName == goName
	})
}

// local is the name of a variable that holds the part. It is not one of others, of a package that is
// imported, or of Go itself.
func (p part) local(others []string, imported map[string]bool) string {
	taken := func(name string) bool {
		return slices.Contains(others, name) || imported[name] || isGo(name)
	}
	name := p.was
	if !token.IsIdentifier(name) || name == "_" {
		name = strings.ToLower(p.goName[:1]) + p.goName[1:]
	}
	for base, number := name, 2; taken(name); number++ {
		name = fmt.Sprintf("%s%d", base, number)
	}
	return name
}

// isGo reports whether a name is Go's own.
func isGo(name string) bool { return token.IsKeyword(name) || types.Universe.Lookup(name) != nil }

// taken is what a tool takes for a function.
type taken struct {
	whole     types.Type // a struct of the project that is the input itself; nil if there is none
	parts     []part     // the fields of the input otherwise
	arguments []jen.Code // of the call
	uses      []string   // of ctx and in
	needs     string     // a property that whole requires, may be empty
}

// named is a parameter of the tool, which has no name if it is not used.
func (t taken) named(name string) string {
	if slices.Contains(t.uses, name) {
		return name
	}
	return "_"
}

// required is a property that has to be there; empty if there is none.
func (t taken) required() string {
	for _, p := range t.parts {
		if !p.optional {
			return p.name
		}
	}
	return t.needs
}

// takenBy looks at the parameters of a function. One that is a context gets the tool's. One that is a
// struct of the project, and the only other one, is the input itself.
func takenBy(f *gen.Function, module string) (taken, error) {
	var t taken
	params := f.Signature.Params()
	fields := parts{other: "arg"}
	alone := 1
	for v := range params.Variables() {
		if isContext(v.Type()) {
			alone++
		}
	}
	for i := range params.Len() {
		v := params.At(i)
		if isContext(v.Type()) {
			t.arguments = append(t.arguments, jen.Id("ctx"))
			t.uses = append(t.uses, "ctx")
			continue
		}
		t.uses = append(t.uses, "in")
		held, pointer, schema, err := heldFor(f, v.Type())
		if err != nil {
			return taken{}, f.Errorf("JSON cannot fill %s: %s", f.Parameter(i), reason(err))
		}
		if params.Len() == alone && isInput(held, schema, module) {
			t.whole, t.needs = held, requiredBy(schema)
			t.arguments = append(t.arguments, address(jen.Id("in"), pointer))
			continue
		}
		last := f.Signature.Variadic() && i == params.Len()-1
		_, absent := types.Unalias(held).(*types.Pointer)
		made := fields.add(v, i+1, held, last || absent)
		argument := address(jen.Id("in").Dot(made.goName), pointer)
		if last {
			argument.Op("...")
		}
		t.arguments = append(t.arguments, argument)
	}
	t.parts = fields.list
	return t, nil
}

// heldFor is the type of what is held for a parameter, whether the parameter is a pointer to that, and
// its schema. Functions count on pointers to structs, so those are not left out; other pointers may be.
func heldFor(f *gen.Function, t types.Type) (held types.Type, pointer bool, schema json.RawMessage, err error) {
	if made, pointer := structOf(t); pointer {
		if schema, err := f.Input(made); err == nil && isObject(schema) {
			return made, true, schema, nil
		}
	}
	schema, err = f.Input(t)
	return t, false, schema, err
}

// isInput reports whether a type can be the input of a tool itself: a struct of the project without
// defaults, which only inputs of package tools have.
func isInput(t types.Type, schema json.RawMessage, module string) bool {
	made, pointer := structOf(t)
	return made != nil && !pointer && isOf(made, module) && isObject(schema) && !strings.Contains(string(schema), `"default":`)
}

// address is a value, or where it is.
func address(value *jen.Statement, pointer bool) *jen.Statement {
	if pointer {
		return jen.Op("&").Add(value)
	}
	return value
}

// isContext reports whether a type is context.Context.
func isContext(t types.Type) bool {
	return types.TypeString(types.Unalias(t), nil) == "context.Context"
}

// isOf reports whether a type has a name in a module.
func isOf(t types.Type, module string) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Pkg() != nil && strings.HasPrefix(named.Obj().Pkg().Path()+"/", module+"/")
}

// reason is what is wrong, without the way out, which is another one here.
func reason(err error) string {
	why, _, _ := strings.Cut(err.Error(), "; ")
	return why
}
