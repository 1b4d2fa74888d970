package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/mcpcli"
)

// An addition is the input of the tool add.
type addition struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

// hello is the server that the tests run. It has a tool add, a tool ask that asks its user, a tool
// send with a scope, a resource and a prompt.
func hello(extensions ...Extension) Config {
	register := func(_ context.Context, s *mcp.Server) error {
		return errors.Join(
			mcp.AddTool(s, mcp.Tool{Name: "add", Description: "Adds two numbers."}, func(_ context.Context, in addition) (float64, error) { return in.A + in.B, nil }),
			s.AddTool(mcp.Tool{Name: "ask"}, func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
				e := &mcp.Elicitation{Key: "who", Message: "Who are you?", Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)}
				if err := mcp.Ask(ctx, e); err != nil {
					return nil, err
				}
				return mcp.TextResult(string(e.Content)), nil
			}),
			s.AddTool(mcp.Tool{Name: "send", Scopes: []string{"mail:send"}}, func(context.Context, json.RawMessage) (*mcp.ToolResult, error) { return mcp.TextResult("sent"), nil }),
			s.AddTool(mcp.Tool{Name: "print"}, func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
				fmt.Println("this line must not reach the client")
				return mcp.TextResult("printed"), nil
			}),
			s.AddResource(mcp.Resource{URI: "note://1", Name: "one"}, func(context.Context, string, map[string]string) ([]mcp.ResourceContents, error) {
				return []mcp.ResourceContents{{Text: "first note"}}, nil
			}),
			s.AddPrompt(mcp.Prompt{Name: "greet", Arguments: []mcp.PromptArgument{{Name: "who", Required: true}}}, func(_ context.Context, a map[string]string) (*mcp.PromptResult, error) {
				return &mcp.PromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text{Text: "Hello " + a["who"]}}}}, nil
			}))
	}
	return Config{Name: "hello", Version: "1.2.3", Instructions: "Add numbers.", Wire: func() Wiring {
		return Wiring{register, func(string) []Extension { return extensions }}
	}}
}

// keyed is hello with required keys.
func keyed() Config {
	c := hello()
	c.KeysRequired = true
	return c
}

func TestCommandLine(t *testing.T) {
	for _, test := range []struct {
		args   string
		status int
		out    string // is in standard output
		errOut string // is in standard error
	}{
		{"version", 0, "hello 1.2.3 go", ""},
		{"--version", 0, "hello 1.2.3 go", ""},
		{"", 0, "Serve clients:", ""},
		{"", 0, "Call the server:", ""},
		{"mcp --help", 0, "--dev", ""},
		{"help mcp", 0, "--dev", ""},
		{"nonsense", 2, "", "hello --help"},
		{"toolz", 2, "", `unknown command "toolz" for "hello"; did you mean tools?`},
		{"help nonsense", 2, "", `unknown command "nonsense"`},
		{"completion fsh", 2, "", `unknown command "fsh" for "hello completion"; did you mean`},
		{"completion bash x", 2, "", `unexpected argument "x": usage: bash`},
		{"version x", 2, "", `unexpected argument "x": usage: version`},
		{"tools --version", 2, "", "unknown flag: --version"},
		{"help toolz", 2, "", `unknown command "toolz" for "hello"; did you mean tools?`},
		{"read", 2, "", "read needs URI, such as note://1"},
		{"mcp extra", 2, "", `unexpected argument "extra": usage: mcp`},
		{"mcp extra", 2, "", "hello mcp --help"},
		{"mcp --nonsense", 2, "", "--nonsense"},
		{"call ad", 2, "", "the server has add"},
		{"call --help", 0, "call TOOL [name=value…|-] [flags]", ""},
		{"call", 2, "", "hello call --help"},
		{"call add --timeout never", 2, "", "--timeout"},
		{"tools two", 2, "", "two"},
		{"tools", 0, "add a=number b=number\n    Adds two numbers.", ""},
		{"call add a=2 b=3", 0, "5\n", ""},
		{"call add a=2 b=3 --json", 0, `"structuredContent": 5`, ""},
		{"call add a=2", 2, "", "b=number"},
		{"call add a=2 b=x", 2, "", "b: must be a number"},
		{"call add a=2 b=x --json", 2, `"status": 2`, ""},
		{"call ask", 2, "", "ask asks the user; answer with --answer, or run this command in a terminal"},
		{"call ask --json", 2, "asks the user", ""},
		{"call ask --answer name=Ann", 0, `{"name":"Ann"}`, ""},
		{"call ask --answer who.name=Ann", 0, `{"name":"Ann"}`, ""},
		{"call ask --answer nam=Ann", 2, "", "who: Who are you?"},
		{"call ask --answer name=", 0, `{"name":""}`, ""},
		{"call add --jsno a=2 b=3", 2, "", "unknown flag: --jsno; did you mean --json?\n"},
		{"call add --jsn a=2 b=3", 2, "", "unknown flag: --jsn; did you mean --json?"},
		{"call print", 0, "printed\n", ""},
		{"call add a=2 b=3 -- hello mcp", 2, "", "petrock call"},
		{"resources", 0, "note://1", ""},
		{"read note://1", 0, "first note\n", ""},
		{"read note://2", 1, "", "note://2"},
		{"prompts", 0, "greet who=string", ""},
		{"prompt greet who=you", 0, "Hello you", ""},
		{"__complete call a", 0, "add\tAdds two numbers.\nask\n", ""},
		{"__complete call add a=1 ", 0, "", ""},
		{"completion bash", 0, "__start_hello", ""},
		{"serve --help", 0, "HELLO_API_KEY", ""},
		{"serve --help", 0, `(default "127.0.0.1:8181")`, ""},
		{"serve --help", 0, "HELLO_STATE_KEY", ""},
		{"serve extra", 2, "", "hello serve --help"},
		{"serve --help", 0, "(default 1MiB)", ""},
		{"serve --help", 0, "(default 10s)", ""},
		{"serve --dev", 2, "", "--dev"}, // only over standard input and output
		{"serve --addr 8181", 2, "", "127.0.0.1:8181"},
		{"serve --addr 127.0.0.1:99999", 2, "", "127.0.0.1:8181"},
		{"serve --addr :0", 1, "", "set HELLO_API_KEY"},
		{"serve --grace soon", 2, "", "--grace"},
		{"serve --body-timeout -1s", 2, "", "--body-timeout must be more than 0"},
		{"serve --max-calls -1", 2, "", "--max-calls must be more than 0"},
		{"serve --max-calls 0", 2, "", "--max-calls must be more than 0"},
		{"serve --keep-alive 0", 2, "", "--keep-alive must be more than 0"},
		{"serve --max-body 0", 2, "", `"--max-body" flag: a size is a number of bytes above 0`},
		{"serve --max-body -1", 2, "", "--max-body"},
		{"serve --max-body 1MB", 2, "", "1MiB"},
		{"serve --max-body 2MiB --max-header 32KiB --replay-buffer 1KiB --grace -1s", 2, "", "--grace"},
		{"serve --allow-origin example.com", 2, "", "https://app.example.com"},
		{"serve --allow-host http://pc.local", 2, "", "mcp.example.com"},
		{"serve --public-url mcp.example.com", 2, "", "https://mcp.example.com/mcp"},
	} {
		t.Run(test.args, func(t *testing.T) {
			withoutKeys(t)
			out, errOut := create(t), create(t)
			status := Run(t.Context(), hello(), strings.Fields(test.args), out, errOut)
			if status != test.status {
				t.Errorf("exit code %d, want %d", status, test.status)
			}
			if got := read(t, out); !strings.Contains(got, test.out) {
				t.Errorf("standard output is %q, want it to contain %q", got, test.out)
			}
			if got := read(t, errOut); !strings.Contains(got, test.errOut) {
				t.Errorf("standard error is %q, want it to contain %q", got, test.errOut)
			}
		})
	}
}

// Outside its source, mcp --dev fails with the remedy.
func TestDevNeedsSource(t *testing.T) {
	t.Chdir(t.TempDir())
	errOut := create(t)
	if status := Run(t.Context(), hello(), []string{"mcp", "--dev"}, create(t), errOut); status != 1 {
		t.Errorf("exit code %d, want 1", status)
	}
	if got := read(t, errOut); !strings.Contains(got, "needs the source of hello") {
		t.Errorf(`standard error is %q, want it to contain "needs the source of hello"`, got)
	}
}

// A fakeExtension records calls of its methods.
type fakeExtension struct {
	name string
	fail error
	did  *[]string
}

func (f fakeExtension) Flags(*cobra.Command)       {}
func (f fakeExtension) Commands() []*cobra.Command { return nil }
func (f fakeExtension) Open(_ context.Context, _ *mcp.Server, log *slog.Logger) (func() error, error) {
	*f.did = append(*f.did, "open "+f.name)
	log.Info("opened", "what", f.name)
	return func() error {
		*f.did = append(*f.did, "close "+f.name)
		return errors.New("closing " + f.name)
	}, f.fail
}

type commandExtension struct{ fakeExtension }

func (commandExtension) Commands() []*cobra.Command {
	none := func(*cobra.Command, []string) {}
	return []*cobra.Command{{Use: "stock", GroupID: "Manage stock:", Run: none}, {Use: "other", Run: none}}
}

// The help of each command has at most 100 columns.
func TestHelpFits(t *testing.T) {
	root := newProgram(keyed(), create(t), create(t)).newRoot()
	mcpcli.Finish(root, "")
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		for _, line := range append(strings.Split(cmd.Long, "\n"), cmd.Short) {
			if n := utf8.RuneCountInString(line); n > 100 {
				t.Errorf("help of %s: %d columns, want at most 100: %s", cmd.CommandPath(), n, line)
			}
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(root)
}

// An extension names the heading of its commands; the default is neutral.
func TestCommandGroups(t *testing.T) {
	out := create(t)
	if status := Run(t.Context(), hello(commandExtension{}), []string{"--help"}, out, create(t)); status != 0 {
		t.Errorf("exit code %d, want 0", status)
	}
	help := read(t, out)
	for _, want := range []string{"Manage stock:\n  stock", "Other commands:\n  other"} {
		if !strings.Contains(help, want) {
			t.Errorf("help lacks %q:\n%s", want, help)
		}
	}
}

// Extensions that were opened are ended, even if another fails.
func TestOpen(t *testing.T) {
	var did []string
	a, b, bad := fakeExtension{"a", nil, &did}, fakeExtension{"b", nil, &did}, fakeExtension{"bad", errors.New("no room"), &did}
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, nil))
	end, err := (&program{extensions: []Extension{a, b}}).addComponents(t.Context(), nil, log)
	if err != nil {
		t.Fatal(err)
	}
	if err := end(); err == nil || err.Error() != "closing b\nclosing a" {
		t.Errorf(`closing gives %v; want the error "closing b\nclosing a"`, err)
	}
	if _, err := (&program{extensions: []Extension{a, bad, b}}).addComponents(t.Context(), nil, log); err == nil || err.Error() != "no room\nclosing a" {
		t.Errorf(`opening gives %v; want the error "no room\nclosing a"`, err)
	}
	if got := strings.Join(did, ", "); got != "open a, open b, close b, close a, open a, open bad, close a" {
		t.Errorf(`it did %q, want "open a, open b, close b, close a, open a, open bad, close a"`, got)
	}
	if got := logged.String(); strings.Count(got, "msg=opened what=a") != 2 {
		t.Errorf(`opening a is logged %d times, want twice: %q`, strings.Count(got, "msg=opened what=a"), got)
	}
}

func create(t *testing.T) *os.File {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "stream"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

func read(t *testing.T, file *os.File) string {
	t.Helper()
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestVersion(t *testing.T) {
	for version, want := range map[string]string{
		"v1.4.0": "v1.4.0", "v0.0.0-20261116143305-6e515db12345+dirty": "v0.0.0-20261116143305-6e515db12345+dirty", "(devel)": "devel", "": "devel",
	} {
		if got := versionOf(&debug.BuildInfo{Main: debug.Module{Version: version}}); got != want {
			t.Errorf("%q is %s, want %s", version, got, want)
		}
	}
	if got := versionOf(nil); got != "devel" {
		t.Errorf(`without build information: got %q, want "devel"`, got)
	}
}

// mcp and serve accept --read-only with and without a reason, even if no extension stores data.
func TestReadOnly(t *testing.T) {
	for args, want := range map[string]string{
		"mcp":                          "",
		"mcp --read-only":              "it was started with --read-only",
		"mcp --read-only=":             "it was started with --read-only",
		"mcp --read-only=maintenance":  "maintenance",
		"serve --read-only=on --addr ": "on",
	} {
		fake := fakeExtension{fail: errors.New("not opened"), did: new([]string)}
		stores := &storing{fakeExtension: fake}
		Run(t.Context(), hello(fake, stores), strings.Split(args, " "), create(t), create(t))
		if stores.readOnly != want {
			t.Errorf("%s: got reason %q, want %q", args, stores.readOnly, want)
		}
	}
}

// storing is an extension that stores data.
type storing struct {
	fakeExtension
	readOnly string
}

func (s *storing) SetReadOnly(reason string) { s.readOnly = reason }
