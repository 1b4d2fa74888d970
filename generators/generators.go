// Package generators holds petrock's generators. A generator is a pure function from a project and
// an input to files. A project's own generators are in its internal/generators. Packages below this
// one:
//
//   - docs: the documentation, one page for each topic
//   - contract: the recorded schemas and versions that clients and the event log rely on
//   - gen: the API that generators use: project facts, names, fields, writing Go
//   - typecheck: sources with planned files overlaid, go/types, export data, the go command
//   - imports: adds the imports that a file lacks
//   - parts: the optional code of projects, such as PostgreSQL and OAuth
//   - derive: derives registration, schemas, wiring and the contract from plain Go
//   - trial: builds and runs examples over planned files, under limits
//   - journal: changes files atomically and records operations for undo
//   - handover: chooses and builds the petrock that belongs to a project
//   - versions: creates new versions of commands, in the part app
//   - purity: checks that replay of the event log is deterministic, in the part app
//   - linked: lists the generators of the project
//   - engine: plans, verifies, applies and records what generators return
//   - live: runs the project's server for petrock dev, and replaces it after each change
//   - launch: the program cmd/petrock of a project, which starts the others
//   - devserver: the project's own petrock as an MCP server
//   - cli: the project's own petrock as a command line
//   - petrock: the project's own petrock as a program
//
// A package imports only packages above it in this list.
package generators

import (
	"embed"
	"path"

	"github.com/petrock/petrock/generators/gen"
)

// Files holds the source of this package and of those below it, for new projects.
//
//go:embed *.go */*.go cli/help.txt *.tmpl devserver/texts.tmpl docs/*.md live/manifest.json parts/modules.txtar
var Files embed.FS

// Version is petrock's version, which the commit of a release sets; between releases it ends in
// -dev. A project records it, and keeps the generators of the version that created it.
const Version = "0.3.0-dev"

// NewFile returns an empty Go file of the package in a folder.
func NewFile(p gen.Project, dir string) gen.GoFile { return newFileOf(p, dir, "") }

// NewTestFile returns an empty Go file of the test package in a folder.
func NewTestFile(p gen.Project, dir string) gen.GoFile { return newFileOf(p, dir, "_test") }

func newFileOf(p gen.Project, dir, suffix string) gen.GoFile {
	file := gen.NewGoFile(p.Import(dir)+suffix, p.Package(dir)+suffix)
	for _, imported := range []string{dir, "core/app", "core/app/eventlog", "core/app/apptest", "core/civil", "core/mcp", "core/mcptest", "generators/gen"} {
		file.ImportName(p.Import(imported), p.Package(imported))
	}
	for imported, name := range p.Packages {
		if name == path.Base(imported) {
			file.ImportName(p.Import(imported), name)
		}
	}
	return file
}
