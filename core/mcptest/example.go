package mcptest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/core/strictjson"
)

// An Example is the input of a component and the result that a test expects.
//
// The input of a tool or a prompt and the output of a tool are JSON: a string is JSON text, and any
// other value is encoded. A Go value is the better choice, because renaming one of its fields also
// renames it in the test. JSON text is for what no Go value encodes to, such as a missing field or
// one of the wrong type.
type Example struct {
	Name   string // what it shows, for [testing.T.Run]
	Input  any    // arguments of a tool or a prompt; the URI of a resource, as a string
	Output any    // result of a tool; text of a prompt or a resource, as a string; nil or "" if any result will do
	Error  string // a part of the expected error; "" if the call has to succeed
}

// CheckTool calls a tool as an example says. It fails t if the result differs. Outputs are
// compared as JSON: the order of properties and the way in which numbers are written do not matter.
func (c *Client) CheckTool(t testing.TB, name string, e Example) {
	t.Helper()
	var result mcp.ToolResult
	err := c.Call("tools/call", callParams(name, e.Input), &result)
	if err == nil && result.IsError {
		err = fmt.Errorf("%s", result.Text())
	}
	got := string(result.StructuredContent)
	if got == "" {
		got = result.Text()
	}
	e.check(t, name, got, err, sameJSON)
}

// CheckPrompt fills in a prompt as an example says. It fails t if the result differs.
func (c *Client) CheckPrompt(t testing.TB, name string, e Example) {
	t.Helper()
	var result mcp.PromptResult
	err := c.Call("prompts/get", callParams(name, e.Input), &result)
	var texts []string
	for _, message := range result.Messages {
		if text, ok := message.Content.(mcp.Text); ok {
			texts = append(texts, text.Text)
		}
	}
	e.check(t, name, strings.Join(texts, "\n"), err, sameText)
}

// CheckResource reads the URI that an example says. It fails t if the result differs.
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
	e.check(t, fmt.Sprint(e.Input), strings.Join(texts, "\n"), err, sameText)
}

func (e Example) check(t testing.TB, name, got string, err error, same func(got, want string) bool) {
	t.Helper()
	want, isText := e.Output.(string)
	if e.Output != nil && !isText {
		encoded, err := strictjson.MarshalOutput(e.Output)
		if err != nil {
			t.Fatalf("encode the output of example %q: %v", e.Name, err)
		}
		want = string(encoded)
	}
	switch {
	case e.Error != "" && err == nil:
		t.Errorf("%s gives %s\nwant an error with %q in it", name, got, e.Error)
	case e.Error != "" && !strings.Contains(err.Error(), e.Error):
		t.Errorf("%s says: %v\nwant an error with %q in it", name, err, e.Error)
	case e.Error == "" && err != nil:
		if want != "" {
			want = "\nwant " + want
		}
		t.Errorf("%s says: %v%s", name, err, want)
	case e.Error == "" && want != "" && !same(got, want):
		t.Errorf("%s gives %s\nwant %s", name, got, want)
	}
}

// callParams are the parameters of a call with arguments, which are left out if they are nil.
func callParams(name string, arguments any) map[string]any {
	if text, ok := arguments.(string); ok {
		arguments = json.RawMessage(text)
	}
	if arguments == nil {
		return map[string]any{"name": name}
	}
	return map[string]any{"name": name, "arguments": arguments}
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
