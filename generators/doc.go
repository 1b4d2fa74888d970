// Package generators holds petrock's generators, one file each: pure functions that are told what
// a project is and what is wanted, and return files. A project adds its own in internal/generators:
// each exported function that makes a [kit.Draft] is one. What they are made of is in the packages below, which
// make up a project's workshop:
//
//   - gocmd: starts the go command;
//   - filelock: lets processes take turns;
//   - change: what would happen to files, as values with a diff;
//   - journal: changes files whole or not at all, and remembers it;
//   - naming: makes of one name those that Go, clients and the file system need;
//   - field: reads the fields of a component as people type them;
//   - emit: writes Go;
//   - check: asks the go command what a project's packages are, and whether they compile and link;
//   - source: reads a project's Go, with planned files over it;
//   - exports: knows what the go command knows of packages from outside;
//   - typing: type-checks a project in memory;
//   - imports: finds the packages that a file names and does not import;
//   - trial: builds and runs tests over planned files, under limits;
//   - derive: makes registration, schemas and wiring of plain Go;
//   - kit: what a generator is;
//   - engine: makes a transaction of what a generator returns;
//   - workshop: offers all of it as tools over MCP;
//   - cli: offers all of it in a terminal.
//
// Arrows point down only: cli → workshop → generators; cli → engine → derive → typing → source.
package generators
