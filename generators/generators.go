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
//   - docs: the documentation, one page for each topic;
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
//go:embed *.go */*.go docs/*.md parts/modules.txtar
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

func (s step) example(file gen.GoFile) string {
	text := fmt.Sprintf("{Name: %q, Input: %s", s.name, file.Code(s.input))
	if s.output != nil {
		text += ", Output: " + file.Code(s.output)
	}
	if s.error != "" {
		text += ", Error: " + gen.RawString(s.error)
	}
	return text + "}"
}

// calls is a loop over calls of several tools, in order, with what follows each of them.
func calls(file gen.GoFile, mcptest string, all []step, then string) string {
	example, rows := file.Ref(mcptest, "Example"), ""
	for _, s := range all {
		rows += fmt.Sprintf("{%q, %s%s},\n", s.tool, example, s.example(file))
	}
	return `for _, step := range []struct {
		tool string
		` + example + `
	}{
		` + rows + `} {
		t.Run(step.Name, func(t *testing.T) {
			client.CheckTool(t, step.tool, step.Example)` + then + `
		})
	}`
}

// checks is a loop over calls of one component: client.CheckTool(t, "add", example).
func checks(file gen.GoFile, mcptest string, all []step, check string) string {
	rows := ""
	for _, s := range all {
		rows += s.example(file) + ",\n"
	}
	return `for _, example := range []` + file.Ref(mcptest, "Example") + `{
		` + rows + `} {
		t.Run(example.Name, func(t *testing.T) {
			` + check + `
		})
	}`
}

func checkTool(tool string) string { return fmt.Sprintf("client.CheckTool(t, %q, example)", tool) }

// rawLit is a string literal between backquotes, if possible.
func rawLit(text string) *jen.Statement { return jen.Op(gen.RawString(text)) }

// listedTest is the test of a component that does something nobody has given an example of. It never runs
// the function, which may do anything: it looks the component up in a list of the client's.
func (n named) listedTest(p gen.Project, list string) gen.GoFile {
	return n.test(p, func(gen.GoFile) string {
		return fmt.Sprintf(`for _, offered := range client.%s() {
			if offered.Name == %q {
				return
			}
		}
		t.Error("there is no %s %[2]s")`, list, n.wire, n.kind)
	})
}

// refusedTest is the same for a tool that has a property that is required: it leaves that out.
func (n named) refusedTest(p gen.Project, required string) gen.GoFile {
	if required == "" {
		return n.listedTest(p, "Tools")
	}
	return n.test(p, func(file gen.GoFile) string {
		return "// What it needs is asked for before the function runs.\n" +
			n.refuses(file, "map[string]any{}", "without "+required)
	})
}

// refuses is the part of a test that calls a tool with input that its schema refuses.
func (n named) refuses(file gen.GoFile, input, how string) string {
	file.Use("strings")
	return fmt.Sprintf(`wrong := client.CallTool(%q, %s)
		if !wrong.IsError || !strings.Contains(wrong.Text(), "invalid arguments") {
			t.Errorf("%s, %s says %%s", wrong.Text())
		}`, n.wire, input, how, n.wire)
}
