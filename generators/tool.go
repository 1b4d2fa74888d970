package generators

import (
	"errors"
	"fmt"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
)

// ToolInput is what the generator of tools takes.
type ToolInput struct {
	Name        string   `json:"name,omitempty"`        // Name of the tool, such as send_mail; with from, that of the function if left out
	Fields      []string `json:"fields,omitempty"`      // Fields of its input: title:string, limit:int:1..100, status:enum(open,done), due:time?, tags:[]string, each maybe with a description in double quotes behind a space
	Output      []string `json:"output,omitempty"`      // Fields of its output, likewise; a text called result if left out
	Description string   `json:"description,omitempty"` // What the tool does, for the model that has to choose, such as: Sends a mail.
	From        string   `json:"from,omitempty"`        // A function of the project to make the tool of, instead of fields and output: ./store.Find, or ./store.DB.Find for a method of a variable
	Written
}

// Tool makes a tool: a function that a model can call, with types for its input and output, and its test.
// With a body and examples it is finished; without, the function is yours to write.
func Tool(p gen.Project, in ToolInput) (gen.Draft, error) {
	if in.From != "" {
		return toolFrom(p, in)
	}
	if in.Name == "" {
		return gen.Draft{}, errors.New("a tool needs a name: send_mail, for instance; or a function of the project that it is made of: from ./store.Find")
	}
	n, err := names(p, "tool", "tools", in.Name, in.Description)
	if err != nil {
		return gen.Draft{}, err
	}
	if err := n.take(in.Written, false); err != nil {
		return gen.Draft{}, err
	}
	input, err := gen.ParseFields(in.Fields)
	if err != nil {
		return gen.Draft{}, err
	}
	output, err := gen.ParseFields(in.Output)
	if err != nil {
		return gen.Draft{}, err
	}
	if len(output) == 0 {
		output = []gen.Field{{Name: "result", Go: "Result", Type: gen.FieldType{Kind: gen.KindString}, Description: "What came of it"}}
	}

	taken := structure{name: n.goName + "Input", prefix: n.goName, about: "is what " + n.wire + " takes.", fields: input}
	given := structure{name: n.goName + "Output", prefix: n.goName + "Output", about: "is what " + n.wire + " gives back.", fields: output}
	if err := n.apart(taken, given); err != nil {
		return gen.Draft{}, err
	}

	file := n.file(p)
	taken.write(file)
	given.write(file)
	n.function(file, []jen.Code{jen.Id("ctx").Qual("context", "Context"), jen.Id("in").Id(n.goName + "Input")},
		jen.Id(n.goName+"Output"), jen.Id(n.goName+"Output").Values())

	test, err := n.toolTest(p, taken, given)
	if err != nil {
		return gen.Draft{}, err
	}
	return n.draft(file, test)
}

// toolTest is the test of a tool, which talks to it as a client would.
func (n named) toolTest(p gen.Project, taken, given structure) (gen.GoFile, error) {
	n.input, n.output = taken.shape(p.Import(n.dir)), given.shape(p.Import(n.dir))
	switch {
	case len(n.examples) > 0:
		return n.toolExamples(p)
	case n.isWritten():
		at := slices.IndexFunc(taken.fields, func(f gen.Field) bool { return !f.Optional })
		if at < 0 {
			return n.refusedTest(p, ""), nil
		}
		return n.refusedTest(p, taken.fields[at].Name), nil
	}
	right, err := encodeFields(taken.fields, requiredSample)
	if err != nil {
		return gen.GoFile{}, err
	}
	bad, value, ok := wrongField(taken.fields)
	wrong, err := encodeFields(taken.fields, samplesWith(bad, value))
	return n.test(p, func(g *jen.Group) {
		g.Id("result").Op(":=").Id("client").Dot("CallTool").Call(jen.Lit(n.wire), n.argument(p, n.wire, right))
		g.Comment(fmt.Sprintf("// It is not written yet. When it is, say here what %s gives back.", n.wire))
		g.If(jen.Op("!").Id("result").Dot("IsError").Op("||").Op("!").Qual("strings", "Contains").Call(jen.Id("result").Dot("Text").Call(), jen.Lit(n.where()))).Block(
			jen.Id("t").Dot("Errorf").Call(jen.Lit(n.wire+" says %s"), jen.Id("result").Dot("Text").Call()),
		)
		if !ok {
			return
		}
		g.Comment(fmt.Sprintf("// What %s must not be is refused before the function runs.", bad.Name))
		g.Id("wrong").Op(":=").Id("client").Dot("CallTool").Call(jen.Lit(n.wire), n.argument(p, n.wire, wrong))
		g.If(jen.Op("!").Id("wrong").Dot("IsError").Op("||").Op("!").Qual("strings", "Contains").Call(jen.Id("wrong").Dot("Text").Call(), jen.Lit("invalid arguments"))).Block(
			jen.Id("t").Dot("Errorf").Call(jen.Lit("with a wrong "+bad.Name+", "+n.wire+" says %s"), jen.Id("wrong").Dot("Text").Call()),
		)
	}), err
}

// toolExamples is the test of a tool that has examples.
func (n named) toolExamples(p gen.Project) (gen.GoFile, error) {
	if !n.alone() {
		all, err := n.steps(p)
		return n.test(p, func(g *jen.Group) { calls(g, p.Import("core/mcptest"), all) }), err
	}
	return n.exampleTest(p, checkTool(n.wire), func(e gen.Example) (input, output *jen.Statement, err error) {
		return n.toolRow(p, n.wire, e)
	})
}
