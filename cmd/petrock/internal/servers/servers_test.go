package servers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/cmd/petrock/internal/mcpconfig"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcphttp"
	"github.com/petrock/petrock/core/plumbing/mcpcli"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

// kindVariable makes this program a server of some kind, after a delay.
const kindVariable = "PETROCK_TEST_SERVER"

func TestMain(m *testing.M) {
	kind, delay, _ := strings.Cut(os.Getenv(kindVariable), " ")
	if wait, err := time.ParseDuration(delay); err == nil {
		time.Sleep(wait)
	}
	switch kind {
	case "":
		os.Exit(runTests(m))
	case "good":
		if err := newServer(os.Args[1:]...).ServeStdio(context.Background(), os.Stdout); err != nil {
			os.Exit(1)
		}
	case "bare":
		if err := mcp.NewServer(mcp.Implementation{Name: "bare", Version: "1"}, mcp.Options{}).ServeStdio(context.Background(), os.Stdout); err != nil {
			os.Exit(1)
		}
	case "hostile":
		fmt.Fprintln(os.Stderr, hostile)
		if err := newHostile().ServeStdio(context.Background(), os.Stdout); err != nil {
			os.Exit(1)
		}
	case "garbage":
		fmt.Println("Listening on port 3000 ...")
		io.Copy(io.Discard, os.Stdin)
	case "loud":
		fmt.Println("Listening on port 3000 ...")
		newServer().ServeStdio(context.Background(), os.Stdout)
	case "dies":
		fmt.Fprintln(os.Stderr, "no database")
		os.Exit(3)
	}
}

// runTests runs the tests with temporary cache and configuration folders.
func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "servers")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	os.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	return m.Run()
}

// newServer returns a server whose tools echo their arguments. By default it has the tools echo,
// fail and slow, a resource and a prompt.
func newServer(tools ...string) *mcp.Server {
	s := mcp.NewServer(mcp.Implementation{Name: "test", Version: "1"}, mcp.Options{})
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	echo := func(_ context.Context, arguments json.RawMessage) (*mcp.ToolResult, error) {
		return mcp.TextResult(string(arguments)), nil
	}
	for _, name := range tools {
		check(s.AddTool(mcp.Tool{Name: name}, echo))
	}
	if len(tools) > 0 {
		return s
	}
	check(s.AddTool(mcp.Tool{Name: "echo", InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"},"on":{"type":"boolean"}},"required":["text"]}`)}, echo))
	check(s.AddTool(mcp.Tool{Name: "fail"}, func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
		return nil, errors.New("no such luck")
	}))
	check(s.AddTool(mcp.Tool{Name: "slow"}, func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
		<-ctx.Done()
		fmt.Fprintln(os.Stderr, "slow was cancelled")
		return nil, ctx.Err()
	}))
	check(s.AddResource(mcp.Resource{URI: "note://1", Name: "one"}, func(context.Context, string, map[string]string) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{{Text: "first note"}}, nil
	}))
	check(s.AddPrompt(mcp.Prompt{Name: "greet", Arguments: []mcp.PromptArgument{{Name: "who", Required: true}, {Name: "how"}}},
		func(_ context.Context, a map[string]string) (*mcp.PromptResult, error) {
			return &mcp.PromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text{Text: "Hello " + a["who"]}}}}, nil
		}))
	return s
}

// hostile has characters that a terminal must not get.
const hostile = "h\x1b[2J\u202e\u009b31m\u200b\r\a"

// newHostile returns a server that sends hostile in every text.
func newHostile() *mcp.Server {
	s := mcp.NewServer(mcp.Implementation{Name: "test" + hostile, Version: hostile}, mcp.Options{})
	for name, handler := range map[string]mcp.ToolHandler{
		"look": func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
			mcp.Progress(ctx, 1, 2, hostile)
			return &mcp.ToolResult{Content: []mcp.Content{mcp.Text{Text: hostile}, mcp.ResourceLink{Resource: mcp.Resource{URI: "a://" + hostile, Name: hostile}}}}, nil
		},
		"fail": func(context.Context, json.RawMessage) (*mcp.ToolResult, error) { return nil, errors.New(hostile) },
		"ask": func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
			form := json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","title":"` + "\u202e" + `"}}}`)
			return mcp.TextResult("asked"), mcp.Ask(ctx, &mcp.Elicitation{Key: "a", Message: hostile, Schema: form})
		},
	} {
		err := s.AddTool(mcp.Tool{Name: name, Description: hostile, InputSchema: json.RawMessage(`{"type":"object","properties":{"` + "\u202e" + `":{"type":"string"}}}`)}, handler)
		if err != nil {
			panic(err)
		}
	}
	err := s.AddResource(mcp.Resource{URI: "note://1", Name: hostile, Description: hostile}, func(context.Context, string, map[string]string) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{{Text: hostile}}, nil
	})
	if err == nil {
		err = s.AddPrompt(mcp.Prompt{Name: "greet", Description: hostile}, func(context.Context, map[string]string) (*mcp.PromptResult, error) {
			return &mcp.PromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text{Text: hostile}}}}, nil
		})
	}
	if err != nil {
		panic(err)
	}
	return s
}

// A result is the outcome of a command line.
type result struct {
	status   int
	out, err string
}

// do runs a command line in a folder.
func do(ctx context.Context, t *testing.T, dir string, args ...string) result {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var errOut bytes.Buffer
	env := mcpcli.Env{In: strings.NewReader(`{"text":"hi"}`), Out: out, Err: &errOut, Dir: dir, Program: "prog", Info: mcp.Implementation{Name: "prog", Version: "1"}}
	started := false
	root := &cobra.Command{Use: "prog", SilenceErrors: true, SilenceUsage: true, PersistentPreRun: func(*cobra.Command, []string) { started = true }}
	root.AddCommand(Commands(env)...)
	root.SetOut(out)
	root.SetErr(&errOut)
	root.SetArgs(args)
	err = root.ExecuteContext(ctx)
	if err != nil && !started {
		err = &terminal.UsageError{Err: err}
	}
	if err != nil {
		fmt.Fprintln(&errOut, err)
	}
	text, readErr := os.ReadFile(out.Name())
	if readErr != nil {
		t.Fatal(readErr)
	}
	return result{terminal.ExitCode(err), string(text), errOut.String()}
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// entry returns a configuration entry that starts this program as a server of some kind.
func entry(t *testing.T, name, kind string, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	list, err := json.Marshal(append([]string{}, args...))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`%q: {"type": "stdio", "command": %q, "args": %s, "env": {%q: %q}}`, name, self, list, kindVariable, kind)
}

// Usage errors and unreachable servers have different exit codes.
func TestWords(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, ".mcp.json", `{"mcpServers": {`+entry(t, "good", "good")+`}}`)
	for _, test := range []struct {
		args   string
		status int
		says   string
	}{
		{"call echo text=hi --revision 2025-03-26", 0, `{"text":"hi"}`},
		{"call echo text=hi --verbose", 0, `{"text":"hi"}`},
		{"call echo text=hi --header nonsense", 2, "Authorization: Bearer TOKEN"},
		{"call echo text=hi --revision 2000-01-01", 2, "2025-11-25"},
		{"call echo text=hi --config nowhere.json", 2, "nowhere.json"},
		{"call nobody echo text=hi", 2, "known servers: good"},
		{"call echo text=hi --", 2, "missing command after --"},
		{"tools one two", 2, "two"},
		{"tools --all x", 2, "--all"},
		{"doctor --timeout -1s", 2, "--timeout"},
		{"call echo text=hi -- no-such-program-anywhere", 3, "not found in PATH"},
		{"call http://127.0.0.1:1/mcp echo text=hi", 3, "refused"},
	} {
		t.Run(test.args, func(t *testing.T) {
			for _, format := range []string{"--verbose", "--json"} {
				args := append([]string{strings.Fields(test.args)[0], format, "--yes"}, strings.Fields(test.args)[1:]...)
				got := do(t.Context(), t, dir, args...)
				if got.status != test.status || format == "--verbose" && !strings.Contains(got.out+got.err, test.says) {
					t.Errorf("exit code %d, and the output\n%s%s\nwant %d, and %q in it", got.status, got.out, got.err, test.status, test.says)
				}
				if object := map[string]any{}; format == "--json" && !strings.Contains(test.args, "one two") {
					if err := json.Unmarshal([]byte(got.out), &object); err != nil {
						t.Errorf("stdout %s: %v", got.out, err)
					}
				}
			}
		})
	}
}

// An interrupt cancels the call and stops the server.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, ".mcp.json", `{"mcpServers": {`+entry(t, "good", "good")+`}}`)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(500*time.Millisecond, cancel)
	got := do(ctx, t, dir, "call", "slow", "--verbose", "--yes")
	if got.status != 1 || !strings.Contains(got.err, "interrupted") || !strings.Contains(got.err, "slow was cancelled") {
		t.Errorf(`got %+v; want status 1, and "interrupted" and "slow was cancelled" in the standard error`, got)
	}
}

// The default is the server of the project, or the only one. Names come from the configuration
// files.
func TestServers(t *testing.T) {
	good, other := entry(t, "good", "good"), entry(t, "other", "good")
	one := `{"mcpServers": {` + good + `}}`
	two := `{"mcpServers": {` + good + `, ` + other + `, "unset": {"command": "${NO_SUCH_VARIABLE_ANYWHERE}"}, "dies": {"command": "sh", "args": ["-c", "exit 3"]}}}`
	limited := `{"mcp": {` + strings.TrimSuffix(good, "}") + `, "disabled_tools": ["fail"]}}}`
	for _, test := range []struct {
		name   string
		files  map[string]string
		args   string
		status int
		says   string
	}{
		{"the only one", map[string]string{".mcp.json": one}, "call echo text=hi", 0, `{"text":"hi"}`},
		{"above", map[string]string{"../.mcp.json": one, "../petrock.json": `{"name": "good"}`}, "call echo text=hi", 0, `{"text":"hi"}`},
		{"above the project", map[string]string{"../.mcp.json": one, "petrock.json": `{"name": "good"}`}, "call echo text=hi", 2, "ignored, because it is above"},
		{"by name", map[string]string{".mcp.json": two}, "call other echo text=hi", 0, `{"text":"hi"}`},
		{"by name, tools", map[string]string{".mcp.json": two}, "tools other", 0, `echo text=string`},
		{"none is named", map[string]string{".mcp.json": two}, "call echo text=hi", 2, "good, other, unset, dies; pass one of them, a URL, or a command after --"},
		{"a server without a tool", map[string]string{".mcp.json": two}, "call other", 2, "other is a server; pass a tool too"},
		{"a server without a resource", map[string]string{".mcp.json": two}, "read other", 2, "other is a server; pass a resource too"},
		{"that of the project", map[string]string{".mcp.json": two, "petrock.json": `{"name": "other"}`}, "call echo text=hi", 0, `{"text":"hi"}`},
		{"of another project", map[string]string{".mcp.json": two, "petrock.json": `{"name": "else"}`}, "call echo text=hi", 2, "no SERVER given"},
		{"an unknown name", map[string]string{".mcp.json": two}, "tools good2", 2, "known servers: good, other, unset, dies; or pass a URL"},
		{"another file", map[string]string{"x/my.json": one}, "call echo text=hi --config x/my.json", 0, `{"text":"hi"}`},
		{"another folder", map[string]string{"x/.mcp.json": one}, "call echo text=hi --dir x", 0, `{"text":"hi"}`},
		{"no file", nil, "tools", 2, "no SERVER given, and no MCP configuration file"},
		{"no file for doctor", nil, "doctor", 2, "vscode/mcp.json); pass a URL, or a command after --"},
		{"no file for all", nil, "tools --all", 2, "vscode/mcp.json); pass a URL, or a command after --"},
		{"no servers", map[string]string{".mcp.json": `{"mcpServers": {}}`}, "tools", 2, "defines none"},
		{"a broken file", map[string]string{".mcp.json": `{"mcpServers": {`}, "tools", 2, ".mcp.json:1:"},
		{"a variable that is not set", map[string]string{".mcp.json": two}, "call unset echo", 3, "NO_SUCH_VARIABLE_ANYWHERE"},
		{"one that dies", map[string]string{".mcp.json": two}, "tools dies", 3, "exit status 3"},
		{"a tool that is off", map[string]string{"crush.json": limited}, "call fail", 2, "disabled_tools"},
		{"a tool that is on", map[string]string{"crush.json": limited}, "call echo text=hi", 0, `{"text":"hi"}`},
		{"all", map[string]string{".mcp.json": two}, "tools --all", 3, "good echo text=string"},
		{"nothing", map[string]string{".mcp.json": `{"mcpServers": {` + entry(t, "bare", "bare") + `}}`}, "tools", 0, "bare has no tools.\n"},
		{"nothing of all", map[string]string{".mcp.json": `{"mcpServers": {` + entry(t, "bare", "bare") + `}}`}, "tools --all", 0, "bare has no tools.\n"},
		{"no resources", map[string]string{".mcp.json": `{"mcpServers": {` + entry(t, "bare", "bare") + `}}`}, "resources", 0, "bare has no resources.\n"},
		{"all but some", map[string]string{".mcp.json": two}, "tools --all", 3, "servers that were not started, for the reasons above: unset\nservers that did not answer: dies; run prog doctor"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "project")
			write(t, dir, "README", "")
			for name, text := range test.files {
				write(t, dir, name, text)
			}
			got := do(t.Context(), t, dir, append(strings.Fields(test.args), "--yes")...)
			if got.status != test.status || !strings.Contains(got.out+got.err, test.says) {
				t.Errorf("exit code %d, want %d; it prints\n%s%s\nwant %q in it", got.status, test.status, got.out, got.err, test.says)
			}
		})
	}
}

// Requests to a URL have the headers of --header.
func TestAddress(t *testing.T) {
	handler := mcphttp.NewHandler(newServer(), mcphttp.Options{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	defer web.Close()
	dir := t.TempDir()
	if got := do(t.Context(), t, dir, "call", web.URL, "echo", "text=hi", "--header", "Authorization: Bearer secret"); got.status != 0 || !strings.Contains(got.out, "hi") {
		t.Errorf(`got %+v; want status 0 and "hi" in the output`, got)
	}
	if got := do(t.Context(), t, dir, "tools", web.URL); got.status != 3 || !strings.Contains(got.err, "401") {
		t.Errorf(`got %+v; want status 3 and "401" in the standard error`, got)
	}
	write(t, dir, ".mcp.json", `{"mcpServers": {
		"in": {"type": "http", "url": "`+web.URL+`", "headers": {"Authorization": "Bearer secret"}},
		"wrong": {"type": "http", "url": "`+web.URL+`", "headers": {"Authorization": "Bearer guess"}},
		"out": {"type": "http", "url": "`+web.URL+`"},
		"nowhere": {"type": "http", "url": "http://127.0.0.1:1/mcp"}
	}}`)
	got := do(t.Context(), t, dir, "doctor")
	for _, want := range []string{
		"in: ok (.mcp.json)\n  test 1 speaks 2026-07-28 and 2025-11-25", `Add "headers": {"Authorization"`, "The server rejects the Authorization header in .mcp.json", "is not running at this URL",
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("the output lacks %q:\n%s", want, got.out)
		}
	}
	if got.status != 1 {
		t.Errorf("exit code %d, want 1", got.status)
	}
}

// doctor prints the errors of each server and each file.
func TestDoctor(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, ".mcp.json", `{"mcpServers": {`+strings.Join([]string{
		entry(t, "good", "good"), entry(t, "loud", "loud"), entry(t, "garbage", "garbage"), entry(t, "dies", "dies"),
		`"absent": {"command": "no-such-program-anywhere"}`, `"unset": {"command": "x", "args": ["${NO_SUCH_VARIABLE_ANYWHERE}"]}`,
	}, ", ")+`}}`)
	write(t, dir, "crush.json", `{"mcp": {`+entry(t, "good", "good")+`, "off": {"type": "stdio", "command": "x", "disabled": true}}}`)
	write(t, dir, ".cursor/mcp.json", `{"mcpServers": [`)
	got := do(t.Context(), t, dir, "doctor", "--json", "--timeout", "1s", "--yes")
	var found struct {
		OK       bool
		Files    []string
		Problems []string
		Servers  []struct {
			Name, State, Stateless, Handshake string
			Files                             []string
			Tools, Resources, Prompts         int
			Wrong, Notes                      []string
		}
	}
	if err := json.Unmarshal([]byte(got.out), &found); err != nil || got.status != 1 || found.OK {
		t.Fatalf("exit code %d, OK %t, %v; it prints\n%s%s\nwant exit code 1 and OK false", got.status, found.OK, err, got.out, got.err)
	}
	if len(found.Problems) != 1 || !strings.Contains(found.Problems[0], filepath.Join(".cursor", "mcp.json")) || len(found.Files) != 3 {
		t.Errorf("files %v, problems %v; want three files, and one problem in %s", found.Files, found.Problems, filepath.Join(".cursor", "mcp.json"))
	}
	want := map[string]string{
		"good": "", "off": "", "loud": "Listening on port", "garbage": "Listening on port", "dies": "no database", "absent": "install it", "unset": "NO_SUCH_VARIABLE_ANYWHERE",
	}
	for _, s := range found.Servers {
		says, ok := want[s.Name]
		delete(want, s.Name)
		if text := strings.Join(s.Wrong, "\n"); !ok || !strings.Contains(text, says) || (says == "") != (text == "") {
			t.Errorf("%s: got %q, want %q", s.Name, text, says)
		}
		if s.Name == "good" && (s.State != "ok" || s.Stateless != "2026-07-28" || s.Handshake != "2025-11-25" || s.Tools != 3 || s.Resources != 1 || s.Prompts != 1 || len(s.Files) != 2) {
			t.Errorf("good is %+v", s)
		}
		if hint := "run it in a shell"; strings.Contains(strings.Join(s.Wrong, "\n"), hint) != (s.Name == "garbage") {
			t.Errorf("%s: got %q, want %q only if the server starts, fails, and its standard error is empty", s.Name, s.Wrong, hint)
		}
		if s.Name == "off" && s.State != "disabled" {
			t.Errorf("off is %+v", s)
		}
	}
	if len(want) > 0 {
		t.Errorf("doctor does not report %v", want)
	}

	web := httptest.NewServer(mcphttp.NewHandler(newServer(), mcphttp.Options{}))
	defer web.Close()
	for args, says := range map[string]string{
		"good": "good: ok", "dies": "dies: wrong", "nobody": "known servers: good", web.URL: web.URL + ": ok", "-- no-such-program-anywhere": "no-such-program-anywhere: wrong", "--": "missing command after --", "--header A:b -- x": "--header is for URLs",
	} {
		got := do(t.Context(), t, dir, append([]string{"doctor"}, strings.Fields(args)...)...)
		others := strings.Count(got.out, ": ok") + strings.Count(got.out, ": wrong")
		if !strings.Contains(got.out+got.err, says) || others > 1 {
			t.Errorf("doctor %s returned %+v with %d other problems; want %q, and at most one other", args, got, others, says)
		}
	}
	if got := do(t.Context(), t, t.TempDir(), "doctor"); got.status != 2 || !strings.Contains(got.err, "no MCP configuration file") {
		t.Errorf(`without files: got %+v; want status 2 and "no MCP configuration file" in the standard error`, got)
	}
}

// Completion suggests the names that earlier commands listed, and prints no errors.
func TestCompletion(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, ".mcp.json", `{"mcpServers": {`+entry(t, "good", "good")+`, `+entry(t, "dies", "dies")+`}}`)
	write(t, dir, "petrock.json", `{"name": "good"}`)
	for _, command := range []string{"tools", "resources", "prompts"} {
		if got := do(t.Context(), t, dir, command, "good"); got.status != 0 {
			t.Fatalf("%s: got %+v, want status 0", command, got)
		}
	}
	for args, want := range map[string]string{
		"tools |":                 "good dies",
		"call |e":                 "echo",
		"call |":                  "good dies echo fail slow",
		"call good |s":            "slow",
		"call good echo |t":       "text=",
		"call good echo text=x |": "on=",
		"call echo |te":           "text=",
		"call echo |on=t":         "on=true",
		"call dies |":             "",
		"call nobody thing |":     "",
		"read |":                  "good dies note://1",
		"read good |":             "note://1",
		"prompt greet |":          "who= how=",
		"prompt good |":           "greet",
		"prompt greet |who=":      "",
		"tools --revision |":      "2026-07-28 2025-11-25 2025-06-18 2025-03-26 2024-11-05",
		"doctor |":                "good dies",
	} {
		t.Run(args, func(t *testing.T) {
			before, last, _ := strings.Cut(args, "|")
			got := do(t.Context(), t, dir, append(append([]string{"__complete"}, strings.Fields(before)...), last)...)
			var words []string
			for line := range strings.Lines(got.out) {
				if word, _, _ := strings.Cut(strings.TrimSpace(line), "\t"); word != "" && !strings.HasPrefix(word, ":") {
					words = append(words, word)
				}
			}
			if text := strings.Join(words, " "); text != want {
				t.Errorf("suggestions = %q, want %q; stderr: %s", text, want, got.err)
			}
		})
	}
}

// --as reaches the project's server, and is refused for other servers.
func TestWithActor(t *testing.T) {
	for _, test := range []struct {
		kind       mcpconfig.Kind
		args, want string // the want of a refusal is part of the error
	}{
		{mcpconfig.Stdio, "run ./cmd/petrock dev", "run ./cmd/petrock dev -- --as=local:bob"},
		{mcpconfig.Stdio, "dev --no-net -- --data x", "dev --no-net -- --data x --as=local:bob"},
		{mcpconfig.Stdio, "mcp --data x", "mcp --data x --as=local:bob"},
		{mcpconfig.Stdio, "-y some-server -- dev", "started with neither petrock dev nor"},
		{mcpconfig.HTTP, "", "called over HTTP, where the credentials determine the actor"},
	} {
		s := &mcpconfig.Server{Name: "hello", Kind: test.kind, Args: strings.Fields(test.args)}
		got, err := withActor(s, "local:bob")
		if err != nil && (terminal.ExitCode(err) != terminal.ExitUsage || !strings.Contains(err.Error(), test.want)) || err == nil && strings.Join(got, " ") != test.want {
			t.Errorf("withActor(%v, %s) = %q, %v; want %s", test.kind, test.args, got, err, test.want)
		}
		if got, err := withActor(s, ""); err != nil || strings.Join(got, " ") != test.args {
			t.Errorf("without an actor, the arguments are %q, %v; want %s", got, err, test.args)
		}
	}
}
