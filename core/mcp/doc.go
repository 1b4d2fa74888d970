// Package mcp implements the Model Context Protocol: its types and a server. Package client has the
// client, and package mcphttp serves HTTP.
//
//	server := mcp.NewServer(mcp.Implementation{Name: "adder", Version: "1.0.0"}, mcp.Options{})
//	err := mcp.AddTool(server, mcp.Tool{Name: "add", Description: "Adds two numbers."}, Add)
//	…
//	err = server.ServeStdio(ctx, os.Stdout)
//
// # Server
//
// A [Server] offers components to any number of clients: tools, prompts, resources and resource
// templates. [Server.ServeStdio] serves the client that started the process, [Server.Serve] a
// client at the other end of any [jsonrpc.Transport]. Components can be added and removed while the
// server runs; clients are notified. The server renders descriptions and results for the protocol
// revision of each client, so handlers do not depend on the revision.
//
// # Tools, prompts and resources
//
// A tool is a function that the model calls. Its arguments are validated against a JSON Schema
// before the function is called, and its result, if it has an output schema, before it is sent. A
// prompt is a template for messages that the user chooses. A resource is data that the client reads
// by its URI; a resource template stands for many of them, such as note://{id}.
//
// [AddTool], [AddPrompt], [AddResource] and [AddResourceTemplate] add Go functions such as
// func(context.Context, AddInput) (AddOutput, error). The schemas are inferred from the types; see
// Infer of package schema for the rules, and that package for limits, defaults, enums and
// descriptions in struct tags. A schema that is set must match the types; otherwise the function
// returns an error. The methods [Server.AddTool], [Server.AddPrompt], [Server.AddResource] and
// [Server.AddResourceTemplate] add handlers that take JSON or text, for components that are only
// known at run time.
//
// # Calls
//
// Each request is a [Call]. Handlers run concurrently. A handler finds its call with [CallFrom],
// and can report [Progress], log with [Logger] to the server's log and to a client that wants it,
// and [Ask] the user. Its context ends when the client cancels the request. [Server.Provide] adds
// values to the contexts of all calls. A [Hook] surrounds every call, for authentication, metrics
// and rate limits.
//
// # Asking the user
//
// [Ask] sends questions to the client of a call and stores the answers in them: an [Elicitation]
// shows the user a form, a [URLElicitation] sends the user to a web page, a [Sampling] lets the
// client's model continue a conversation, and a [RootList] asks for the directories that the user
// works on. See Ask for what it means that a handler may run more than once.
//
// # Sessions and eras
//
// Up to revision 2025-11-25, a client begins a [Session] with a handshake, which negotiates the
// revision and the capabilities. From 2026-07-28 on there are no sessions: each request declares
// its revision and the capabilities of its client. Session.handle distinguishes the two eras (over
// HTTP, package mcphttp does). Both share one table of methods, and [Ask], [Progress] and [Logger]
// work in both. Requests that only change the session, such as initialize, are handled in order.
//
// # Errors
//
// A protocol error, such as an unknown tool, params of the wrong type or a request before the
// handshake, fails the request before a handler runs. Arguments that the schema does not allow, and
// errors that a tool returns, become a result with IsError set, which the model can read. A tool
// that returns a [*jsonrpc.Error] itself, not wrapped, fails the request, as do missing scopes and,
// in revision 2026-07-28, questions that the client cannot answer. Errors of prompts and resources
// always fail the request.
//
// # Reading the source
//
// From the top down, so that each file uses only files after it: serve.go accepts connections and
// has the table of methods; session.go handles a request in either era; methods.go, list.go and
// completion.go are the methods. add.go and register.go add components. ask.go, log.go and call.go
// are what handlers can do with a call. server.go has the types that all of these share. The rest
// knows no server: component.go (registered components), changes.go and askstate.go (notifications
// and signed state), the questions, and the types of the protocol.
package mcp
