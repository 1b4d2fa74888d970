// Package generators holds petrock's generators, one file each: pure functions from a project and an
// input to files. A project's own are in its internal/generators. The packages below make them a program:
//
//   - gen: what a generator is made of: project facts, names, fields, writing Go;
//   - contract: what a project promises to clients and to its event log;
//   - typecheck: sources with planned files over them, go/types, export data, the go command;
//   - derive: registration, schemas, wiring and the contract from plain Go;
//   - imports: adds the imports that a file lacks;
//   - trial: builds and runs examples over planned files, under limits;
//   - journal: changes files atomically and records operations for undo;
//   - engine: plans, verifies, applies and records what generators return;
//   - handover: chooses, builds and starts the petrock that belongs to a project;
//   - devserver: the project's own petrock as an MCP server;
//   - cli: the project's own petrock as a command line.
//
// Imports point down: cli → devserver → engine → derive → typecheck → gen.
package generators

import (
	"embed"
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
)

// Files holds the source of this package and of those below it, for new projects.
//
//go:embed *.go */*.go devserver/docs/*.md parts/modules.txtar
var Files embed.FS

// Version is the version of petrock that these generators are of. A project keeps those that
// it was made with.
const Version = "0.2.0"

// A step is a call of a tool in a test, and what comes of it.
type step struct {
	tool, name string
	input      *jen.Statement
	output     *jen.Statement // nil if any will do
	error      string
}

// calls is a loop over calls that are made one after the other, with what follows each of them:
// client.CheckTool(t, step.tool, step.Example).
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

// checks is a loop over calls of one tool: client.CheckTool(t, "add", example).
func checks(g *jen.Group, mcptest string, all []step, call *jen.Statement) {
	var rows []jen.Code
	for _, s := range all {
		rows = append(rows, s.example())
	}
	g.For(jen.List(jen.Id("_"), jen.Id("example")).Op(":=").Range().Index().Qual(mcptest, "Example").Custom(gen.Multiline(), rows...)).Block(
		jen.Id("t").Dot("Run").Call(jen.Id("example").Dot("Name"), jen.Func().Params(jen.Id("t").Op("*").Qual("testing", "T")).Block(call)),
	)
}

func checkTool(tool string) *jen.Statement {
	return jen.Id("client").Dot("CheckTool").Call(jen.Id("t"), jen.Lit(tool), jen.Id("example"))
}

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
