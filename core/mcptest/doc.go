// Package mcptest lets a test talk to a server as a client would, in memory.
//
//	client := mcptest.Serve(t, tools.Register)
//	result := client.CallTool("add", tools.AddInput{A: 2, B: 3})
//	if got := result.Text(); got != `{"sum":5}` {
//		t.Errorf("add said %s", got)
//	}
//
// An [Example] says the same as a row of a table.
//
//	for _, example := range []mcptest.Example{
//		{Name: "two numbers", Input: tools.AddInput{A: 2, B: 3}, Output: tools.AddOutput{Sum: 5}},
//		{Name: "one number", Input: `{"a":2}`, Error: "invalid arguments"},
//	} {
//		t.Run(example.Name, func(t *testing.T) { client.CheckTool(t, "add", example) })
//	}
//
// [Serve] makes a server, [Connect] takes one that is there. The client goes through the handshake,
// or does without in a revision that has none, and the whole of the protocol lies between it and
// the tool: arguments are checked, results are rendered, errors are what a client sees,
// questions are answered by [Options].Handle. What goes wrong beyond that fails the test at
// once; a test that is about errors of the protocol uses [Client.Call]. The session ends with the test.
package mcptest
