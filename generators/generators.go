// Package generators holds petrock's generators, one file each. A generator is a pure function from a
// project and an input to files. A project's own generators are in its internal/generators. Packages
// below this one:
//
//   - gen: the API that generators use: project facts, names, fields, writing Go;
//   - contract: the recorded schemas and versions that clients and the event log rely on;
//   - typecheck: sources with planned files overlaid, go/types, export data, the go command;
//   - derive: derives registration, schemas, wiring and the contract from plain Go;
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
	"slices"
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
)

// Files holds the source of this package and of those below it, for new projects.
//
//go:embed *.go */*.go docs/*.md parts/modules.txtar
var Files embed.FS

// Version is petrock's version. A project keeps the generators of the version that created it.
const Version = "0.2.0"

// A step is a tool call in a test, with the expected result.
type step struct {
	tool, name string
	input      *jen.Statement
	output     *jen.Statement // nil accepts any output
	error      string
	later      time.Duration // advance of the clock before the call
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

// stepLoop returns a loop over calls of several tools. The statements then follow each call, and each
// advance of the clock.
func stepLoop(file gen.GoFile, mcptest string, all []step, then string) string {
	example, rows, field, advance := file.Ref(mcptest, "Example"), "", "", ""
	if slices.ContainsFunc(all, func(s step) bool { return s.later > 0 }) {
		field = "later " + file.Ref("time", "Duration") + " // advance of the clock\n"
		advance = "client.Advance(step.later)" + then + "\n"
	}
	for _, s := range all {
		later := ""
		if field != "" {
			later = ", 0"
		}
		if s.later > 0 {
			later = ", " + file.Code(gen.Duration(s.later))
		}
		rows += fmt.Sprintf("{%q%s, %s%s},\n", s.tool, later, example, s.example(file))
	}
	return `for _, step := range []struct {
		tool string
		` + field + example + `
	}{
		` + rows + `} {
		t.Run(step.Name, func(t *testing.T) {
			` + advance + `client.CheckTool(t, step.tool, step.Example)` + then + `
		})
	}`
}

// exampleLoop returns a loop over calls of one component: client.CheckTool(t, "add", example).
func exampleLoop(file gen.GoFile, mcptest string, all []step, check string) string {
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

// rawLit returns a string literal, in backquotes if possible.
func rawLit(text string) *jen.Statement { return jen.Op(gen.RawString(text)) }

// listedTest returns the test of a component without examples. The function may have side effects,
// so the test only checks that the server lists the component.
func (n component) listedTest(p gen.Project, list string) gen.GoFile {
	return n.test(p, func(gen.GoFile) string {
		return fmt.Sprintf(`for _, offered := range client.%s() {
			if offered.Name == %q {
				return
			}
		}
		t.Error("%s %[2]s is not listed")`, list, n.wire, n.kind)
	})
}

// requiredTest is listedTest for a tool with a required property. It calls the tool without the
// property, which fails before the function runs.
func (n component) requiredTest(p gen.Project, required string) gen.GoFile {
	if required == "" {
		return n.listedTest(p, "Tools")
	}
	return n.test(p, func(file gen.GoFile) string {
		return "// Arguments are validated before the function runs.\n" +
			n.invalidCall(file, "map[string]any{}", "{}")
	})
}

// invalidCall returns statements that call the tool with input that its schema refuses. arguments is the
// input as JSON.
func (n component) invalidCall(file gen.GoFile, input, arguments string) string {
	file.Use("strings")
	return fmt.Sprintf(`wrong := client.CallTool(%q, %s)
		if !wrong.IsError || !strings.Contains(wrong.Text(), "invalid arguments") {
			t.Errorf("%[1]s with %%s returned %%s, want invalid arguments", %[3]s, wrong.Text())
		}`, n.wire, input, file.Code(rawLit(arguments)))
}
