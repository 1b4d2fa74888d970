package mcptest

import (
	"cmp"
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
// The input of a tool or a prompt, and the output of a tool, are JSON: a string is JSON text, and
// any other value is encoded. Prefer Go values, so that renaming a field also renames it in the
// test. Use JSON text for input that no Go value encodes to, such as a missing field or a wrong
// type.
type Example struct {
	Name  string // for [testing.T.Run]
	Input any    // arguments of a tool or a prompt; the URI of a resource, as a string

	// Output is the result of a tool, or the text of a prompt or resource, which must match.
	// [AnyOutput] accepts any result. So does nil, but readers cannot see whether the output was
	// forgotten.
	Output any

	Error string // a part of the expected error; "" expects success
}

// AnyOutput is the Output of an [Example] whose call must succeed, with any result.
type AnyOutput struct{}

// CheckTool calls a tool with the input of an example. It fails t if the result differs. Outputs
// are compared as JSON values: the order of properties and the notation of numbers do not matter.
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
	e.check(t, e.call(name), got, err, sameJSON)
}

// CheckPrompt gets a prompt with the input of an example. It fails t if the result differs.
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
	e.check(t, e.call(name), strings.Join(texts, "\n"), err, sameText)
}

// CheckResource reads the URI of an example. It fails t if the result differs.
func (c *Client) CheckResource(t testing.TB, e Example) {
	t.Helper()
	uri := fmt.Sprint(e.Input)
	all, err := c.client.ReadResource(c.t.Context(), uri)
	var texts []string
	for _, contents := range all {
		texts = append(texts, contents.Text)
	}
	e.check(t, uri, strings.Join(texts, "\n"), err, sameText)
}

// call returns the call of an example, for messages: add({"a":2,"b":3}).
func (e Example) call(name string) string {
	input, isText := e.Input.(string)
	if e.Input != nil && !isText {
		encoded, _ := strictjson.Marshal(e.Input) // the call reports the error
		input = string(encoded)
	}
	return name + "(" + strictjson.Clip(input, 200) + ")"
}

// check fails t if a call has another result than the example.
func (e Example) check(t testing.TB, call, got string, err error, same func(got, want string) bool) {
	t.Helper()
	want, acceptsAny := "", false
	switch output := e.Output.(type) {
	case nil, AnyOutput:
		want, acceptsAny = "no error", true
	case string:
		want = output
	default:
		encoded, err := new(strictjson.OutputEncoder).Encode(output)
		if err != nil {
			t.Fatalf("encode the output of example %q: %v", e.Name, err)
		}
		want = string(encoded)
	}
	switch {
	case e.Error != "" && err == nil:
		t.Errorf("%s = %s, want an error that contains %q", call, got, e.Error)
	case e.Error != "" && !strings.Contains(err.Error(), e.Error):
		t.Errorf("%s fails: %v\nwant an error that contains %q", call, err, e.Error)
	case e.Error == "" && err != nil:
		t.Errorf("%s fails: %v\nwant %s", call, err, want)
	case e.Error != "" || acceptsAny || same(got, want):
	case len(got)+len(want) > 120:
		t.Errorf("%s:\ngot  %s\nwant %s", call, got, want)
	default:
		t.Errorf("%s = %s, want %s", call, got, cmp.Or(want, "an empty text"))
	}
}

// callParams returns the params of a call. nil arguments are omitted.
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

// sameJSON reports whether two texts are the same JSON value. If want is not valid JSON, it
// compares the texts.
func sameJSON(got, want string) bool {
	constant, err := schema.Compile([]byte(`{"const":` + want + `}`))
	if err != nil {
		return got == want
	}
	return constant.Validate([]byte(got)) == nil
}
