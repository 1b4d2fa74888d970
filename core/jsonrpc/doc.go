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
// A [Transport] carries whole messages and does not look into them. A [Conn] matches answers to calls, runs handlers, and
// decides how an invalid message is answered. The handler gives messages their meaning.
//
// A request is served by the goroutine that read it, without a switch to another, as long as it is quick. [Request] says how
// order is kept, and how a slow request lets others be read.
//
// Where messages arrive one by one and each has its own response, as over HTTP, there is nothing to read from:
// [Conn.Receive] handles a message that the caller has received, and sends the answer to a [Responder].
//
// # Decisions
//
// Where JSON-RPC leaves a choice, or a peer breaks its rules:
//
//   - An id is a string or a whole number. It is echoed byte for byte. null and numbers with a fraction are refused with
//     [InvalidRequest].
//   - A request whose id belongs to a request in flight is refused with an error without an id, so that it cannot be taken for
//     the answer to the first one.
//   - An error that belongs to no known id is sent without one, or with a null id if [Dialect] says so.
//   - Keys are case-sensitive: "ID" is not "id". Unknown keys are ignored.
//   - A duplicate key anywhere in a message is an [InvalidRequest], and so is nesting beyond [strictjson.MaxDepth]. Invalid
//     UTF-8 is a [ParseError].
//   - params may be an object or an array; null counts as absent.
//   - An array of messages is a batch if [Dialect] allows it, else an [InvalidRequest]. A batch is refused as a whole if it is
//     not valid JSON, nested too deeply, or longer than 1000 messages; otherwise each message is answered by itself.
//   - Responses and notifications are never answered, even if they are invalid, as long as they can be recognized. Data that
//     is not JSON at all, or too large, is answered unless it looks like a response.
//   - A request beyond [Options].MaxInFlight is refused with an [InternalError]. Notifications and responses are not limited.
//   - An invalid response fails the call that waits for it.
package jsonrpc
