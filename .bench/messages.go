package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/petrock/petrock/bench/internal/wire"
)

// What a client says first.
const (
	initializeID = 1
	listID       = 2
	initialize   = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"0.1.0"}}}` + "\n"
	list         = `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n"
)

// The ids of calls and pings have eight digits, so that one can be put over another.
const (
	firstID  = 10_000_000
	idDigits = 8
)

// What is added, again and again. The floor knows the sum.
const (
	addArguments = `{"a":2,"b":3.5}`
	addSum       = 5.5
)

func callMessage(id int, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", id, tool, arguments)
}

// A calls is a stock of calls of add, written beforehand. Only their ids are put in when
// they are taken, each one more than the last.
type calls struct {
	bytes []byte
	size  int // of one call
	idAt  int // within a call
	next  int
}

// newCalls returns a stock for taking up to n calls at once.
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

// taken is how many calls have been taken.
func (c *calls) taken() int { return c.next - firstID }

// putNumber fills digits with a number.
func putNumber(digits []byte, n int) {
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = byte('0' + n%10)
		n /= 10
	}
}

// A pattern is an answer to a call of add, without its id. All of a server's answers
// are alike, so one that has been decoded and checked serves to check the others by
// comparing bytes: cheaper than decoding, and nothing wrong gets through.
type pattern struct {
	before, after []byte
}

// learn makes a pattern of a line, once it has been decoded and found right.
func learn(line []byte, id int) (pattern, error) {
	if err := checkAnswer(line, id); err != nil {
		return pattern{}, err
	}
	begin, end, ok := wire.ID(line)
	if n, isNumber := wire.Number(line[begin:end]); !ok || !isNumber || n != id {
		return pattern{}, fmt.Errorf("its id is not where it is looked for: %s", line)
	}
	return pattern{bytes.Clone(line[:begin]), bytes.Clone(line[end:])}, nil
}

// id returns the id of an answer that fits the pattern.
func (p pattern) id(line []byte) (id int, ok bool) {
	if len(line) < len(p.before)+len(p.after) || !bytes.HasPrefix(line, p.before) || !bytes.HasSuffix(line, p.after) {
		return 0, false
	}
	return wire.Number(line[len(p.before) : len(line)-len(p.after)])
}

// checkAnswer decodes the answer to a call of add, and reports what is wrong with it.
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
		return fmt.Errorf("answer is not valid JSON: %w: %s", err, line)
	case answer.ID == nil || *answer.ID != id:
		return fmt.Errorf("an answer with another id than %d: %s", id, line)
	case answer.Error != nil || result.IsError:
		return fmt.Errorf("an error for an answer: %s", line)
	case result.StructuredContent.Sum == nil || *result.StructuredContent.Sum != addSum:
		return fmt.Errorf("an answer without the sum %v: %s", addSum, line)
	case len(result.Content) != 1 || result.Content[0].Text != `{"sum":5.5}`:
		return fmt.Errorf("an answer without the sum as text: %s", line)
	}
	return nil
}

// checkList reports what is wrong with an answer to tools/list.
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
		return fmt.Errorf("list of tools is not valid JSON: %w: %s", err, line)
	}
	if got := len(answer.Result.Tools); got != tools {
		return fmt.Errorf("a list of %d tools instead of %d: %s", got, tools, line)
	}
	for _, tool := range answer.Result.Tools {
		if tool.Name == "" || tool.InputSchema == nil || tool.OutputSchema == nil {
			return fmt.Errorf("a tool without a name or a schema: %s", line)
		}
	}
	return nil
}
