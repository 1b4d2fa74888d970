// Package serve is the command line of an MCP server. A main package describes the server, and [Main] does the rest:
//
//	func main() {
//		os.Exit(serve.Main(serve.Config{Name: "hello", Wire: wire}))
//	}
//
// The commands are mcp (serve over standard input and output), serve (over HTTP), version, completion, and those that call the server's
// own tools, resources and prompts in this process: tools, call, resources, read, prompts and prompt. An [Extension] adds more.
//
// Linking this package reserves standard output for the protocol from the start: see package stdout.
package serve
