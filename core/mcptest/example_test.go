package mcptest_test

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcptest"
)

type greeting struct {
	Name string `json:"name" schema:"min=1"`
}

func greet(_ context.Context, in greeting) (string, error) { return "Hello, " + in.Name + "!", nil }

func addGreet(s *mcp.Server) error {
	return mcp.AddTool(s, mcp.Tool{Name: "greet", Description: "Greets someone."}, greet)
}

// The test of a tool: a server in memory, a call, and its result.
func ExampleServe() {
	t := newT() // in a test, its *testing.T
	defer t.end()

	client := mcptest.Serve(t, addGreet)
	fmt.Println(client.CallTool("greet", greeting{"Ann"}).Text())
	// Output: Hello, Ann!
}

// Rows of a table-driven test. The second one fails.
func ExampleClient_CheckTool() {
	t := newT() // in a test, its *testing.T
	defer t.end()

	client := mcptest.Serve(t, addGreet)
	for _, example := range []mcptest.Example{
		{Name: "too short", Input: `{"name":""}`, Error: "name: must have at least 1 character"},
		{Name: "typo", Input: greeting{"Ann"}, Output: "Hello Ann!"},
	} {
		client.CheckTool(t, "greet", example)
	}
	// Output: greet({"name":"Ann"}) = Hello, Ann!, want Hello Ann!
}

// exampleT prints what a test would report.
type exampleT struct {
	testing.TB
	cleanup []func()
}

func newT() *exampleT { return &exampleT{} }

func (*exampleT) Helper()                           {}
func (*exampleT) Context() context.Context          { return context.Background() }
func (*exampleT) Output() io.Writer                 { return io.Discard }
func (*exampleT) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (*exampleT) Fatal(args ...any)                 { panic(fmt.Sprint(args...)) }
func (t *exampleT) Cleanup(f func())                { t.cleanup = append(t.cleanup, f) }

func (t *exampleT) end() {
	for _, f := range t.cleanup {
		f()
	}
}
