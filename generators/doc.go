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
//   - handover: builds and starts the petrock that belongs to a project;
//   - devserver: the project's own petrock as an MCP server;
//   - cli: the project's own petrock as a command line.
//
// Imports point down: cli → devserver → engine → derive → typecheck → gen.
package generators
