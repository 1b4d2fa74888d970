// Package core holds the packages that a server runs on. It has no code of its own.
//
//   - internal/decimal: exact decimal numbers
//   - internal/jsonscan: scan JSON; the implementation of strictjson
//   - plumbing/jsonfield: the JSON keys of struct fields
//   - civil: calendar dates, and durations such as 1h30m
//   - strictjson: read and write JSON exactly
//   - internal/pace: measures which functions are quick
//   - internal/burst: write the answers to a burst of requests together
//   - jsonrpc: JSON-RPC 2.0: messages, errors, framing; knows nothing of MCP
//   - plumbing/peer: JSON-RPC connections: calls, handlers, scheduling
//   - internal/jsonschema: the implementation of schema
//   - schema: JSON Schema: validation, schemas of Go types
//   - internal/form: the schemas of forms that users fill in
//   - plumbing/inference: schemas of types in source code
//   - stdfd: keep standard input and output for the protocol
//   - plumbing/terminal: helpers for command lines: usage errors, exit codes, progress
//   - plumbing/project: the folder of a server's source, and its petrock.json
//   - auth: authenticate callers over HTTP: identities, gates, API keys
//   - auth/token: authenticate callers by OAuth bearer tokens
//   - plumbing/transport: the interface between mcp and mcphttp
//   - plumbing/uritemplate: the URI templates of resources
//   - mcp: MCP: the types of the protocol, the server, stdio
//   - mcphttp: serve MCP over streamable HTTP
//   - plumbing/filelock: lock files between processes, for the journal and app/sqlite
//   - plumbing/process: child processes with pipes
//   - client: the MCP client, for child processes and servers in this process
//   - client/clienthttp: the MCP client, for servers over HTTP
//   - mcptest: a client for tests
//   - plumbing/mcpcli: the commands that call a server: tools, call, read, prompt and so on
//   - serve: the command line of a server
//   - auth/oauth: the flags --oauth-… of the command serve
//   - app/eventlog: the event log: records, documents, and the contract of a store
//   - app/internal/amendments: the documents that amend events
//   - app/internal/panics: panics as errors
//   - app/internal/statestream: states as lines of JSON, for snapshots
//   - app: event-sourced features: commands, queries, workers
//   - app/sqlite: the event log in a SQLite file
//   - app/postgres: the event log in a PostgreSQL database
//   - app/storetest: the tests that every store of events must pass
//   - app/appmcp: offer features to MCP clients, as tools and resources
//   - app/appserve: commands and flags of features: log, workers, replay, backup, restore
//   - app/apptest: test features as a client sees them
//
// The packages below plumbing are shared with petrock's own generators and commands; the code that
// you write for a server rarely needs them. A package imports only packages above it in this list.
// client/clienthttp, auth/token, auth/oauth, app and the packages below app are parts: a project
// has them once it uses them.
package core
