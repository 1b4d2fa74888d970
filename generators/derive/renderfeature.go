package derive

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
)

// app and appmcp are names of core's packages for features.
func (e emitter) app(name string) *jen.Statement    { return jen.Qual(e.core+"/app", name) }
func (e emitter) appmcp(name string) *jen.Statement { return jen.Qual(e.core+"/appmcp", name) }

// renderFeature writes what a feature is, and the function that offers its commands and queries.
//
//	// Feature is posts: its state, commands, queries and workers, and the tools that they are.
//	func Feature() appmcp.Feature {
//		return appmcp.Feature{
//			Feature: app.Feature{
//				Name:     "posts",
//				State:    app.StateOf(NewState),
//				Commands: []app.Command{
//					app.CommandOf[Create]("create", 1),
//				},
//				…
//			},
//			Register: register,
//		}
//	}
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

// item is a part of a feature as the feature lists it.
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
			arguments = append(arguments, e.app("Every").Call(duration(d.every), m))
		}
	}
	if c.fromStart {
		arguments = append(arguments, e.app("FromStart").Types(jen.Id(c.Func)).Call())
	}
	return e.app("WorkerOf").Call(arguments...)
}

// begins is the function that makes a worker.
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

// duration is a time as Go has it: 5 * time.Minute.
func duration(d time.Duration) jen.Code {
	unit, of := "Nanosecond", time.Nanosecond
	for _, u := range []struct {
		name string
		of   time.Duration
	}{{"Microsecond", time.Microsecond}, {"Millisecond", time.Millisecond}, {"Second", time.Second}, {"Minute", time.Minute}, {"Hour", time.Hour}} {
		if d%u.of == 0 {
			unit, of = u.name, u.of
		}
	}
	if d == of {
		return jen.Qual("time", unit)
	}
	return jen.Lit(int(d/of)).Op("*").Qual("time", unit)
}

// local is what a part of a feature is called within it.
func (c Component) local() string {
	name := c.Name
	switch c.Kind {
	case Command:
		name = c.Entry
	case Query:
		name = c.Feature + "/" + gen.WireName(c.Func)
	}
	return strings.TrimPrefix(name, c.Feature+"/")
}
