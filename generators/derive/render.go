package derive

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

type emitter struct {
	gen.GoFile
	core string // the import path of core
}

func (e emitter) mcp(name string) *jen.Statement { return jen.Qual(e.core+"/mcp", name) }

func (e emitter) rawMessage(constant string) *jen.Statement {
	return jen.Qual("encoding/json", "RawMessage").Call(jen.Id(constant))
}

func (f *finder) render() ([]byte, error) {
	if f.place.Kind == Generator {
		return f.renderGenerators()
	}
	of := "functions"
	if f.place.Kind == Feature {
		of = "types"
	}
	e := emitter{gen.NewGoFile(f.pkg.Path(), f.pkg.Name()), f.Core}
	e.HeaderComment(typecheck.DerivedMark + " from the " + of + " of this package. DO NOT EDIT.")
	for _, name := range []string{"app", "app/appmcp", "mcp"} {
		e.ImportName(f.Core+"/"+name, path.Base(name))
	}
	fragments, err := f.fragments(e)
	if err != nil {
		return nil, err
	}
	var schemas, body bytes.Buffer
	for _, made := range fragments {
		if schemas.Len() > 0 && len(made.schemas) > 0 {
			schemas.WriteByte('\n')
		}
		schemas.Write(made.schemas)
	}
	if schemas.Len() > 0 {
		e.Use("encoding/json")
		fmt.Fprintf(&body, "\nconst (\n%s)\n", schemas.Bytes())
	}
	if f.place.Kind == Feature {
		feature, err := f.renderFeature(e, fragments)
		if err != nil {
			return nil, err
		}
		body.Write(feature)
	}
	for _, methods := range []bool{false, true} {
		if f.place.Kind == Feature {
			break
		}
		register, err := e.register(f.found.Components, fragments, f.place.receiver(), methods)
		if err != nil {
			return nil, err
		}
		body.Write(register)
	}
	head, err := e.Bytes()
	if err != nil {
		return nil, err
	}
	return append(head, body.Bytes()...), nil
}

func (c Component) hasInput() bool {
	return c.Input != nil && (c.Kind.IsTool() || c.Kind == Generator || len(c.arguments) > 0)
}

// constant is the name of something that is derived from the component. No other component
// has it, as no other has the name.
func (c Component) constant(what string) string { return what + strings.ReplaceAll(c.Func, ".", "_") }

// register writes the function that offers components, or the method that does, if there are any
// for it. All are tried, so that the error tells all that is wrong.
func (e emitter) register(all []Component, fragments []fragment, holder string, methods bool) ([]byte, error) {
	var those []Component
	var theirs []fragment
	for i, c := range all {
		if _, is := c.method(); is == methods {
			those, theirs = append(those, c), append(theirs, fragments[i])
		}
	}
	signature := jen.Commentf("// Register offers the %s of this package.", strings.ToLower(holder)).Line().Func()
	if methods {
		signature = jen.Commentf("// Register offers the %s that are methods of t.", strings.ToLower(holder)).Line().
			Func().Params(jen.Id("t").Op("*").Id(holder))
	}
	return e.joined(signature.Id("Register").Params(jen.Id("s").Op("*").Add(e.mcp("Server"))), those, theirs)
}

// joined writes a function that offers components and joins what is wrong with each, nil if there are none.
func (e emitter) joined(signature *jen.Statement, all []Component, fragments []fragment) ([]byte, error) {
	var lines bytes.Buffer
	hinted := map[bool]bool{}
	for i, c := range all {
		lines.Write(fragments[i].offers)
		if c.Internal {
			continue
		}
		for _, h := range c.hints {
			hinted[h.value] = true
		}
	}
	if lines.Len() == 0 {
		return nil, nil
	}
	frame, err := e.Source(signature.Error().BlockFunc(func(g *jen.Group) {
		for _, value := range []bool{true, false} {
			if hinted[value] {
				g.Id(hintName(value)).Op(":=").Lit(value)
			}
		}
		g.Return(jen.Qual("errors", "Join").Call())
	}))
	if err != nil {
		return nil, err
	}
	call := []byte("errors.Join(")
	at := bytes.LastIndex(frame, call) + len(call)
	return slices.Concat([]byte("\n"), frame[:at], []byte("\n"), lines.Bytes(), []byte("\t"), bytes.TrimRight(frame[at:], "\n"), []byte("\n")), nil
}

func hintName(value bool) string {
	if value {
		return "yes"
	}
	return "no"
}

func (e emitter) add(c Component) *jen.Statement {
	name, method := c.method()
	function := jen.Id(name)
	switch {
	case method:
		function = jen.Id("t").Dot(name)
	case c.Kind == Command:
		function = e.appmcp("Do").Types(jen.Id(name)).Call(jen.Id("a"))
	case c.Kind == Query:
		function = e.appmcp("Ask").Types(jen.Id(name)).Call(jen.Id("a"))
	}
	lines := []jen.Code{
		gen.KeyValue("Name", jen.Lit(c.Name)),
	}
	if c.Title != "" {
		lines = append(lines, gen.KeyValue("Title", jen.Lit(c.Title)))
	}
	if c.Description != "" {
		lines = append(lines, gen.KeyValue("Description", jen.Lit(c.Description)))
	}
	if c.MIMEType != "" {
		lines = append(lines, gen.KeyValue("MIMEType", jen.Lit(c.MIMEType)))
	}
	kind := "Tool"
	switch c.Kind {
	case Prompt:
		kind = "Prompt"
	case Resource:
		kind = "Resource"
		address := "URI"
		if len(c.arguments) > 0 {
			kind, address = "ResourceTemplate", "URITemplate"
		}
		lines = append([]jen.Code{gen.KeyValue(address, jen.Lit(c.URI))}, lines...)
	}
	if c.hasInput() {
		lines = append(lines, gen.KeyValue("InputSchema", e.rawMessage(c.constant("inputSchema"))))
	}
	if c.Output != nil {
		lines = append(lines, gen.KeyValue("OutputSchema", e.rawMessage(c.constant("outputSchema"))))
	}
	if c.ownSchema {
		lines = append(lines, gen.KeyValue("OwnSchema", jen.True()))
	}
	if len(c.hints) > 0 {
		var set []jen.Code
		for _, h := range c.hints {
			set = append(set, jen.Id(h.field).Op(":").Op("&").Id(hintName(h.value)))
		}
		lines = append(lines, jen.Id("Annotations").Op(":").Op("&").Add(e.mcp("ToolAnnotations")).Values(set...))
	}
	if len(c.scopes) > 0 {
		var list []jen.Code
		for _, scope := range c.scopes {
			list = append(list, jen.Lit(scope))
		}
		lines = append(lines, gen.KeyValue("Scopes", jen.Index().String().Values(list...)))
	}
	adder := "Add" + kind
	if kind == "Tool" {
		adder = "AddDerivedTool"
	}
	return e.mcp(adder).Call(jen.Id("s"), e.mcp(kind).Custom(gen.Multiline(), lines...), function)
}

// app and appmcp are names of core's packages for features.
func (e emitter) app(name string) *jen.Statement    { return jen.Qual(e.core+"/app", name) }
func (e emitter) appmcp(name string) *jen.Statement { return jen.Qual(e.core+"/app/appmcp", name) }

// renderFeature writes func Feature, which is what a feature is, and the function that offers its
// commands and queries as tools.
func (f *finder) renderFeature(e emitter, fragments []fragment) ([]byte, error) {
	name := f.place.featureName()
	lines := []jen.Code{
		gen.KeyValue("Name", jen.Lit(name)),
		gen.KeyValue("State", e.app("StateOf").Call(jen.Id(newState))),
	}
	for _, list := range []struct {
		kind        Kind
		field, item string
	}{{Command, "Commands", "Command"}, {Query, "Queries", "Query"}, {Worker, "Workers", "Worker"}} {
		var items []jen.Code
		for _, c := range f.found.Components {
			if c.Kind == list.kind {
				items = append(items, f.item(e, c))
			}
		}
		if len(items) > 0 {
			lines = append(lines, gen.KeyValue(list.field, jen.Index().Add(e.app(list.item)).Custom(gen.Multiline(), items...)))
		}
	}
	if f.found.maps {
		lines = append(lines, gen.KeyValue("Map", jen.Id(mapFunc)))
	}
	feature, err := e.Source(jen.Commentf("// Feature is %s: its state, commands, queries and workers, and the tools that they are.", name).Line().
		Func().Id("Feature").Params().Add(e.appmcp("Feature")).Block(jen.Return(e.appmcp("Feature").Custom(gen.Multiline(),
		gen.KeyValue("Feature", e.app("Feature").Custom(gen.Multiline(), lines...)),
		gen.KeyValue("Register", jen.Id("register")),
	))))
	if err != nil {
		return nil, err
	}
	signature := jen.Comment("// register offers the commands and queries of this package as tools.").Line().
		Func().Id("register").Params(jen.Id("s").Op("*").Add(e.mcp("Server")), jen.Id("a").Op("*").Add(e.app("App")))
	register, err := e.joined(signature, f.found.Components, fragments)
	if err == nil && register == nil {
		why := "there are no commands and queries yet"
		if slices.ContainsFunc(f.found.Components, func(c Component) bool { return c.Internal }) {
			why = "all commands and queries are internal"
		}
		register, err = e.Source(jen.Commentf("// register offers nothing: %s.", why).Line().
			Func().Id("register").Params(jen.Op("*").Add(e.mcp("Server")), jen.Op("*").Add(e.app("App"))).Error().Block(jen.Return(jen.Nil())))
		register = append([]byte("\n"), append(bytes.TrimSpace(register), '\n')...)
	}
	return append(append([]byte("\n"), append(bytes.TrimSpace(feature), '\n')...), register...), err
}

func (f *finder) item(e emitter, c Component) jen.Code {
	switch c.Kind {
	case Command:
		arguments := []jen.Code{jen.Lit(c.local()), jen.Lit(c.version)}
		for _, o := range c.olders {
			arguments = append(arguments, e.app("OlderOf").Types(jen.Id(o.name)).Call(jen.Lit(o.version)))
		}
		return e.app("CommandOf").Types(jen.Id(c.Func)).Call(arguments...)
	case Query:
		return e.app("QueryOf").Types(jen.Id(c.Func)).Call(jen.Lit(c.local()))
	}
	arguments := []jen.Code{jen.Lit(c.local()), begins(c.Func, f.found.begins[c.Func])}
	for _, d := range c.duties {
		m := jen.Parens(jen.Op("*").Id(c.Func)).Dot(d.method)
		if d.every == 0 {
			arguments = append(arguments, e.app("On").Call(m))
		} else {
			arguments = append(arguments, e.app("Every").Call(gen.Duration(d.every), m))
		}
	}
	if c.fromStart {
		arguments = append(arguments, e.app("FromStart").Types(jen.Id(c.Func)).Call())
	}
	return e.app("WorkerOf").Call(arguments...)
}

func begins(name string, how begin) jen.Code {
	if how == withContext {
		return jen.Id("New" + name)
	}
	made := []jen.Code{jen.Op("&").Id(name).Values(), jen.Nil()}
	if how == byFunction {
		made = []jen.Code{jen.Id("New" + name).Call()}
	}
	return jen.Func().Params(jen.Qual("context", "Context")).Params(jen.Op("*").Id(name), jen.Error()).Block(jen.Return(made...))
}

func (c Component) local() string {
	name := c.Name
	switch c.Kind {
	case Command:
		name = c.EventType
	case Query:
		name = c.Feature + "/" + gen.WireName(c.Func)
	}
	return strings.TrimPrefix(name, c.Feature+"/")
}
