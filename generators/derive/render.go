package derive

import (
	"slices"
	"strings"
	"unicode"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/emit"
	"github.com/petrock/petrock/generators/source"
)

// An emitter writes one derived file.
type emitter struct {
	emit.File
	core string // the import path of core
}

// mcp is a name of core's package mcp.
func (e emitter) mcp(name string) *jen.Statement { return jen.Qual(e.core+"/mcp", name) }

// rawMessage is a constant as JSON.
func (e emitter) rawMessage(constant string) *jen.Statement {
	return jen.Qual("encoding/json", "RawMessage").Call(jen.Id(constant))
}

// render writes the derived file of the package.
func (f *finder) render() ([]byte, error) {
	if f.place.Kind == Generator {
		return f.renderGenerators()
	}
	e := emitter{emit.NewFile(f.pkg.Path(), f.pkg.Name()), f.Core}
	e.HeaderComment(source.DerivedMark + " from the functions of this package. DO NOT EDIT.")
	e.ImportName(f.Core+"/mcp", "mcp")
	var functions, methods []Component
	for _, c := range f.found.Components {
		if _, ok := c.method(); ok {
			methods = append(methods, c)
		} else {
			functions = append(functions, c)
		}
	}
	e.schemas(f.found.Components)
	e.defaults(f.found.Components)
	if len(functions) > 0 {
		e.register(functions, f.place.receiver(), false)
	}
	if len(methods) > 0 {
		e.register(methods, f.place.receiver(), true)
	}
	return e.Bytes()
}

// schemas writes the schemas as constants, one line each: that compiles quicker than literals. Each is
// a declaration of its own, so that a new one changes no other line.
//
//	const addInputSchema = `{"type":"object",…}`
//	const addOutputSchema = `{"type":"object",…}`
func (e emitter) schemas(all []Component) {
	for _, c := range all {
		if c.hasInput() {
			e.Const().Id(c.constant("InputSchema")).Op("=").Add(emit.Raw(string(c.Input)))
		}
		if c.Output != nil {
			e.Const().Id(c.constant("OutputSchema")).Op("=").Add(emit.Raw(string(c.Output)))
		}
	}
}

// hasInput reports whether the schema of the input is used.
func (c Component) hasInput() bool {
	return c.Input != nil && (c.Kind == Tool || c.Kind == Generator || len(c.arguments) > 0)
}

// constant is the name of something that is derived from the component.
func (c Component) constant(what string) string {
	name, _ := c.method()
	return lowerFirst(name) + what
}

// lowerFirst makes an identifier unexported: SendMail → sendMail, HTTPGet → httpGet, ID → id.
func lowerFirst(name string) string {
	runes := []rune(name)
	for i, r := range runes {
		if !unicode.IsUpper(r) || i > 0 && i+1 < len(runes) && !unicode.IsUpper(runes[i+1]) && unicode.IsLetter(runes[i+1]) {
			break
		}
		runes[i] = unicode.ToLower(r)
	}
	return string(runes)
}

// defaults writes what inputs are before they are read, where fields have defaults.
//
//	// searchDefaults is what search takes if nothing is said.
//	func searchDefaults() (in SearchInput) {
//		in.Limit = 20
//		return in
//	}
func (e emitter) defaults(all []Component) {
	for _, c := range all {
		if len(c.defaults) == 0 {
			continue
		}
		e.Commentf("// %s is what %s takes if nothing is said.", c.constant("Defaults"), c.Name)
		e.Func().Id(c.constant("Defaults")).Params().Params(jen.Id("in").Id(c.input)).BlockFunc(func(g *jen.Group) {
			for _, d := range c.defaults {
				g.Id("in." + d.path).Op("=").Op(d.value)
			}
			g.Return(jen.Id("in"))
		})
	}
}

// register writes the function that offers components, or the method that does. All are tried, so
// that the error tells all that is wrong.
//
//	// Register offers the tools of this package.
//	func Register(s *mcp.Server) error {
//		return errors.Join(
//			s.AddTool(mcp.Tool{…}, mcp.Typed(Add)),
//			s.AddTool(mcp.Tool{…}, mcp.Typed(Subtract)),
//		)
//	}
func (e emitter) register(all []Component, holder string, method bool) {
	what := strings.ToLower(holder)
	signature := jen.Func()
	if method {
		e.Commentf("// Register offers the %s that are methods of t.", what)
		signature.Params(jen.Id("t").Op("*").Id(holder))
	} else {
		e.Commentf("// Register offers the %s of this package.", what)
	}
	signature.Id("Register").Params(jen.Id("s").Op("*").Add(e.mcp("Server"))).Error().BlockFunc(func(g *jen.Group) {
		for _, value := range []bool{true, false} {
			if slices.ContainsFunc(all, func(c Component) bool {
				return slices.ContainsFunc(c.hints, func(h hint) bool { return h.value == value })
			}) {
				g.Id(hintName(value)).Op(":=").Lit(value)
			}
		}
		var calls []jen.Code
		for _, c := range all {
			calls = append(calls, e.add(c))
		}
		g.Return(jen.Qual("errors", "Join").Custom(jen.Options{Open: "(", Close: ")", Separator: ",", Multi: true}, calls...))
	})
	e.Add(signature)
}

// hintName is the variable that hints point to.
func hintName(value bool) string {
	if value {
		return "yes"
	}
	return "no"
}

// add is the call that offers one component.
func (e emitter) add(c Component) *jen.Statement {
	name, method := c.method()
	function := jen.Id(name)
	if method {
		function = jen.Id("t").Dot(name)
	}
	lines := []jen.Code{
		emit.Key("Name", jen.Lit(c.Name)),
	}
	if c.Title != "" {
		lines = append(lines, emit.Key("Title", jen.Lit(c.Title)))
	}
	if c.Description != "" {
		lines = append(lines, emit.Key("Description", jen.Lit(c.Description)))
	}
	if c.MIMEType != "" {
		lines = append(lines, emit.Key("MIMEType", jen.Lit(c.MIMEType)))
	}
	call, kind, typed := "AddTool", "Tool", "Typed"
	switch c.Kind {
	case Prompt:
		call, kind, typed = "AddPrompt", "Prompt", "TypedPrompt"
		if len(c.arguments) > 0 {
			lines = append(lines, e.arguments(c))
		}
	case Resource:
		call, kind, typed = "AddResource", "Resource", "TypedResource"
		address := "URI"
		if len(c.arguments) > 0 {
			call, kind, typed, address = "AddResourceTemplate", "ResourceTemplate", "TypedTemplate", "URITemplate"
		}
		lines = append([]jen.Code{emit.Key(address, jen.Lit(c.URI))}, lines...)
	}
	if c.hasInput() {
		lines = append(lines, emit.Key("InputSchema", e.rawMessage(c.constant("InputSchema"))))
	}
	if c.Output != nil {
		lines = append(lines, emit.Key("OutputSchema", e.rawMessage(c.constant("OutputSchema"))))
	}
	if len(c.hints) > 0 {
		var set []jen.Code
		for _, h := range c.hints {
			set = append(set, jen.Id(h.field).Op(":").Op("&").Id(hintName(h.value)))
		}
		lines = append(lines, jen.Id("Annotations").Op(":").Op("&").Add(e.mcp("ToolAnnotations")).Values(set...))
	}
	handler := e.mcp(typed).Call(function)
	if len(c.defaults) > 0 {
		handler = e.mcp("TypedFrom").Call(jen.Id(c.constant("Defaults")).Call(), function)
	}
	return jen.Id("s").Dot(call).Call(e.mcp(kind).Custom(emit.Multiline(), lines...), handler)
}

// arguments are those of a prompt.
func (e emitter) arguments(c Component) *jen.Statement {
	var list []jen.Code
	for _, a := range c.arguments {
		set := []jen.Code{emit.Key("Name", jen.Lit(a.name))}
		if a.description != "" {
			set = append(set, emit.Key("Description", jen.Lit(a.description)))
		}
		if a.required {
			set = append(set, emit.Key("Required", jen.True()))
		}
		list = append(list, jen.Values(set...))
	}
	return jen.Id("Arguments").Op(":").Index().Add(e.mcp("PromptArgument")).Custom(emit.Multiline(), list...)
}
