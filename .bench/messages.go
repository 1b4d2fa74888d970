package main

import (
	"bytes"
	"fmt"
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

func waitMessage(id int, tool string, ms int) string {
	return callMessage(id, tool, fmt.Sprintf(`{"ms":%d}`, ms))
}

func pingMessage(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", id)
}

func cancelMessage(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`+"\n", id)
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
