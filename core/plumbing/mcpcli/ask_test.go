package mcpcli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

func asking(in string) (*Asker, *bytes.Buffer) {
	var out bytes.Buffer
	return newAsker(strings.NewReader(in), &out, &terminal.Progress{}), &out
}

// A form asks for one field a line. It repeats the question after a wrong answer; an empty line is
// the default.
func TestForm(t *testing.T) {
	form := json.RawMessage(`{"type":"object","properties":{
		"name":{"type":"string","description":"Your name","minLength":2},"age":{"type":"integer","default":30},"sure":{"type":"boolean"},
		"size":{"type":"string","enum":["S","M"]},"colors":{"type":"array","items":{"type":"string","enum":["red","blue"]}}
	},"required":["name","size"]}`)
	for _, test := range []struct{ in, action, content, says string }{
		{"y\nAda\n\n\nM\nred, blue\n", "accept", `{"age":30,"colors":["red","blue"],"name":"Ada","size":"M"}`, "name, Your name (string): "},
		{"\nA\nAda\nold\n31\nmaybe\ntrue\n\nXL\nS\ngreen\n\n", "accept", `{"age":31,"name":"Ada","size":"S","sure":true}`, `must be one of "S", "M"`},
		{"n\n", "decline", ``, "[Y/n]"},
		{"what\nno\n", "decline", ``, "[Y/n]"},
		{"", "cancel", ``, ""},
		{"y\nAda\n", "cancel", ``, ""},
	} {
		a, out := asking(test.in)
		e := &mcp.Elicitation{Message: "Who\x1b[2J are you?", Schema: form}
		if err := a.form(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if string(e.Action) != test.action || string(e.Content) != test.content || !strings.Contains(out.String(), test.says) || strings.Contains(out.String(), "\x1b") {
			t.Errorf("%q: %s %s, output\n%s; want the action %q, the content %q, and output with %q and without \"\\x1b\"", test.in, e.Action, e.Content, out, test.action, test.content, test.says)
		}
	}
}

// Nothing that a server says in a question reaches the terminal unescaped.
func TestQuestionsAreEscaped(t *testing.T) {
	a, out := asking("y\nx\ny\n")
	form := strings.ReplaceAll(`{"type":"object","properties":{"nX":{"type":"strX","title":"tX","default":"dX","enum":["eX","x"],"enumNames":["gX","x"]}},"required":["nX"]}`, "X", "\u202e\u009b")
	if err := a.form(t.Context(), &mcp.Elicitation{Message: "m\u202e" + strings.Repeat("long", 10_000), Schema: json.RawMessage(form)}); err != nil {
		t.Fatal(err)
	}
	if err := a.visit(t.Context(), &mcp.URLElicitation{Message: "m\u202e", URL: "http://x\u202e"}); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.ContainsAny(text, "\u202e\u009b") || strings.Count(text, `\u202e`) < 7 || len(text) > 2*maxMessage {
		t.Errorf("got %d bytes %q; want no direction or control characters, at least 7 times their escaped form, and at most %d bytes", len(text), text, 2*maxMessage)
	}
}

// The titles of choices are shown, in the format of every revision.
func TestChoices(t *testing.T) {
	a, out := asking("y\nb\n2\ny, x\n")
	e := &mcp.Elicitation{Schema: json.RawMessage(`{"type":"object","properties":{
		"one":{"type":"string","title":"Which one","oneOf":[{"const":"a","title":"Apple"},{"const":"b","title":"Bear"}]},
		"old":{"type":"string","enum":["1","2"],"enumNames":["First","Second"]},
		"more":{"type":"array","items":{"anyOf":[{"const":"x","title":"Ex"},{"const":"y","title":"Why"}]}}
	},"required":["one"]}`)}
	if err := a.form(t.Context(), e); err != nil || string(e.Content) != `{"more":["y","x"],"old":"2","one":"b"}` {
		t.Errorf("got %s, %v\n%s; want no error and Content \"{\\\"more\\\":[\\\"y\\\",\\\"x\\\"],\\\"old\\\":\\\"2\\\",\\\"one\\\":\\\"b\\\"}\"", e.Content, err, out)
	}
	for _, want := range []string{"  b: Bear\none, Which one (a|b): ", "  2: Second\n", "  y: Why\nmore (x|y…) [none]: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it lacks %q:\n%s", want, out)
		}
	}
}

func TestVisit(t *testing.T) {
	for in, want := range map[string]mcp.Action{"y\n": mcp.ActionAccept, "n\n": mcp.ActionDecline, "": mcp.ActionCancel} {
		a, out := asking(in)
		e := &mcp.URLElicitation{Message: "Sign in", URL: "https://example.com/x"}
		if err := a.visit(t.Context(), e); err != nil || e.Action != want || !strings.Contains(out.String(), "https://example.com/x") {
			t.Errorf(`%q: %s, %v, output %s; want the action %q, no error and https://example.com/x in the output`, in, e.Action, err, out, want)
		}
	}
	silent, _ := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := newAsker(silent, io.Discard, &terminal.Progress{})
	if err := a.visit(ctx, &mcp.URLElicitation{}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: got %v, want %v", err, context.Canceled)
	}
}

// Names of files are good on every system, whatever a server calls them.
func TestFileName(t *testing.T) {
	for _, test := range []struct{ name, kind, want string }{
		{"chart", "image/png", "chart.png"},
		{"chart.png", "image/png", "chart.png"},
		{"chart.jpg", "image/png", "chart.jpg.png"},
		{"data.csv", "", "data.csv"},
		{"data.csv", "application/x-unknown", "data.csv"},
		{"", "image/jpeg; q=1", "output.jpg"},
		{"..", "text/plain", "output.txt"},
		{"../../x", "text/plain", "x.txt"},
		{`..\..\x`, "text/plain", "x.txt"},
		{".bashrc", "text/plain", "bashrc.txt"},
		{"nul", "text/plain", "output.txt"},
		{"Com1", "image/png", "output.png"},
		{"lpt9.tar", "application/gzip", "output.gz"},
		{"console", "text/plain", "console.txt"},
		{"data.", "", "data.bin"},
		{"a\x00b\nc d", "no type", "a_b_c_d.bin"},
		{"", ".png", "output.bin"},
		{"", "../../x", "output.bin"},
		{strings.Repeat("x", 300), "image/gif", strings.Repeat("x", 60) + ".gif"},
	} {
		stem, ending := fileName(test.name, test.kind)
		if stem+ending != test.want {
			t.Errorf("fileName(%q, %q) = %q, want %q", test.name, test.kind, stem+ending, test.want)
		}
	}
}
