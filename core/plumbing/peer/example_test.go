package peer_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/plumbing/peer"
)

// A server that answers requests over a pair of streams.
func Example() {
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"hello"}
{"jsonrpc":"2.0","id":"two","method":"hello"}
this is not JSON
`)
	var out strings.Builder
	lines := jsonrpc.NewLines(in, &out, jsonrpc.LinesOptions{})
	conn := peer.NewConn(lines, peer.Options{
		Handle: func(ctx context.Context, req *peer.Request) (any, error) {
			return map[string]string{"you called": req.Method()}, nil
		},
	})
	if err := conn.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Print(out.String())
	// Output:
	// {"jsonrpc":"2.0","id":1,"result":{"you called":"hello"}}
	// {"jsonrpc":"2.0","id":"two","result":{"you called":"hello"}}
	// {"jsonrpc":"2.0","error":{"code":-32700,"message":"not JSON: unexpected \"h\" in literal true at byte 1"}}
}

// Two peers in one process: each may call the other.
func ExampleConn_Do() {
	here, there := jsonrpc.Pipe()
	server := peer.NewConn(there, peer.Options{
		Handle: func(_ context.Context, req *peer.Request) (any, error) {
			if req.Method() != "double" {
				return nil, jsonrpc.Errorf(jsonrpc.MethodNotFound, "no method %q", req.Method())
			}
			return []string{string(req.Params()), string(req.Params())}, nil
		},
	})
	client := peer.NewConn(here, peer.Options{})
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go server.Run(ctx)
	go client.Run(ctx)

	_, twice, err := client.Do(ctx, &peer.Outgoing{Method: "double", Params: []int{7}})
	fmt.Println(string(twice), err)
	_, _, err = client.Do(ctx, &peer.Outgoing{Method: "triple"})
	fmt.Println(err)
	// Output:
	// ["[7]","[7]"] <nil>
	// no method "triple"
}
