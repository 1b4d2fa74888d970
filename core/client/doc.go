// Package client is a client of the Model Context Protocol.
//
//	c, err := client.Start(ctx, client.Command{Program: "weather", Args: []string{"mcp"}}, client.Options{})
//	…
//	defer c.Close()
//	result, err := c.CallTool(ctx, "forecast", map[string]any{"city": "Oslo"})
//
// [Start] runs a server as a child process, [Dial] connects to one over HTTP, [InProcess] to a
// [mcp.Server] of this process, and [Over] to one at the other end of any transport. Client and server
// agree on the newest revision that both know.
//
// Requests and notifications of the server go to the functions of [Options], in the same way in all
// revisions. An error is a [*jsonrpc.Error] if the server answered with it, and a [*ConnectionError] if
// there is no valid answer.
package client
