package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestCallsHaveIDsInOrder(t *testing.T) {
	c := newCalls(4)
	want := firstID
	for _, n := range []int{1, 4, 2, 4} {
		batch := c.take(n)
		if got := bytes.Count(batch, []byte("\n")); got != n {
			t.Fatalf("took %d, got %d lines: %s", n, got, batch)
		}
		for line := range bytes.Lines(batch) {
			var call struct {
				ID     int
				Method string
				Params struct {
					Name      string
					Arguments struct{ A, B float64 }
				}
			}
			if err := json.Unmarshal(line, &call); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			if call.ID != want || call.Method != "tools/call" || call.Params.Name != "add" {
				t.Errorf("want id %d: %s", want, line)
			}
			if sum := call.Params.Arguments.A + call.Params.Arguments.B; sum != addSum {
				t.Errorf("the arguments add up to %v, not to %v", sum, addSum)
			}
			want++
		}
	}
	if c.taken() != 11 {
		t.Errorf("taken = %d, want 11", c.taken())
	}
}

func TestMessagesAreJSON(t *testing.T) {
	all := initialize + list
	for line := range bytes.Lines([]byte(all)) {
		if !json.Valid(line) {
			t.Errorf("not JSON: %s", line)
		}
	}
}

const rightAnswer = `{"jsonrpc":"2.0","id":10000000,"result":{"content":[{"type":"text","text":"{\"sum\":5.5}"}],"structuredContent":{"sum":5.5}}}` + "\n"

func TestPattern(t *testing.T) {
	p, err := learn([]byte(rightAnswer), firstID)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		old, new string
		id       int
		ok       bool
	}{
		{"", "", firstID, true},
		{"10000000", "10000064", 10000064, true},
		{"10000000", "", 0, false},
		{"10000000", `"a"`, 0, false},
		{`"sum":5.5}}`, `"sum":5.6}}`, 0, false},
		{`"result"`, `"error"`, 0, false},
		{`}}}`, `},"isError":true}}`, 0, false},
		{rightAnswer, "\n", 0, false},
	} {
		line := strings.Replace(rightAnswer, test.old, test.new, 1)
		if id, ok := p.id([]byte(line)); ok != test.ok || ok && id != test.id {
			t.Errorf("got %d, %v, want %d, %v: %s", id, ok, test.id, test.ok, line)
		}
	}
}

func TestLearnRefusesWrongAnswers(t *testing.T) {
	for _, test := range []struct{ old, new, want string }{
		{`"id":10000000`, `"id":10000001`, "the id of the response is not"},
		{`"id":10000000`, `"id": 10000000`, "cannot find the id"},
		{`"id":10000000,`, ``, "the id of the response is not"},
		{`"sum":5.5}}`, `"sum":6}}`, "without the sum"},
		{`,"structuredContent":{"sum":5.5}`, ``, "without the sum"},
		{`{\"sum\":5.5}`, `5`, "as text"},
		{`"structuredContent"`, `"isError":true,"structuredContent"`, "an error"},
		{`"result":`, `"error":{"code":1},"result":`, "an error"},
		{`}}}`, `}}`, "not valid JSON"},
	} {
		line := strings.Replace(rightAnswer, test.old, test.new, 1)
		_, err := learn([]byte(line), firstID)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want one with %q, for %s", err, test.want, line)
		}
	}
}

func TestCheckList(t *testing.T) {
	const good = `{"id":2,"result":{"tools":[{"name":"add","inputSchema":{},"outputSchema":{}}]}}`
	if err := checkList([]byte(good), 1); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{
		`{"id":2,"error":{"code":1}}`,
		`{"id":2,"result":{"tools":[]}}`,
		strings.Replace(good, `,"outputSchema":{}`, ``, 1),
		strings.Replace(good, `"add"`, `""`, 1),
		good[:20],
	} {
		if checkList([]byte(bad), 1) == nil {
			t.Errorf("no error for %s", bad)
		}
	}
}
