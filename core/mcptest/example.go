package mcptest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/schema"
)

// An Example is what a component is given and what comes of it.
type Example struct {
	Name   string // what it shows, for [testing.T.Run]
	Input  string // what a tool or a prompt is given, as a JSON object; the address of a resource
	Output string // what a tool gives back, as JSON; the text of a prompt or a resource; empty if anything will do
	Error  string // a part of the error, if there is to be one
}

// CheckTool calls a tool as an example says, and fails t if something else comes of it. The output is
// compared as JSON: the order of properties and the way in which numbers are written do not matter.
func (c *Client) CheckTool(t testing.TB, name string, e Example) {
	t.Helper()
	var result mcp.ToolResult
	err := c.Call("tools/call", map[string]any{"name": name, "arguments": json.RawMessage(e.Input)}, &result)
	if err == nil && result.IsError {
		err = fmt.Errorf("%s", result.Text())
	}
	got := string(result.StructuredContent)
	if got == "" {
		got = result.Text()
	}
	e.check(t, name, got, err, sameJSON)
}

// CheckPrompt fills in a prompt as an example says, and fails t if something else comes of it.
func (c *Client) CheckPrompt(t testing.TB, name string, e Example) {
	t.Helper()
	var result mcp.PromptResult
	err := c.Call("prompts/get", map[string]any{"name": name, "arguments": json.RawMessage(e.Input)}, &result)
	var texts []string
	for _, message := range result.Messages {
		if text, ok := message.Content.(mcp.Text); ok {
			texts = append(texts, text.Text)
		}
	}
	e.check(t, name, strings.Join(texts, "\n"), err, sameText)
}

// CheckResource reads what is at the address that an example says, and fails t if something else
// comes of it.
func (c *Client) CheckResource(t testing.TB, e Example) {
	t.Helper()
	var result struct {
		Contents []mcp.ResourceContents `json:"contents"`
	}
	err := c.Call("resources/read", map[string]any{"uri": e.Input}, &result)
	var texts []string
	for _, contents := range result.Contents {
		texts = append(texts, contents.Text)
	}
	e.check(t, e.Input, strings.Join(texts, "\n"), err, sameText)
}

// check compares what came of it with what the example says.
func (e Example) check(t testing.TB, name, got string, err error, same func(got, want string) bool) {
	t.Helper()
	switch {
	case e.Error != "" && err == nil:
		t.Errorf("%s gives %s\nwant an error with %q in it", name, got, e.Error)
	case e.Error != "" && !strings.Contains(err.Error(), e.Error):
		t.Errorf("%s says: %v\nwant an error with %q in it", name, err, e.Error)
	case e.Error == "" && err != nil:
		want := ""
		if e.Output != "" {
			want = "\nwant " + e.Output
		}
		t.Errorf("%s says: %v%s", name, err, want)
	case e.Error == "" && e.Output != "" && !same(got, e.Output):
		t.Errorf("%s gives %s\nwant %s", name, got, e.Output)
	}
}

func sameText(got, want string) bool { return got == want }

// sameJSON reports whether two texts are the same value in JSON, or the same if one is none.
func sameJSON(got, want string) bool {
	constant, err := schema.Compile(`{"const":` + want + `}`)
	if err != nil {
		return got == want
	}
	return constant.Validate([]byte(got)) == nil
}
