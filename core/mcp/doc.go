// Package mcp is the Model Context Protocol: its types, and a server. Package client is a client.
//
//	server := mcp.NewServer(mcp.Implementation{Name: "adder", Version: "1.0.0"}, mcp.Options{})
//	err := mcp.AddTool(server, mcp.Tool{Name: "add", Description: "Adds two numbers."}, Add)
//	…
//	err = server.ServeStdio(ctx, os.Stdout)
//
// Add is func(context.Context, AddInput) (AddOutput, error). The schemas of its input and output are inferred from
// the types: see [schema.Infer] for the rules, and [schema.Tag] for limits, defaults, enums and descriptions in struct
// tags. [AddPrompt], [AddResource] and [AddResourceTemplate] do the same for prompts and resources. A schema that is
// given is compared with the types instead, so that one which is stale or mistyped is refused at the start. Handlers
// that take JSON are added by the methods of [Server].
//
// [Server.HTTP] puts the same server on HTTP, for any number of clients at once.
//
// A [Server] holds tools, resources and prompts, and serves any number of clients,
// each in the revision of the protocol that it speaks. What the handlers return is rendered
// for that revision, so that they need not know it.
//
// # Eras
//
// Up to revision 2025-11-25 a client begins with a handshake, and what is agreed on holds for its
// session. From 2026-07-28 on there are no sessions: each request says its revision and what its
// client can do. Both come over the same connection, are told apart by Session.handle (over HTTP by
// package mcphttp, for each request), and go through the same table of methods. Where the eras differ most, handlers have one call for both:
// [Ask] puts questions to the client, [Progress] and [Logger] tell it things.
//
// # Order
//
// A message travels from the connection to Session.handle, where the era of the
// protocol and the state of the session decide whether it is taken; from there
// through the [Hook], if there is one, to its row in the table of methods; from there
// to the handler; and what the handler returns is rendered on the way back. Handlers
// run concurrently. What only changes the session, such as initialize, is done in the
// order in which it came.
//
// # Errors
//
// An error of the protocol (an unknown tool, params of the wrong shape, a request
// that comes too early) fails the request: nothing ran. Arguments that the schema does not
// allow, and an error that a tool returns, make a result with IsError set instead,
// which the model sees and can act on. A handler that returns a [jsonrpc.Error]
// chooses the first kind.
package mcp
