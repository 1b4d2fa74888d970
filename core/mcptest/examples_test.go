package mcptest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcptest"
)

// Errorf records why the test failed.
func (f *failing) Errorf(format string, args ...any) { f.why += fmt.Sprintf(format, args...) }

// Fatalf records why the test failed, and ends its goroutine.
func (f *failing) Fatalf(format string, args ...any) { f.Fatal(fmt.Sprintf(format, args...)) }

// offer registers a prompt and a resource in addition to the tools.
func offer(s *mcp.Server) error {
	return errors.Join(
		mcp.AddPrompt(s, mcp.Prompt{Name: "greet", Arguments: []mcp.PromptArgument{{Name: "who"}}}, func(_ context.Context, in struct {
			Who string `json:"who"`
		}) (string, error) {
			return "Greet " + in.Who, nil
		}),
		mcp.AddResource(s, mcp.Resource{URI: "note://one", Name: "one"}, func(context.Context) (string, error) { return "first", nil }),
		mcp.AddTool(s, mcp.Tool{Name: "fall"}, func(context.Context, struct{}) (string, error) { panic("no floor") }),
	)
}

func TestExamples(t *testing.T) {
	client := mcptest.Serve(t, register("add"), offer)
	tool := func(t testing.TB, e mcptest.Example) { client.CheckTool(t, "add", e) }
	prompt := func(t testing.TB, e mcptest.Example) { client.CheckPrompt(t, "greet", e) }
	resource := client.CheckResource
	for _, test := range []struct {
		check   func(testing.TB, mcptest.Example)
		example mcptest.Example
		why     string // the expected failure
	}{
		{tool, mcptest.Example{Input: `{"a":2,"b":3}`, Output: ` { "sum" : 5.0 } `}, ""},
		{tool, mcptest.Example{Input: `{"a":2,"b":3}`}, ""},
		{tool, mcptest.Example{Input: addInput{2, 3}, Output: addOutput{5}}, ""},
		{tool, mcptest.Example{Input: &addInput{2, 3}, Output: map[string]any{"sum": 5}}, ""},
		{tool, mcptest.Example{Input: addInput{2, 3}, Output: addOutput{6}}, "add({\"a\":2,\"b\":3}) = {\"sum\":5}, want {\"sum\":6}"},
		{tool, mcptest.Example{Input: map[string]int{"a": 2}, Error: "invalid arguments"}, ""},
		{tool, mcptest.Example{Error: "invalid arguments"}, ""},
		{tool, mcptest.Example{Name: "odd", Input: addInput{2, 3}, Output: func() {}}, `encode the output of example "odd"`},
		{tool, mcptest.Example{Input: `{"a":2,"b":3}`, Output: `{"sum":6}`}, "add({\"a\":2,\"b\":3}) = {\"sum\":5}, want {\"sum\":6}"},
		{tool, mcptest.Example{Input: `{"a":2,"b":3}`, Output: `{"sum":5,"more":null}`}, "want"},
		{tool, mcptest.Example{Input: `{"a":2,"b":3}`, Output: `{`}, "want {"},
		{tool, mcptest.Example{Input: `{"a":2}`, Error: "invalid arguments"}, ""},
		{tool, mcptest.Example{Input: `{"a":2}`, Error: "no such number"}, `want an error that contains "no such number"`},
		{tool, mcptest.Example{Input: `{"a":2,"b":3}`, Error: "no"}, "add({\"a\":2,\"b\":3}) = {\"sum\":5}, want an error"},
		{tool, mcptest.Example{Input: `{"a":2}`, Output: `{"sum":2}`}, "want {\"sum\":2}"},
		{prompt, mcptest.Example{Input: `{"who":"Ann"}`, Output: "Greet Ann"}, ""},
		{prompt, mcptest.Example{Input: `{"who":"Ann"}`, Output: "Greet Bob"}, "greet({\"who\":\"Ann\"}) = Greet Ann, want Greet Bob"},
		{resource, mcptest.Example{Input: "note://one", Output: "first"}, ""},
		{resource, mcptest.Example{Input: "note://one", Output: "second"}, "note://one = first, want second"},
		{resource, mcptest.Example{Input: "note://two", Error: "note://two"}, ""},
	} {
		f := &failing{TB: t}
		var checking sync.WaitGroup
		checking.Go(func() { test.check(f, test.example) }) // it may end its goroutine
		checking.Wait()
		if f.why == "" != (test.why == "") || !strings.Contains(f.why, test.why) {
			t.Errorf("%+v fails with %q, want %q", test.example, f.why, test.why)
		}
	}
}

// A long result that differs begins with the first difference.
func TestFirstDifference(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, test := range []struct{ got, want, why string }{
		{`{"a":"` + long + `","b":[1,{"c":"one"}],"d":2}`, `{"a":"` + long + `","b":[1,{"c":"two"}],"d":3}`, `,"b":[1,{"c":"one"}],"d":2}, want … x`},
		{`{"a":"` + long + `"}`, `{"b":null,"a":"` + long + `"}`, `xxx","b":null}` + "\ngot  {"},
		{`{"a":"` + long + `"}`, `{"a":"b` + long + `"}`, `got {"a":"xxx`},
		{`{"a":"` + long + `end"}`, `{"a":"` + long + `END"}`, `xxxend"}, want … xxx`},
		{long + "\n# One\nend", long + "\n# Two\nend", "xxx\n# One\nend, want … xxx"},
	} {
		client := mcptest.Serve(t, func(s *mcp.Server) error {
			return mcp.AddResource(s, mcp.Resource{URI: "note://long", Name: "long"}, func(context.Context) (string, error) { return test.got, nil })
		})
		f := &failing{TB: t}
		client.CheckResource(f, mcptest.Example{Input: "note://long", Output: test.want})
		if !strings.Contains(f.why, test.why) {
			t.Errorf("got %q, want %q", f.why, test.why)
		}
	}
}

// A panic fails an example that accepts any result.
func TestExamplePanics(t *testing.T) {
	client := mcptest.Serve(t, offer)
	f := &failing{TB: t}
	client.CheckTool(f, "fall", mcptest.Example{Input: `{}`})
	if want := "fall({}) fails: internal error in tools/call: panic: no floor (mcptest/examples_test.go:30)"; !strings.Contains(f.why, want) {
		t.Errorf("CheckTool fails with %q, want %q in it", f.why, want)
	}
}
