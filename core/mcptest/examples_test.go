package mcptest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
		mcp.AddResource(s, mcp.Resource{URI: "note://empty", Name: "empty"}, func(context.Context) (string, error) { return "", nil }),
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
		{tool, mcptest.Example{Input: `{"a":2,"b":3}`, Output: mcptest.AnyOutput{}}, ""},
		{tool, mcptest.Example{Input: `{"a":2}`, Output: mcptest.AnyOutput{}}, "want no error"},
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
		{resource, mcptest.Example{Input: "note://one", Output: ""}, "note://one = first, want an empty text"},
		{resource, mcptest.Example{Input: "note://empty", Output: ""}, ""},
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

// A long result is shown above the expected one.
func TestLongDifference(t *testing.T) {
	long := strings.Repeat("x", 200)
	client := mcptest.Serve(t, func(s *mcp.Server) error {
		return mcp.AddResource(s, mcp.Resource{URI: "note://long", Name: "long"}, func(context.Context) (string, error) { return long, nil })
	})
	f := &failing{TB: t}
	client.CheckResource(f, mcptest.Example{Input: "note://long", Output: long + "y"})
	if want := "note://long:\ngot  " + long + "\nwant " + long + "y"; f.why != want {
		t.Errorf("got %q, want %q", f.why, want)
	}
}

// A logged test keeps its output.
type logged struct {
	testing.TB
	output bytes.Buffer
}

func (l *logged) Output() io.Writer { return &l.output }

// A panic fails an example that accepts any result, and its position is logged.
func TestExamplePanics(t *testing.T) {
	log := &logged{TB: t}
	client := mcptest.Serve(log, offer)
	f := &failing{TB: t}
	client.CheckTool(f, "fall", mcptest.Example{Input: `{}`})
	if want := "fall({}) fails: internal error in tools/call\nwant no error"; f.why != want {
		t.Errorf("CheckTool fails with %q, want %q", f.why, want)
	}
	if want := `panic="no floor" position=mcptest/examples_test.go:33`; !strings.Contains(log.output.String(), want) {
		t.Errorf("the log is %q, want %q in it", log.output.String(), want)
	}
}
