package live

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
)

// A built is the value of petrock/build in _meta.
type built struct {
	ID       string `json:"id"`
	Current  bool   `json:"current"`
	ReadOnly bool   `json:"readOnly"`
}

// An answer is the result of a call, with its build.
type answer struct {
	*mcp.ToolResult
	marks marks
}

// marks are what petrock dev adds to results.
type marks struct {
	Meta struct {
		Build built `json:"petrock/build"`
	} `json:"_meta"`
	Structured json.RawMessage `json:"structuredContent"`
}

// server returns the state and the reason in a result, and whether the result is ok.
func (a *answer) server() (state, reason string, ok bool) {
	var s struct {
		OK     bool `json:"ok"`
		Server struct {
			State  string `json:"state"`
			Reason string `json:"reason"`
		} `json:"server"`
	}
	_ = json.Unmarshal(a.marks.Structured, &s) // it is optional
	return s.Server.State, s.Server.Reason, s.OK
}

func ask(t *testing.T, c *client.Client, tool string, with arguments) *answer {
	t.Helper()
	a := &answer{ToolResult: &mcp.ToolResult{}}
	var raw json.RawMessage
	if err := c.Request(t.Context(), "tools/call", map[string]any{"name": tool, "arguments": with}, &raw); err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if err := errors.Join(json.Unmarshal(raw, a.ToolResult), json.Unmarshal(raw, &a.marks)); err != nil {
		t.Fatalf("%s: %v in %s", tool, err, raw)
	}
	return a
}

// arguments are those of a call.
type arguments = map[string]any

// inBothEras runs a test with and without sessions.
func inBothEras(t *testing.T, run func(*testing.T, mcp.Revision)) {
	for _, revision := range []mcp.Revision{mcp.LatestHandshake, mcp.Latest} {
		t.Run(string(revision), func(t *testing.T) { run(t, revision) })
	}
}

// While the source does not compile or its server does not start, the last good build answers, and
// does not write. Results of petrock's tools that write, and of project_status, begin with the
// reason.
func TestReadOnly(t *testing.T) {
	inBothEras(t, func(t *testing.T, revision mcp.Revision) {
		w := newWorld(t)
		c := w.connect(client.Options{Revision: revision})
		good := ask(t, c, "write", arguments{}).marks.Meta.Build
		if good.ID == "" || !good.Current || good.ReadOnly {
			t.Errorf("the first build is %+v; want ID set, Current true and ReadOnly false", good)
		}
		add := func(name string) *answer { t.Helper(); return ask(t, c, Prefix+"add", arguments{"Name": name}) }
		broken := func(what string, a *answer, reason string) {
			t.Helper()
			first := a.Content[0].(mcp.Text).Text
			if a.IsError || !strings.HasPrefix(first, "Warning: the project's server is read-only: it runs the last good build, because ") || !strings.Contains(first, reason) {
				t.Errorf(`%s: the result is %q (error: %t); want a warning that the server is read-only because of %q`, what, a.Text(), a.IsError, reason)
			}
			status := ask(t, c, Prefix+"project_status", arguments{})
			if state, why, ok := status.server(); ok || state != "read-only" || !strings.Contains(why, reason) {
				t.Errorf("%s: the status is %s; want OK false, read-only because of %q", what, status.marks.Structured, reason)
			}
			if text := status.Text(); !strings.HasPrefix(text, "Warning: ") || !strings.Contains(text, "all is well") {
				t.Errorf(`%s: the status is %q; want "Warning: " at its start, and "all is well" in it`, what, text)
			}
			if text := ask(t, c, Prefix+"list_components", arguments{}).Text(); text != "components" {
				t.Errorf(`%s: a result that only reads: got %q, want "components"`, what, text)
			}
			if text := call(t, c, "one"); !strings.HasPrefix(text, "one of process") {
				t.Errorf(`%s: a tool that only reads: got %q, want the prefix "one of process"`, what, text)
			}
			refused := ask(t, c, "write", arguments{})
			if !refused.IsError || !strings.Contains(refused.Text(), reason) || refused.marks.Meta.Build != (built{good.ID, false, true}) {
				t.Errorf("%s: a command returns %q of %+v; want an error containing %q, of the last good build %s", what, refused.Text(), refused.marks.Meta.Build, reason, good.ID)
			}
		}
		mended := func(what string, a *answer) {
			t.Helper()
			if text := a.Text(); strings.Contains(text, "Warning") {
				t.Errorf(`%s: the result: got %q, want it without "Warning"`, what, text)
			}
			now := ask(t, c, "write", arguments{})
			if now.IsError || !now.marks.Meta.Build.Current || now.marks.Meta.Build.ReadOnly {
				t.Errorf("%s: a command: %q of %+v; want IsError false, marks.Meta.Build.Current true and marks.Meta.Build.ReadOnly false", what, now.Text(), now.marks.Meta.Build)
			}
			good = now.marks.Meta.Build
		}

		broken("does not start", add("refuse"), "event 7 of the log cannot be read: this server does not start\nthe remedy\nNext")
		w.setFailure(errors.New("cmd/hello does not compile:\ntools/x.go:1:1: syntax error"))
		broken("does not compile", add("two"), "cmd/hello does not compile:\ntools/x.go:1:1: syntax error")
		w.setFailure(nil)
		w.write("tools", "one\nthree\n")
		mended("another build", ask(t, c, Prefix+"build", arguments{}))

		// The same build, which did not start because of something else.
		w.write(".stuck", "")
		broken("same build", add("four"), "event 8")
		if err := os.Remove(filepath.Join(w.root, ".stuck")); err != nil {
			t.Fatal(err)
		}
		broken("no restart", ask(t, c, Prefix+"log", arguments{"action": "replay"}), "event 8")
		mended("log", ask(t, c, Prefix+"log", arguments{"action": "skip"}))
	})
}

// If the last good build does not start any more, no server runs, and results say so.
func TestStopped(t *testing.T) {
	w := newWorld(t)
	c := w.connect(client.Options{})
	call(t, c, "write")
	w.write(".stuck", "all")
	a := ask(t, c, Prefix+"log", arguments{"action": "map"})
	if state, reason, _ := a.server(); state != "stopped" || !strings.Contains(reason, "event 8") || !strings.Contains(reason, "The last good build does not start either") {
		t.Errorf(`the result is %s with the state %q because of %q; want "stopped" because of event 8, and "The last good build does not start either"`, a.Text(), state, reason)
	}
	if refused := ask(t, c, "write", arguments{}); !refused.IsError || !strings.Contains(refused.Text(), "event 8") {
		t.Errorf(`a command: %s; want IsError true and Text containing "event 8"`, refused.Text())
	}
	if err := os.Remove(filepath.Join(w.root, ".stuck")); err != nil {
		t.Fatal(err)
	}
	if a := ask(t, c, Prefix+"build", arguments{}); strings.Contains(a.Text(), "Warning") {
		t.Errorf(`after build: got %q, want it without "Warning"`, a.Text())
	}
	call(t, c, "write")
}

// While a build takes long to start, the last good one answers, and does not write.
func TestSlowStart(t *testing.T) {
	w := newWorld(t, func(w *world) { w.slowStart = time.Second })
	c := w.connect(client.Options{})
	waitFor(t, func() bool {
		return !ask(t, c, "write", arguments{}).IsError && !ask(t, c, Prefix+"project_status", arguments{}).IsError
	},
		"the servers do not start") // a busy machine may need longer than slowStart
	w.write(".stuck", "hang")
	if text := ask(t, c, Prefix+"add", arguments{"Name": "two"}).Text(); !strings.HasPrefix(text, "Warning: the project's server is starting: ") || !strings.Contains(text, "has not answered yet") {
		t.Fatalf("add while the server does not start = %s, want a warning", text)
	}
	for refused := ask(t, c, "write", arguments{}); ; refused = ask(t, c, "write", arguments{}) { // it is being started read-only
		if refused.IsError {
			if !strings.Contains(refused.Text(), "has not answered yet") {
				t.Errorf(`a command: got %q, want it to contain "has not answered yet"`, refused.Text())
			}
			break
		}
	}
	if err := os.Remove(filepath.Join(w.root, ".stuck")); err != nil {
		t.Fatal(err)
	}
	for now := ask(t, c, "write", arguments{}); now.IsError; now = ask(t, c, "write", arguments{}) {
		if t.Context().Err() != nil {
			t.Fatal("the new build does not run")
		}
	}
}

// Answers of all kinds name their build, except results without members.
func TestBuildInMeta(t *testing.T) {
	for _, test := range []struct{ raw, want string }{
		{`{"id":1,"result":{}}`, `{"id":1,"result":{}}`},
		{`{"id":1,"result":{ }}`, `{"id":1,"result":{ }}`},
		{`{"id":1,"error":{"code":1}}`, `{"id":1,"error":{"code":1}}`},
		{`{"result":{"a":[{}]},"id":1}`, `{"id":1,"result":{"a":[{}],"_meta":{"b":1}}}`},
		{`{"result":{"_meta":{},"a":1},"id":1}`, `{"id":1,"result":{"a":1,"_meta":{"b":1}}}`},
		{`{"result":{"_meta":{"x":{}} ,"a":{"_meta":{}}},"id":1}`, `{"id":1,"result":{"a":{"_meta":{}},"_meta":{"x":{},"b":1}}}`},
	} {
		if got := withMeta([]byte(test.raw), "b", []byte("1")); string(got) != test.want {
			t.Errorf("withMeta(%s) = %s, want %s", test.raw, got, test.want)
		}
	}
	inBothEras(t, func(t *testing.T, revision mcp.Revision) {
		w := newWorld(t)
		c := w.connect(client.Options{Revision: revision})
		call(t, c, "one")
		for method, params := range map[string]arguments{
			"tools/list": {}, "resources/list": {}, "resources/read": {"uri": "note://1"}, "tools/call": {"name": Prefix + "project_status"},
		} {
			var a marks
			if err := c.Request(t.Context(), method, params, &a); err != nil || a.Meta.Build.ID == "" || !a.Meta.Build.Current {
				t.Errorf("%s: %+v, %v; want no error, Meta.Build.ID set and Meta.Build.Current true", method, a.Meta.Build, err)
			}
		}
	})
}

// A contract.json that cannot be read lists nothing.
func TestInvalidContract(t *testing.T) {
	root := t.TempDir()
	c := &session{sup: &Supervisor{o: Options{Root: root}}}
	for _, text := range []string{"", "{", "{\n<<<<<<< HEAD\n  \"tools\": {", `{"tools": {"add":`, `[]`} {
		if err := os.WriteFile(filepath.Join(root, "contract.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := c.firstLists()[serverKind]["tools/list"]; got != "[]" {
			t.Errorf("tools of contract.json %q = %s, want []", text, got)
		}
	}
}

// While petrock's tools reset a worker or restore the data, no server of any session has it open.
// They use the data of the server.
func TestDataAlone(t *testing.T) {
	inBothEras(t, func(t *testing.T, revision mcp.Revision) {
		w := newWorld(t, func(w *world) { w.args = []string{"--data", "elsewhere", "--data=there"} })
		c, other := w.connect(client.Options{Revision: revision}), w.connect(client.Options{Revision: revision})
		before := call(t, c, "one")
		call(t, other, "one")
		for _, action := range []string{"backup", "reset", "restore"} {
			want := "0 servers have there open"
			if action == "backup" {
				want = "2 servers have there open"
			}
			if got := ask(t, c, Prefix+"data", arguments{"action": action}).Text(); got != want {
				t.Errorf("data %s returns %q, want %q", action, got, want)
			}
		}
		if after := call(t, c, "one"); after == before {
			t.Errorf("%s before and after; want another process", after)
		}
		call(t, other, "one")

		w.write(".hold", "")
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := c.CallTool(ctx, Prefix+"data", arguments{"action": "restore"}); err == nil {
			t.Error("a call that was cancelled succeeds")
		}
		if err := os.Remove(filepath.Join(w.root, ".hold")); err != nil {
			t.Fatal(err)
		}
		call(t, other, "one")
	})
}
