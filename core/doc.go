// Package core holds all that a generated server runs on.
//
// There is nothing in core itself; its packages are:
//
//   - strictjson: reads JSON exactly;
//   - jsonrpc: JSON-RPC 2.0, no word of MCP: messages, framing, the connection;
//   - schema: JSON Schema, values and validation;
//   - mcp: MCP, no byte framing: protocol types, the server, stdio, streamable HTTP;
//   - client: the MCP client: processes, HTTP, servers in the same process;
//   - serve: the command line of a server;
//   - mcpcli: the commands that call a server in a terminal;
//   - auth: who calls over HTTP, and whether they may come in;
//   - web: a server on HTTP: listening, hosts and origins, limits, the end;
//   - stdfd: moves standard descriptors out of the way, for mcp and serve/stdout;
//   - serve/stdout: reserves standard output for the protocol while a program starts;
//   - terminal: what command lines share: usage, statuses, who looks on;
//   - project: the folder that the source lives in, and its petrock.json;
//   - mcptest: an in-memory client for tests.
//
// Arrows point down only:
//
//	mcptest → mcp → jsonrpc, schema → strictjson → standard library
//	serve → mcpcli → client → mcp
//	          mcp, serve/stdout → stdfd → standard library
//	          web, mcp → auth → standard library
//	          terminal, project → standard library
package core
