package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/petrock/petrock/bench/internal/wire"
)

// The first messages of a client.
const (
	initializeID = 1
	listID       = 2
	settleID     = 3
	initialize   = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"0.1.0"}}}` + "\n"
	list         = `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n"
)

// The ids of calls have eight digits, so that one can be written over another.
const (
	firstID  = 10_000_000
	idDigits = 8
)

// The arguments of every call, and their sum, which the floor returns without adding.
const (
	addArguments = `{"a":2,"b":3.5}`
	addSum       = 5.5
)

func callMessage(id int, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", id, tool, arguments)
}

// A calls holds encoded calls of add. Only their ids, which are consecutive, are written when they
// are taken.
type calls struct {
	bytes []byte
	size  int // of one call
	idAt  int // within a call
	next  int
}

// newCalls returns calls of which up to n can be taken at a time.
func newCalls(n int) *calls {
	one := []byte(callMessage(firstID, "add", addArguments))
	return &calls{
		bytes: bytes.Repeat(one, n),
		size:  len(one),
		idAt:  bytes.Index(one, fmt.Append(nil, firstID)),
		next:  firstID,
	}
}

// take returns the next n calls, valid until it is called again.
func (c *calls) take(n int) []byte {
	for i := range n {
		at := i*c.size + c.idAt
		putNumber(c.bytes[at:at+idDigits], c.next)
		c.next++
	}
	return c.bytes[:n*c.size]
}

// taken returns the number of calls that have been taken.
func (c *calls) taken() int { return c.next - firstID }

// putNumber writes n in decimal over all of digits.
func putNumber(digits []byte, n int) {
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = byte('0' + n%10)
		n /= 10
	}
}

// A pattern is a response to a call of add, without its id. All responses of a server are equal
// except for the id. One of them is decoded and checked, and the others are compared with it, which
// is cheaper than decoding.
type pattern struct {
	before, after []byte
}

// learn checks a line and returns its pattern.
func learn(line []byte, id int) (pattern, error) {
	if err := checkAnswer(line, id); err != nil {
		return pattern{}, err
	}
	begin, end, ok := wire.ID(line)
	if n, isNumber := wire.Number(line[begin:end]); !ok || !isNumber || n != id {
		return pattern{}, fmt.Errorf("cannot find the id in the response: %s", line)
	}
	return pattern{bytes.Clone(line[:begin]), bytes.Clone(line[end:])}, nil
}

// id returns the id of a response that matches the pattern.
func (p pattern) id(line []byte) (id int, ok bool) {
	if len(line) < len(p.before)+len(p.after) || !bytes.HasPrefix(line, p.before) || !bytes.HasSuffix(line, p.after) {
		return 0, false
	}
	return wire.Number(line[len(p.before) : len(line)-len(p.after)])
}

// checkAnswer decodes the response to a call of add, and returns an error unless it is correct.
func checkAnswer(line []byte, id int) error {
	var answer struct {
		ID     *int            `json:"id"`
		Error  json.RawMessage `json:"error"`
		Result struct {
			IsError bool `json:"isError"`
			Content []struct {
				Type string `json:"type"`
				Text string `json:"text"`
			} `json:"content"`
			StructuredContent struct {
				Sum *float64 `json:"sum"`
			} `json:"structuredContent"`
		} `json:"result"`
	}
	err := json.Unmarshal(line, &answer)
	result := answer.Result
	switch {
	case err != nil:
		return fmt.Errorf("the response is not valid JSON: %w: %s", err, line)
	case answer.ID == nil || *answer.ID != id:
		return fmt.Errorf("the id of the response is not %d: %s", id, line)
	case answer.Error != nil || result.IsError:
		return fmt.Errorf("the response is an error: %s", line)
	case result.StructuredContent.Sum == nil || *result.StructuredContent.Sum != addSum:
		return fmt.Errorf("a response without the sum %v: %s", addSum, line)
	case len(result.Content) != 1 || result.Content[0].Text != `{"sum":5.5}`:
		return fmt.Errorf("a response without the sum as text: %s", line)
	}
	return nil
}

// checkList returns an error unless line is a correct response to tools/list.
func checkList(line []byte, tools int) error {
	var answer struct {
		Result struct {
			Tools []struct {
				Name         string          `json:"name"`
				InputSchema  json.RawMessage `json:"inputSchema"`
				OutputSchema json.RawMessage `json:"outputSchema"`
			} `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return fmt.Errorf("the list of tools is not valid JSON: %w: %s", err, line)
	}
	if got := len(answer.Result.Tools); got != tools {
		return fmt.Errorf("got %d tools, want %d: %s", got, tools, line)
	}
	for _, tool := range answer.Result.Tools {
		if tool.Name == "" || tool.InputSchema == nil || tool.OutputSchema == nil {
			return fmt.Errorf("a tool without a name or a schema: %s", line)
		}
	}
	return nil
}
