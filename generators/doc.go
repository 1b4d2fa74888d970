// Package generators is what a project's workshop is made of, for people and for agents.
//
//   - gocmd: starts the go command;
//   - filelock: lets processes keep out of each other's way;
//   - change: what a generation would do to the files of a project, as values;
//   - journal: changes those files whole or not at all, and remembers it;
//   - check: asks the go command what a project's packages are, and whether they compile and link;
//   - naming: makes of one name those that Go, clients and the file system need;
//   - field: reads the fields of a component as people type them;
//   - workshop: offers all of it as tools over MCP;
//   - cli: offers all of it in a terminal.
//
// Arrows point down only: cli → workshop → check → gocmd → core, and field → naming.
// Arrows point down only: cli → workshop → check → gocmd → core, and journal →
// change and filelock.
package generators
