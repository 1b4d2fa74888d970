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

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
)

// Files holds the source of this package and of those below it, for new projects.
//
//go:embed *.go */*.go docs/*.md live/livehttp/*.go live/manifest.json parts/modules.txtar
var Files embed.FS

// Version is petrock's version. A project keeps the generators of the version that created it.
const Version = "0.2.0"

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

// requiredTest is listedTest for a tool. If its input has required properties, the test calls the tool
// without them, which fails before the function runs.
func (n component) requiredTest(p gen.Project, hasRequired bool) gen.GoFile {
	if !hasRequired {
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
