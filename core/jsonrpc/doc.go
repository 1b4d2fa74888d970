// Package jsonrpc speaks JSON-RPC 2.0 over any transport, in both directions at once.
//
//	lines := jsonrpc.NewLines(os.Stdin, os.Stdout, jsonrpc.LinesOptions{})
//	conn := jsonrpc.NewConn(lines, jsonrpc.Options{
//		Handle: func(ctx context.Context, req *jsonrpc.Request) (any, error) {
//			return map[string]string{"you called": req.Method}, nil
//		},
//	})
//	err := conn.Run(ctx)
//
// A [Transport] carries whole messages and knows nothing of what is in them. A
// [Conn] knows nothing of bytes on a wire: it matches answers to calls, runs
// handlers, and decides what a bad message is answered with. What messages mean
// is the business of the handler.
//
// A request is served by the goroutine that read it, without a switch to another, as long as
// it is quick; [Request] says how order is kept, and how a slow one lets the reading go on.
//
// Where messages come one by one, each with a way back of its own, as over HTTP, nobody reads: [Conn.Receive] serves a message
// that somebody else has received, and its answer goes to an [Responder].
//
// # Decisions
//
// Where JSON-RPC leaves a choice, or a peer breaks its rules, this is what happens:
//
//   - An id is a string or a whole number. It is echoed byte for byte. null and
//     numbers with a fraction are refused with [InvalidRequest].
//   - A request whose id belongs to a request still running is refused with an
//     error that carries no id, so that it cannot be taken for the answer to the first.
//   - An error that belongs to no known id goes out without one, or with a null
//     id where [Dialect] says so.
//   - A key counts only if it is spelled exactly so: "ID" is not "id". Unknown keys are ignored.
//   - A key that stands twice, anywhere in a message, is an [InvalidRequest], and so is
//     nesting beyond [strictjson.MaxDepth]. Invalid UTF-8 is a [ParseError].
//   - params may be an object or an array; null counts as absent.
//   - An array of messages is a batch where [Dialect] allows it, else an [InvalidRequest].
//     It is refused as a whole if it is not JSON, nested too deep, or longer than 1000
//     messages; otherwise each message is answered for itself.
//   - Nothing is ever said in answer to a response or a notification, however broken,
//     as long as it can be told for one. What is not JSON at all, or too large to be
//     read, is answered unless it looks like a response.
//   - A request beyond [Options].MaxInFlight is refused with an [InternalError]. Notifications
//     and responses are never refused for their number.
//   - A response that is broken fails the call that waits for it.
package jsonrpc
