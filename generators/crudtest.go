package generators

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/emit"
	"github.com/petrock/petrock/generators/field"
)

// test is the test of all commands and queries, as a client calls them.
//
//	func TestCRUD(t *testing.T) {
//		const (
//			first   = `{"id":"id1",…}`
//			second  = `{"id":"id2",…}`
//			changed = `{"id":"id1",…}` // the first one, later
//		)
//		…
//	}
func (c crud) test() (emit.File, error) {
	var w texts
	changed, change := c.changed()
	least, most, update := w.create(c, false), w.create(c, true), w.object("id", "id1", changed.Name, change)
	first, second := jen.Id("first"), jen.Id("second")
	page := func(rest string, items ...*jen.Statement) *jen.Statement {
		made := emit.Raw(`{"items":[`)
		for i, item := range items {
			if i > 0 {
				made.Op("+").Add(emit.Raw(`,`))
			}
			made.Op("+").Add(item)
		}
		return made.Op("+").Add(emit.Raw(`]` + rest + `}`))
	}
	none := "there is no " + c.one
	all := []step{
		{"create", "create", least, first, ""},
		{"create", "create another", most, second, ""},
	}
	if wrong, ok := w.wrong(c); ok {
		all = append(all, step{"create", "create something wrong", wrong, nil, "invalid arguments"})
	}
	all = append(all, []step{
		{"list", "list", `{}`, page("", first, second), ""},
		{"list", "list the first page", `{"limit":1}`, page(`,"next":1`, first), ""},
		{"list", "list the last page", `{"limit":1,"after":1}`, page("", second), ""},
		{"list", "list none at a time", `{"limit":0}`, nil, "invalid arguments"},
		{"list", "list too many at a time", `{"limit":101}`, nil, "invalid arguments"},
		{"get", "get", `{"id":"id2"}`, second, ""},
		{"get", "get what is not there", `{"id":"id9"}`, nil, none},
		{"update", "update", update, jen.Id("changed"), ""},
		{"update", "update what is not there", `{"id":"id9"}`, nil, none},
		{"delete", "delete", `{"id":"id1"}`, jen.Id("changed"), ""},
		{"delete", "delete what is not there", `{"id":"id1"}`, nil, none},
		{"get", "get what was deleted", `{"id":"id1"}`, nil, none},
		{"list", "list what is left", `{}`, page("", second), ""},
		{"list", "list behind what was deleted", `{"after":1}`, page("", second), ""},
	}...)
	for i := range all {
		all[i].tool = c.feature + "_" + all[i].tool
	}
	file := featureTest(c.p, c.feature)
	file.Comment(fmt.Sprintf("// What is done to %s, one after the other. Ids and times are those of the test's log.", c.feature))
	file.Func().Id("TestCRUD").Params(jen.Id("t").Op("*").Qual("testing", "T")).BlockFunc(func(g *jen.Group) {
		serveFeature(c.p, g, c.feature)
		g.Const().Defs(
			jen.Id("first").Op("=").Add(emit.Raw(w.item(c, 1, 1, false, field.Field{}, nil))),
			jen.Id("second").Op("=").Add(emit.Raw(w.item(c, 2, 2, true, field.Field{}, nil))),
			jen.Id("changed").Op("=").Add(emit.Raw(w.item(c, 1, 3, false, changed, change))).Comment("// the first one, later"),
		)
		calls(g, c.p.Import("core/mcptest"), all)
	})
	return file, w.err
}

// replay is the test that the log gives the same state whenever it is read.
func (c crud) replay() (emit.File, error) {
	var w texts
	changed, change := c.changed()
	before := []step{
		{tool: "create", input: w.create(c, false)},
		{tool: "create", input: w.create(c, true)},
		{tool: "update", input: w.object("id", "id1", changed.Name, change)},
		{tool: "delete", input: w.object("id", "id2")},
	}
	file := replayTest(c.p, c.feature, func(g *jen.Group) {
		serveFeature(c.p, g, c.feature)
		for _, call := range before {
			g.Id("client").Dot("Given").Call(jen.Lit(c.feature+"_"+call.tool), emit.Raw(call.input))
		}
	})
	return file, w.err
}

// changed is a field that the test changes, and what it changes it to.
func (c crud) changed() (field.Field, any) {
	for _, f := range c.fields {
		if value, ok := f.Other(); ok {
			return f, value
		}
	}
	return c.fields[0], c.fields[0].Sample()
}
