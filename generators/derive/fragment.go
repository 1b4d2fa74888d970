package derive

import (
	"bytes"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
)

// A fragment is what a derived file has of one component. It is the same whatever stands before
// and after it, so that a new component changes no lines of others.
type fragment struct {
	schemas []byte // lines of constants
	offers  []byte // lines of the function Register
}

// fragments returns those of the package's components, in their order.
func (f *finder) fragments(e emitter) ([]fragment, error) {
	var all []fragment
	for _, c := range f.found.Components {
		made, err := e.fragment(c)
		if err != nil {
			return nil, err
		}
		all = append(all, made)
	}
	return all, nil
}

// fragment writes the fragment of a component.
func (e emitter) fragment(c Component) (fragment, error) {
	var made fragment
	if c.Kind == Feature || c.Kind == Worker || c.Internal {
		return made, nil
	}
	var err error
	if lines := c.schemas(); len(lines) > 0 {
		if made.schemas, err = e.inner(jen.Const().Defs(lines...)); err != nil {
			return made, err
		}
	}
	join := jen.Options{Open: "(", Close: ")", Separator: ",", Multi: true}
	calls := []jen.Code{e.add(c)}
	if c.completer != "" {
		calls = append(calls, e.complete(c))
	}
	offers, err := e.inner(jen.Func().Id("_").Params().Block(jen.Id("_").Custom(join, calls...)))
	made.offers = between(offers)
	return made, err
}

// inner is what stands between the first and the last line of a declaration.
func (e emitter) inner(decl *jen.Statement) ([]byte, error) {
	text, err := e.Source(decl)
	return between(text), err
}

// between is a text without its first and last lines.
func between(text []byte) []byte {
	first := bytes.IndexByte(text, '\n') + 1
	last := bytes.LastIndexByte(bytes.TrimSuffix(text, []byte("\n")), '\n') + 1
	return text[min(first, last):last]
}

// schemas are the schemas of a component as constants, one line each: that compiles quicker than
// literals.
//
//	inputSchemaAdd  = `{"type":"object",…}`
//	outputSchemaAdd = `{"type":"object",…}`
func (c Component) schemas() []jen.Code {
	var lines []jen.Code
	if c.hasInput() {
		lines = append(lines, jen.Id(c.constant("inputSchema")).Op("=").Add(gen.RawString(string(c.Input))))
	}
	if c.Output != nil {
		lines = append(lines, jen.Id(c.constant("outputSchema")).Op("=").Add(gen.RawString(string(c.Output))))
	}
	return lines
}
