package jsonrpc_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/petrock/petrock/core/jsonrpc"
)

// An error with a code, as a handler returns it.
func ExampleErrorf() {
	err := fmt.Errorf("forecast: %w", jsonrpc.Errorf(jsonrpc.InvalidParams, "no city %q", "Atlantis"))
	fmt.Println(err)
	fmt.Println(errors.Is(err, jsonrpc.InvalidParams), errors.Is(err, jsonrpc.InternalError))
	// Output:
	// forecast: no city "Atlantis"
	// true false
}

// A peer that answers one message, without a connection.
func ExampleMessage() {
	client, server := jsonrpc.Pipe()
	call, err := jsonrpc.AppendRequest(nil, jsonrpc.IntID(7), "add", []int{2, 3})
	if err != nil {
		log.Fatal(err)
	}
	if err := client.Send(call); err != nil {
		log.Fatal(err)
	}

	raw, err := server.Receive()
	if err != nil {
		log.Fatal(err)
	}
	var m jsonrpc.Message
	m.Parse(raw)
	fmt.Println(m.IsRequest(), m.ID(), m.Method(), string(m.Params()))
	answer, err := jsonrpc.AppendResult(nil, m.ID(), json.RawMessage("5"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(answer))
	// Output:
	// true 7 add [2,3]
	// {"jsonrpc":"2.0","id":7,"result":5}
}
