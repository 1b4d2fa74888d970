// Package generators is what writes Go into a project, for people and for agents.
//
//   - check: asks the go command what a project's packages are, and whether they compile;
//   - workshop: offers all of it as tools over MCP;
//   - cli: offers all of it in a terminal.
//
// Arrows point down only: cli → workshop → check → core.
package generators
