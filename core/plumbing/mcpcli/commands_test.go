package mcpcli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/mcpcli"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

// newServer has a tool of each kind.
func newServer(cancelled func()) *mcp.Server {
	s := mcp.NewServer(mcp.Implementation{Name: "test", Version: "1"}, mcp.Options{})
	echo := func(_ context.Context, arguments json.RawMessage) (*mcp.ToolResult, error) {
		return &mcp.ToolResult{StructuredContent: arguments, Content: []mcp.Content{mcp.Text{Text: string(arguments)}}}, nil
	}
	add := func(tool, schema string, h mcp.ToolHandler) {
		if err := s.AddTool(mcp.Tool{Name: tool, Description: "Does " + tool + ".\nAnd more.", InputSchema: json.RawMessage(schema)}, h); err != nil {
			panic(err)
		}
	}
	add("echo", `{"type":"object","properties":{
		"text":{"type":"string","description":"What to say"},"n":{"type":"integer","minimum":1},"x":{"type":["number","null"]},"on":{"type":"boolean"},
		"pick":{"enum":["up","down",3]},"tags":{"type":"array","items":{"type":"string"}},"sizes":{"type":"array","items":{"type":"integer"}},
		"more":{"type":"object"},"any":{},"level":{"$ref":"#/$defs/level"}
	},"required":["text"],"additionalProperties":false,"$defs":{"level":{"enum":["low","high"]}}}`, echo)
	add("open", `{"type":"object"}`, echo)
	add("none", `{"type":"object","additionalProperties":false}`, echo)
	add("fail", `{"type":"object"}`, func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
		return nil, errors.New("no such luck\x1b[31m")
	})
	add("refuse", `{"type":"object"}`, func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "not \x1b[2Jthat")
	})
	add("structured", `{"type":"object"}`, func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
		return &mcp.ToolResult{StructuredContent: json.RawMessage(`{"a":[1]}`), Content: []mcp.Content{mcp.ResourceLink{Resource: mcp.Resource{URI: "a://b", Name: "b"}}}}, nil
	})
	add("image", `{"type":"object"}`, func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
		return &mcp.ToolResult{Content: []mcp.Content{
			mcp.Image{Data: []byte("png"), MIMEType: "image/png"},
			mcp.Audio{Data: []byte("wav"), MIMEType: "audio/wav"},
			mcp.EmbeddedResource{Resource: mcp.ResourceContents{URI: "file:///../../../etc/passwd", Blob: []byte("x")}},
		}}, nil
	})
	add("refused", `{"type":"object"}`, echo)
	add("slow", `{"type":"object"}`, func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
		<-ctx.Done()
		if cancelled != nil {
			cancelled()
		}
		return nil, ctx.Err()
	})
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	check(s.AddResource(mcp.Resource{URI: "note://1", Name: "one"}, func(context.Context, string, map[string]string) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{{Text: "first note"}}, nil
	}))
	check(s.AddPrompt(mcp.Prompt{Name: "greet", Description: "Greets.", Arguments: []mcp.PromptArgument{{Name: "who", Required: true, Description: "Whom"}, {Name: "how"}}},
		func(_ context.Context, a map[string]string) (*mcp.PromptResult, error) {
			return &mcp.PromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text{Text: "Hello " + a["who"]}}}}, nil
		}))
	return s
}

// A result is the exit code and the output of a command line.
type result struct {
	status   int
	out, err string
}

// An inProcess target has one server, in this process.
type inProcess struct {
	failure   error
	cancelled func() // called when the tool slow is cancelled; may be nil
}

func (inProcess) Flags(*cobra.Command, *mcpcli.Flags) {}
func (p inProcess) Find(_ context.Context, words []string, _ int) (*mcpcli.Server, []string, error) {
	connect := func(ctx context.Context, o client.Options) (*client.Client, func() error, error) {
		if p.failure != nil {
			return nil, nil, p.failure
		}
		c, err := client.InProcess(ctx, newServer(p.cancelled), o)
		if err != nil {
			return nil, nil, err
		}
		return c, c.Close, nil
	}
	return &mcpcli.Server{Name: "test", Connect: connect, Refuse: func(tool string) error {
		if tool == "refused" {
			return terminal.Usagef("refused is refused")
		}
		return nil
	}}, words, nil
}

// do runs a command line in a folder.
func do(t *testing.T, dir, stdin string, args ...string) result {
	t.Helper()
	return doWith(t.Context(), t, inProcess{}, dir, stdin, args...)
}

func doWith(ctx context.Context, t *testing.T, target inProcess, dir, stdin string, args ...string) result {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	got := doTo(ctx, t, out, target, dir, stdin, args...)
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	got.out = string(text)
	return got
}

// doTo is doWith with another standard output, which it does not read.
func doTo(ctx context.Context, t *testing.T, out *os.File, target inProcess, dir, stdin string, args ...string) result {
	t.Helper()
	var errOut bytes.Buffer
	env := mcpcli.Env{
		In: strings.NewReader(stdin), Out: out, Err: &errOut, Dir: dir, Program: "prog", Info: mcp.Implementation{Name: "prog", Version: "1"},
		Target: func() mcpcli.Target { return target },
	}
	root := &cobra.Command{Use: "prog"}
	root.AddCommand(mcpcli.Commands(env)...)
	root.SetOut(out)
	root.SetErr(&errOut)
	return result{status: mcpcli.PrintError(mcpcli.Execute(ctx, root, args)), err: errOut.String()}
}

// Help says how to choose the target after what the command does, and before its exit codes.
func TestAbout(t *testing.T) {
	env := mcpcli.Env{Program: "prog", Target: func() mcpcli.Target { return inProcess{} }}
	plain := mcpcli.Commands(env)
	env.About = "SERVER is a URL."
	for i, cmd := range mcpcli.Commands(env) {
		does, codes, _ := strings.Cut(plain[i].Long, "\n\nExit codes: ")
		if want := does + "\n\nSERVER is a URL.\n\nExit codes: " + codes; codes == "" || cmd.Long != want {
			t.Errorf("help of %s = %q, want %q", cmd.Name(), cmd.Long, want)
		}
	}
}

// Finish wraps paragraphs, and leaves lists and code as they are.
func TestFinishWrapsHelp(t *testing.T) {
	word, list := strings.Repeat("w", 60), "Kinds:\n  a  one\n  b  "+strings.Repeat("two ", 30)+"x\n\n\tprog  run"
	root, sub := &cobra.Command{Use: "prog"}, &cobra.Command{Use: "sub", Long: "A\nshort " + word + "\n" + word + " é.\n\n" + list}
	root.AddCommand(sub)
	mcpcli.Finish(root, "1")
	if want := "A short " + word + "\n" + word + " é.\n\n" + list; sub.Long != want {
		t.Errorf("help = %q, want %q", sub.Long, want)
	}
}

// Arguments are parsed and validated by the tool's schema. Errors have a remedy.
func TestCall(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct {
		args   string // with words separated by |
		stdin  string
		status int
		out    string // is in standard output
		err    string // is in standard error
	}{
		{"echo|text=hi", "", 0, `{"text":"hi"}`, ""},
		{"echo|text=12", "", 0, `{"text":"12"}`, ""},
		{`echo|text="q"`, "", 0, `{"text":"\"q\""}`, ""},
		{`echo|text=x|tags="q"|tags=r`, "", 0, `"tags":["\"q\"","r"]`, ""},
		{`echo|text=x|any="q"`, "", 0, `"any":"q"`, ""},
		{"echo|text=a=b", "", 0, `{"text":"a=b"}`, ""},
		{"echo|text=", "", 0, `{"text":""}`, ""},
		{"echo|text=null", "", 0, `{"text":"null"}`, ""},
		{"echo|text=x|n=3|x=1.5e3|on=true", "", 0, `{"n":3,"on":true,"text":"x","x":1.5e3}`, ""},
		{"echo|text=x|x=null", "", 0, `{"text":"x","x":null}`, ""},
		{"echo|text=x|tags=a", "", 0, `"tags":["a"]`, ""},
		{"echo|text=x|tags=a|tags=b,c", "", 0, `"tags":["a","b,c"]`, ""},
		{`echo|text=x|tags=["a","b"]`, "", 0, `"tags":["a","b"]`, ""},
		{"echo|text=x|sizes=1|sizes=2", "", 0, `"sizes":[1,2]`, ""},
		{`echo|text=x|more={"a":{"b":1}}`, "", 0, `"more":{"a":{"b":1}}`, ""},
		{"echo|text=x|any=5", "", 0, `"any":5`, ""},
		{"echo|text=x|any=five", "", 0, `"any":"five"`, ""},
		{"echo|text=x|any=1|any=2", "", 0, `"any":[1,2]`, ""},
		{"echo|text=x|pick=3|level=high", "", 0, `"level":"high","pick":3`, ""},
		{"open|whatever=1", "", 0, `{"whatever":1}`, ""},
		{"echo|-", `{"text":"from input","n":2}`, 0, `{"n":2,"text":"from input"}`, ""},
		{"echo|n=5|-", `{"text":"t","n":2}`, 0, `{"n":5,"text":"t"}`, ""},
		{"structured", "", 0, "b: a://b\n{\n  \"a\"", ""},
		{"--timeout|5s|echo|text=hi", "", 0, `{"text":"hi"}`, ""},

		{"", "", 2, "", "call needs TOOL, such as add"},
		{"nothing", "", 2, "", "the server has none, echo, fail, image, open, refuse, refused, slow and 1 more; list them with prog tools"},
		{"echo", "", 2, "", "text: required but missing\nusage: echo text=string [n=integer]"},
		{"echo|text=x|n=three", "", 2, "", "n: must be an integer, got a string"},
		{"echo|text=x|n=0", "", 2, "", "n: must be at least 1, got 0"},
		{"echo|text=x|n=1.5", "", 2, "", "n: "},
		{"echo|text=x|on=yes", "", 2, "", "on: must be a boolean"},
		{"echo|text=x|pick=left", "", 2, "", `pick: must be one of "up", "down", 3`},
		{"echo|text=x|level=middle", "", 2, "", `level: must be one of "low", "high"`},
		{"echo|text=x|more=[1]", "", 2, "", "more: must be an object"},
		{"echo|text=x|tags=[1", "", 2, "", "tags: must be an array"},
		{"echo|text=x|tags=[1]", "", 2, "", "tags[0]: must be a string"},
		{"echo|text=x|sizes=big", "", 2, "", "sizes[0]: must be an integer"},
		{"echo|text=x|text=y", "", 2, "", "text: must be a string, got an array"},
		{"echo|text=x|colour=red", "", 2, "", "colour: is not a known property"},
		{"none|x=1", "", 2, "", "no properties are allowed"},
		{"echo|=x", "", 2, "", "write name=value"},
		{"echo|-", `[1]`, 2, "", "must be a JSON object"},
		{"echo|-", `{"text":"a","text":"b"}`, 2, "", "standard input"},
		{"echo|-", ``, 2, "", "must be a JSON object"},
		{"echo|-", `{"text":"a","n":"b"}`, 2, "", "n: must be an integer"},
		{"echo|text=x|--timeout|0s", "", 2, "", "--timeout"},
		{"echo|text=x|--timeout|soon", "", 2, "", "--timeout"},

		{"fail", "", 1, "", `no such luck\u001b[31m` + "\n"},
		{"refused", "", 2, "", "refused is refused"},
		{"refuse", "", 1, "", `the server returned an error: not \u001b[2Jthat` + "\n"},
		{"slow|--timeout|300ms", "", 3, "", "300ms"},
	} {
		t.Run(test.args, func(t *testing.T) {
			args := append([]string{"call"}, strings.FieldsFunc(test.args, func(r rune) bool { return r == '|' })...)
			got := do(t, dir, test.stdin, args...)
			if got.status != test.status || !strings.Contains(got.out, test.out) || !strings.Contains(got.err, test.err) {
				t.Errorf("exit code %d, want %d, output\n%s%s\nwant %q and %q in it", got.status, test.status, got.out, got.err, test.out, test.err)
			}
		})
	}
}

// With --json, every command prints one JSON object, and no error elsewhere.
func TestJSON(t *testing.T) {
	dir := t.TempDir()
	for args, status := range map[string]int{
		"tools": 0, "resources": 0, "prompts": 0, "call echo text=hi": 0, "call echo --json -": 0, "read note://1": 0, "prompt greet who=me": 0,
		"call fail": 1, "read note://2": 1,
		"call nothing": 2, "call echo": 2, "prompt greet": 2, "prompt greet who=a who=b": 2, "prompt greet x=1": 2, "prompt nobody": 2,
		"tools --timeout -1s": 2, "call slow --timeout 300ms": 3,
	} {
		t.Run(args, func(t *testing.T) {
			got := do(t, dir, `{"text":"hi"}`, append(strings.Fields(args), "--json")...)
			var object map[string]any
			if err := json.Unmarshal([]byte(got.out), &object); err != nil || got.status != status || strings.Contains(got.err, "prog: ") {
				t.Errorf("exit code %d, output (%v)\n%s%s; want exit code %d, a JSON object and no other error", got.status, err, got.out, got.err, status)
			}
		})
	}
	if got := do(t, t.TempDir(), "", "tools", "one", "two"); got.status != 2 || !strings.Contains(got.err, "one") {
		t.Errorf(`got %+v; want status 2 and "one" in the standard error`, got)
	}
}

func TestLists(t *testing.T) {
	for args, want := range map[string]string{
		"tools":              "echo text=string [n=integer] [x=number] [on=boolean] [pick=up|down|3] [tags=string…] [sizes=integer…] [more=object] [any=any] [level=low|high]\n    Does echo.\nfail\n",
		"resources":          "note://1\n    one\n",
		"prompts":            "greet who=string [how=string]\n    Greets.\n",
		"read note://1":      "first note\n",
		"prompt greet who=x": "user:\nHello x\n",
	} {
		if got := do(t, t.TempDir(), "", strings.Fields(args)...); got.status != 0 || !strings.HasPrefix(got.out, want) {
			t.Errorf("%s: got %+v; want status 0 and output starting with %q", args, got, want)
		}
	}
}

// Files are written to the folder that they are for, under names that are free.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		if got := do(t, dir, "", "call", "image", "--out", "in/here"); got.status != 0 || strings.Count(got.out, filepath.Join(dir, "in", "here")) != 3 {
			t.Fatalf("got %+v; want status 0 and three paths below in/here", got)
		}
	}
	var names []string
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			short, _ := filepath.Rel(dir, path)
			names = append(names, filepath.ToSlash(short))
		}
		return err
	})
	if err != nil || fmt.Sprint(names) != "[in/here/image-2.png in/here/image-2.wav in/here/image.png in/here/image.wav in/here/passwd-2.bin in/here/passwd.bin]" {
		t.Errorf("there are %v, %v", names, err)
	}
}

// An interrupt cancels the call, and the command waits for the server to end.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	cancelled := false
	got := doWith(ctx, t, inProcess{cancelled: func() { cancelled = true }}, t.TempDir(), "", "call", "slow")
	if got.status != 1 || !strings.Contains(got.err, "interrupted") || !cancelled {
		t.Errorf(`got %+v, and the call was cancelled: %t; want status 1, "interrupted" on standard error, and true`, got, cancelled)
	}
}

// After an interrupt, the command does not wait for a call that ignores it.
func TestInterruptDeaf(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	deaf := make(chan struct{})
	defer close(deaf)
	time.AfterFunc(200*time.Millisecond, cancel)
	got := doWith(ctx, t, inProcess{cancelled: func() { <-deaf }}, t.TempDir(), "", "call", "slow")
	if got.status != 1 || !strings.Contains(got.err, "interrupted") {
		t.Errorf(`got %+v; want status 1, and "interrupted" on standard error`, got)
	}
}

// A server that does not start is reported, and completion suggests nothing.
func TestNoServer(t *testing.T) {
	target := inProcess{failure: errors.New("no database")}
	if got := doWith(t.Context(), t, target, t.TempDir(), "", "tools"); got.status != 1 || !strings.Contains(got.err, "no database") {
		t.Errorf(`got %+v; want status 1 and "no database" in the standard error`, got)
	}
	if got := doWith(t.Context(), t, target, t.TempDir(), "", "__complete", "call", ""); got.status != 0 || strings.Contains(got.out, "echo") {
		t.Errorf(`got %+v; want status 0 and output without "echo"`, got)
	}
}

// Tools, arguments, values, resources and prompts are completed.
func TestCompletion(t *testing.T) {
	for args, want := range map[string]string{
		"tools |":                   "",
		"call |e":                   "echo",
		"call |":                    "echo fail image none open refuse refused slow structured",
		"call echo |t":              "text= tags=",
		"call echo text=x |":        "n= x= on= pick= tags= sizes= more= any= level=",
		"call echo text=x tags=a |": "n= x= on= pick= tags= sizes= more= any= level=",
		"call echo |te":             "text=",
		"call echo |pick=":          "pick=up pick=down pick=3",
		"call echo |on=t":           "on=true",
		"call echo |level=":         "level=low level=high",
		"call nobody thing |":       "",
		"read |":                    "note://1",
		"prompt greet |":            "who= how=",
		"prompt |":                  "greet",
		"prompt greet |who=":        "",
	} {
		t.Run(args, func(t *testing.T) {
			before, last, _ := strings.Cut(args, "|")
			got := do(t, t.TempDir(), "", append(append([]string{"__complete"}, strings.Fields(before)...), last)...)
			var words []string
			for line := range strings.Lines(got.out) {
				if word, _, _ := strings.Cut(strings.TrimSpace(line), "\t"); word != "" && !strings.HasPrefix(word, ":") {
					words = append(words, word)
				}
			}
			if text := strings.Join(words, " "); text != want {
				t.Errorf("got %q, want %q; standard error: %s", text, want, got.err)
			}
		})
	}
}

// A reader of the output that goes away, such as head, is no error, for text and for JSON. Other
// errors are reported without it.
func TestReaderGoesAway(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no EPIPE")
	}
	for _, test := range []struct {
		args   []string
		status int
		say    string
	}{
		{[]string{"tools"}, 0, ""},
		{[]string{"tools", "--json"}, 0, ""},
		{[]string{"call", "nope"}, terminal.ExitUsage, `tool "nope" not found`},
		{[]string{"call", "fail", "--json"}, terminal.ExitFailure, "the tool returned an error"},
	} {
		in, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		in.Close()
		defer out.Close()
		got := doTo(t.Context(), t, out, inProcess{}, t.TempDir(), "", test.args...)
		if got.status != test.status || !strings.Contains(got.err, test.say) || strings.Contains(got.err, "broken pipe") || test.say == "" && got.err != "" {
			t.Errorf("%s exits with %d and prints %q; want %d, %q and nothing about the pipe", test.args, got.status, got.err, test.status, test.say)
		}
	}
}
