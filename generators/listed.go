package generators

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
)

// listedTest is the test of a component that does something nobody has given an example of. It never runs
// the function, which may do anything: it looks the component up in a list of the client's.
func (n named) listedTest(p gen.Project, list string) gen.GoFile {
	return n.test(p, func(g *jen.Group) {
		g.For(jen.List(jen.Id("_"), jen.Id("offered")).Op(":=").Range().Id("client").Dot(list).Call()).Block(
			jen.If(jen.Id("offered").Dot("Name").Op("==").Lit(n.wire)).Block(jen.Return()),
		)
		g.Id("t").Dot("Error").Call(jen.Lit(fmt.Sprintf("there is no %s %s", n.kind, n.wire)))
	})
}

// refusedTest is the same for a tool that has a property that is required: it leaves that out.
func (n named) refusedTest(p gen.Project, required string) gen.GoFile {
	if required == "" {
		return n.listedTest(p, "Tools")
	}
	return n.test(p, func(g *jen.Group) {
		g.Comment("// What it needs is asked for before the function runs.")
		g.Id("wrong").Op(":=").Id("client").Dot("CallTool").Call(jen.Lit(n.wire), jen.Map(jen.String()).Any().Values())
		g.If(jen.Op("!").Id("wrong").Dot("IsError").Op("||").Op("!").Qual("strings", "Contains").Call(jen.Id("wrong").Dot("Text").Call(), jen.Lit("invalid arguments"))).Block(
			jen.Id("t").Dot("Errorf").Call(jen.Lit("without "+required+", "+n.wire+" says %s"), jen.Id("wrong").Dot("Text").Call()),
		)
	})
}
