package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
)

// rawClient exchanges single messages with a server in memory.
type rawClient struct {
	transport jsonrpc.Transport
}

func connectRaw(t testing.TB, s *mcp.Server) *rawClient {
	t.Helper()
	ours, theirs := jsonrpc.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(context.Background(), theirs) }()
	t.Cleanup(func() {
		ours.Close()
		if err := <-ended; err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	c := &rawClient{ours}
	for line := range strings.Lines(handshake) {
		c.send(t, []byte(line))
	}
	c.receive(t)
	return c
}

func (c *rawClient) send(t testing.TB, msg []byte) {
	if err := c.transport.Send(msg); err != nil {
		t.Fatal(err)
	}
}

func (c *rawClient) receive(t testing.TB) []byte {
	msg, err := c.transport.Receive()
	if err != nil {
		t.Fatal(err)
	}
	return msg
}

// ask sends tools/call with the given params and returns the result. An error fails the test.
func (c *rawClient) ask(t testing.TB, params []byte) []byte {
	t.Helper()
	c.send(t, append(append([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`), bytes.TrimSpace(params)...), '}'))
	answer := c.receive(t)
	var m struct {
		JSONRPC       string
		ID            json.RawMessage
		Result, Error json.RawMessage
	}
	decoder := json.NewDecoder(bytes.NewReader(answer))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&m); err != nil || m.JSONRPC != "2.0" || (m.Result == nil) == (m.Error == nil) {
		t.Fatalf("%s is answered by %s (%v); want version 2.0 and either a result or an error", params, answer, err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		t.Fatalf("the answer %s has more than one value", answer)
	}
	return answer
}
