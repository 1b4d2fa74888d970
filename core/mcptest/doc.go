// Package mcptest is an MCP client for tests, connected to a server in memory.
//
//	client := mcptest.Serve(t, tools.Register)
//	result := client.CallTool("add", tools.AddInput{A: 2, B: 3})
//	if got := result.Text(); got != `{"sum":5}` {
//		t.Errorf("add said %s", got)
//	}
//
// An [Example] is a row of a table-driven test.
//
//	for _, example := range []mcptest.Example{
//		{Name: "two numbers", Input: tools.AddInput{A: 2, B: 3}, Output: tools.AddOutput{Sum: 5}},
//		{Name: "one number", Input: `{"a":2}`, Error: "invalid arguments"},
//	} {
//		t.Run(example.Name, func(t *testing.T) { client.CheckTool(t, "add", example) })
//	}
//
// [Serve] makes a server, [Connect] connects to an existing one, both with a [client.InProcess] client. Calls
// go through the whole protocol: arguments are validated, and results are rendered for the revision. The
// functions of [Options] answer questions of the server. Errors of the protocol fail the test, except those
// of [Client.Call]. The connection ends with the test.
package mcptest
