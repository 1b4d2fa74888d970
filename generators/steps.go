package generators

import (
	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
)

// A step is a call of a tool in a test, and what comes of it.
type step struct {
	tool, name string
	input      *jen.Statement
	output     *jen.Statement // nil if any will do
	error      string
}

// calls is a loop over calls that are made one after the other, with what follows each of them.
//
//	for _, step := range []struct {
//		tool string
//		mcptest.Example
//	}{
//		{"posts_get", mcptest.Example{Name: "get", Input: posts.Get{ID: "id1"}, Output: `{"id":"id1"}`}},
//	} {
//		t.Run(step.Name, func(t *testing.T) { client.CheckTool(t, step.tool, step.Example) })
//	}
func calls(g *jen.Group, mcptest string, all []step, then ...jen.Code) {
	var rows []jen.Code
	for _, s := range all {
		rows = append(rows, jen.Values(jen.Lit(s.tool), jen.Qual(mcptest, "Example").Add(s.example())))
	}
	table := jen.Index().Struct(jen.Id("tool").String(), jen.Qual(mcptest, "Example")).Custom(gen.Multiline(), rows...)
	g.For(jen.List(jen.Id("_"), jen.Id("step")).Op(":=").Range().Add(table)).Block(
		jen.Id("t").Dot("Run").Call(jen.Id("step").Dot("Name"), jen.Func().Params(jen.Id("t").Op("*").Qual("testing", "T")).Block(append([]jen.Code{
			jen.Id("client").Dot("CheckTool").Call(jen.Id("t"), jen.Id("step").Dot("tool"), jen.Id("step").Dot("Example")),
		}, then...)...)),
	)
}

// checks is a loop over calls of one tool.
//
//	for _, example := range []mcptest.Example{
//		{Name: "two numbers", Input: tools.AddInput{A: 2, B: 3}, Output: tools.AddOutput{Sum: 5}},
//	} {
//		t.Run(example.Name, func(t *testing.T) { client.CheckTool(t, "add", example) })
//	}
func checks(g *jen.Group, mcptest string, all []step, call *jen.Statement) {
	var rows []jen.Code
	for _, s := range all {
		rows = append(rows, s.example())
	}
	g.For(jen.List(jen.Id("_"), jen.Id("example")).Op(":=").Range().Index().Qual(mcptest, "Example").Custom(gen.Multiline(), rows...)).Block(
		jen.Id("t").Dot("Run").Call(jen.Id("example").Dot("Name"), jen.Func().Params(jen.Id("t").Op("*").Qual("testing", "T")).Block(call)),
	)
}

// checkTool is the call of a tool in such a loop.
func checkTool(tool string) *jen.Statement {
	return jen.Id("client").Dot("CheckTool").Call(jen.Id("t"), jen.Lit(tool), jen.Id("example"))
}

// example is the step as an example, in braces.
func (s step) example() *jen.Statement {
	set := []jen.Code{gen.KeyValue("Name", jen.Lit(s.name)), gen.KeyValue("Input", s.input)}
	if s.output != nil {
		set = append(set, gen.KeyValue("Output", s.output))
	}
	if s.error != "" {
		set = append(set, gen.KeyValue("Error", gen.RawString(s.error)))
	}
	return jen.Values(set...)
}
