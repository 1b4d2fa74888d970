// Package generators holds petrock's generators. A generator is a pure function from a
// project and an input to files. A project's own generators are in its internal/generators. Packages
// below this one:
//
//   - gen: the API that generators use: project facts, names, fields, writing Go;
//   - contract: the recorded schemas and versions that clients and the event log rely on;
//   - typecheck: sources with planned files overlaid, go/types, export data, the go command;
//   - imports: adds the imports that a file lacks;
//   - parts: optional packages of core, which projects add when they need them;
//   - derive: derives registration, schemas, wiring and the contract from plain Go;
//   - trial: builds and runs examples over planned files, under limits;
//   - journal: changes files atomically and records operations for undo;
//   - engine: plans, verifies, applies and records what generators return;
//   - handover: chooses, builds and starts the petrock that belongs to a project;
//   - docs: the documentation, one page for each topic;
//   - devserver: the project's own petrock as an MCP server;
//   - live: connects an MCP client to a project under development;
//   - launch: the program cmd/petrock of a project, which starts petrock;
//   - cli: the project's own petrock as a command line;
//   - petrock: the project's petrock without its own generators, as a program.
//
// Imports point down: cli → devserver → engine → derive → gen → contract.
package generators

import (
	"embed"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
)

// Files holds the source of this package and of those below it, for new projects.
//
//go:embed *.go */*.go docs/*.md live/manifest.json parts/modules.txtar
var Files embed.FS

// Version is petrock's version, which the commit of a release sets; between releases it ends in -dev.
// A project records it, and keeps the generators of the version that created it.
const Version = "0.3.0-dev"

// textLit returns a string literal, in backquotes if that saves escapes.
func textLit(text string) *jen.Statement {
	if !strings.ContainsAny(text, "\"\\\n") {
		return jen.Lit(text)
	}
	return jen.Op(gen.RawString(text))
}
