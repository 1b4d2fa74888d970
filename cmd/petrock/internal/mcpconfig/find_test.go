package mcpconfig_test

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/petrock/petrock/cmd/petrock/internal/mcpconfig"
)

// Find reads only the files of the nearest folder, and ignores settings files without servers.
func TestFind(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "a", "b")
	write(t, filepath.Join(root, ".mcp.json"), `{"mcpServers": {"far": {"command": "x"}}}`)
	write(t, filepath.Join(deep, "crush.json"), `{"options": {}}`)
	write(t, filepath.Join(deep, ".vscode"), "a file, and no folder")
	home := mcpconfig.Options{Home: root}
	config, err := mcpconfig.Find(deep, home)
	if err != nil || config.Dir != root || !slices.Equal(config.Names(), []string{"far"}) || len(config.Problems) > 0 {
		t.Fatalf("got %+v, %v; want no error, the folder %s, the server far and no problems", config, err, root)
	}
	write(t, filepath.Join(root, "a", ".cursor", "mcp.json"), `{"mcpServers": {"near": {"command": "${workspaceFolder}/x"}}}`)
	config, err = mcpconfig.Find(deep, home)
	if err != nil || !slices.Equal(config.Names(), []string{"near"}) {
		t.Fatalf("got %+v, %v; want no error and the server near", config, err)
	}
	if s, err := config.Server("near"); err != nil || s.Command != filepath.Join(root, "a", "x") || s.Dir != filepath.Join(root, "a") {
		t.Errorf("got %+v, %v; want no error and the command %s in its folder", s, err, filepath.Join(root, "a", "x"))
	}
	if s, err := config.Server("far"); s != nil || !errors.Is(err, mcpconfig.ErrUnknown) || !strings.Contains(err.Error(), "known servers: near") {
		t.Errorf(`got %v, %v; want no server and %v with "known servers: near"`, s, err, mcpconfig.ErrUnknown)
	}
	config, err = mcpconfig.Find(deep, mcpconfig.Options{Home: filepath.Join(root, "a")})
	if !errors.Is(err, mcpconfig.ErrNone) || !strings.Contains(err.Error(), filepath.Join(root, ".mcp.json")+": ignored") {
		t.Errorf("~/.cursor/mcp.json is of a project, or the search goes above the home folder: got %+v, %v; want %v, and %s ignored", config, err, mcpconfig.ErrNone, filepath.Join(root, ".mcp.json"))
	}
}

// The search ends at the project, or at the home folder. Files above that, and files of other
// users, are ignored with a notice.
func TestFindIgnores(t *testing.T) {
	for _, test := range []struct {
		name    string
		files   string // that exist, from the root
		home    string
		foreign string // what another user owns
		found   string // "" for nothing
		ignored string
	}{
		{"project", "a/petrock.json .mcp.json", "", "", "", ".mcp.json: ignored, because it is above"},
		{"project and its file", "a/petrock.json a/.mcp.json", "", "", "a/.mcp.json", ""},
		{"project in the home folder", "a/petrock.json .mcp.json", ".", "", "", ".mcp.json: ignored, because it is above"},
		{"home folder in a project", "petrock.json .mcp.json", "a", "", "", ".mcp.json: ignored, because it is above"},
		{"above the home folder", ".vscode/mcp.json", "a", "", "", "mcp.json: ignored, because it is above"},
		{"below the home folder", "a/.mcp.json", ".", "", "a/.mcp.json", ""},
		{"a repository below the home folder", "a/b/.git a/.mcp.json", ".", "", "a/.mcp.json", ""},
		{"a repository elsewhere", "a/.git a/.mcp.json", "", "", "a/.mcp.json", ""},
		{"above a repository elsewhere", "a/.git .mcp.json", "", "", "", ".mcp.json: ignored, because it is above"},
		{"elsewhere", "a/.mcp.json", "", "", "", ".mcp.json: ignored, because it is above"},
		{"elsewhere, here", "a/b/.mcp.json", "", "", "a/b/.mcp.json", ""},
		{"of another user", "a/b/.mcp.json", "", "a/b/.mcp.json", "", ".mcp.json: ignored, because it belongs to another user"},
		{"one of another user", "a/b/.mcp.json a/b/crush.json", "", "a/b/.mcp.json", "a/b/crush.json", ".mcp.json: ignored, because it belongs to another user"},
		{"a nearer one of another user", "a/b/.mcp.json a/.mcp.json", ".", "a/b/.mcp.json", "a/.mcp.json", ".mcp.json: ignored, because it belongs to another user"},
		{"a project of another user", "petrock.json .mcp.json", "", "petrock.json", "", ".mcp.json: ignored, because it is above"},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			deep := filepath.Join(root, "a", "b")
			write(t, filepath.Join(deep, "x"), "")
			for name := range strings.FieldsSeq(test.files) {
				key := map[string]string{"crush.json": "mcp", "mcp.json": "servers"}[filepath.Base(name)]
				write(t, filepath.Join(root, filepath.FromSlash(name)), `{"`+cmp.Or(key, "mcpServers")+`": {"s": {"type": "stdio", "command": "c"}}}`)
			}
			o := mcpconfig.Options{Home: filepath.Join(root, "nowhere")}
			if test.home != "" {
				o.Home = filepath.Join(root, test.home)
			}
			if test.foreign != "" {
				foreign, err := os.Stat(filepath.Join(root, test.foreign))
				if err != nil {
					t.Fatal(err)
				}
				o.IsOwn = func(info fs.FileInfo) bool { return !os.SameFile(info, foreign) }
			}
			config, err := mcpconfig.Find(deep, o)
			said := ""
			switch {
			case err != nil && test.found == "" && errors.Is(err, mcpconfig.ErrNone):
				said = err.Error()
			case err != nil || !slices.Equal(config.Files, []string{filepath.Join(root, test.found)}):
				t.Fatalf("%+v, %v", config, err)
			default:
				for _, p := range config.Ignored {
					said += p.Error()
				}
			}
			if !strings.Contains(said, test.ignored) || test.ignored == "" && strings.Contains(said, "ignored") {
				t.Errorf("got %q, want it to contain %q, and nothing ignored if that is empty", said, test.ignored)
			}
		})
	}
}

// A file in the home folder that only the user can write is trusted.
func TestTrusted(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, ".mcp.json")
	write(t, file, `{"mcpServers": {"s": {"command": "c"}}}`)
	for _, test := range []struct {
		home string
		mode os.FileMode
		want bool
	}{{home, 0o600, true}, {home, 0o644, true}, {home, 0o666, runtime.GOOS == "windows"}, {t.TempDir(), 0o600, false}} {
		if err := os.Chmod(file, test.mode); err != nil {
			t.Fatal(err)
		}
		config, err := mcpconfig.Read(file, mcpconfig.Options{Home: test.home})
		if err != nil {
			t.Fatal(err)
		}
		if s, err := config.Server("s"); err != nil || s.Trusted != test.want {
			t.Errorf("with mode %o: %+v, %v; want no error and Trusted %v", test.mode, s, err, test.want)
		}
	}
}

// The definition changes with everything that the project's files define for a server, and with
// nothing else.
func TestDefinition(t *testing.T) {
	dir := t.TempDir()
	define := func(dir, text, vars, value string) string {
		write(t, filepath.Join(dir, "vars"), vars)
		file := filepath.Join(dir, ".vscode", "mcp.json")
		write(t, file, text)
		config, err := mcpconfig.Read(file, mcpconfig.Options{Getenv: in(map[string]string{"X": value})})
		if err != nil {
			t.Fatal(err)
		}
		s, err := config.Server("s")
		if err != nil {
			t.Fatal(err)
		}
		return s.Definition
	}
	const text = `{"inputs": [{"id": "i", "type": "promptString", "default": "d"}], "servers": {"s": {"command": "c", "args": ["${env:X}", "${input:i}"], "envFile": "vars"}}}`
	first := define(dir, text, "A=1\n", "one")
	if again := define(dir, text+" // another comment", "A=1\n", "two"); again != first {
		t.Errorf("the value of a variable, or a comment, changes the definition: got %q, want %q", again, first)
	}
	for name, other := range map[string]string{
		"command": define(dir, strings.Replace(text, `"c"`, `"d"`, 1), "A=1\n", "one"),
		"input":   define(dir, strings.Replace(text, `"default": "d"`, `"default": "e"`, 1), "A=1\n", "one"),
		"envFile": define(dir, text, "A=1\nLD_PRELOAD=x\n", "one"),
		"folder":  define(t.TempDir(), text, "A=1\n", "one"),
	} {
		if other == first {
			t.Errorf("another %s leads to the same definition %q, want another", name, other)
		}
	}
}

func TestFindNone(t *testing.T) {
	dir := t.TempDir()
	if _, err := mcpconfig.Find(dir, mcpconfig.Options{}); err != nil && (!errors.Is(err, mcpconfig.ErrNone) || !strings.Contains(err.Error(), dir)) {
		t.Error(err)
	}
}

// Unusable files have an error with the position and the reason.
func TestReadRefuses(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{".mcp.json", "{\n  \"mcpServers\": {\n    \"ä\": x\n", ":3:10: expected a value"},
		{".mcp.json", "", ":1:1: expected a value, got end of input"},
		{".mcp.json", "[]", ": must be an object, got an array"},
		{".mcp.json", "{} // x", ":1:4: unexpected"},
		{".mcp.json", "{\"mcpServers\": {\"a\": {\"command\": \"x\",\n\"command\": \"y\"}}}", `:2:1: duplicate key "command"; keep one of them`},
		{".mcp.json", `{"mcpServers": []}`, ": mcpServers: must be an object, got an array"},
		{".mcp.json", `{"servers": {}}`, `: servers: Claude Code reads "mcpServers" instead of this key`},
		{"crush.json", `{"mcpServers": {}}`, `Crush reads "mcp" instead of this key`},
		{".crush.json", `{"mcp": {},}`, ":1:12: expected a key"},
		{".vscode/mcp.json", `{"mcpServers": {"a": {}}}`, `VS Code reads "servers" instead of this key`},
		{".cursor/mcp.json", "{/* x */\n \"servers\": {},}", `Cursor reads "mcpServers" instead of this key`},
		{".cursor/mcp.json", "{/* x\ny */ \"a\" 1}", ":2:10: expected a colon"},
		{".codex/config.toml", "[mcp_servers.a]\ncommand = \n", ":2:"},
		{".codex/config.toml", "mcp_servers = 3", ": mcp_servers: must be an object, got a number"},
		{"team.toml", "[mcp_servers.a]\n[mcp_servers.a]\n", ":2:"},
		{"team.json", `{"x": 1}`, ": must have exactly one of the keys"},
		{"team.json", `{"mcp": {}, "servers": {}}`, ": must have exactly one of the keys"},
		{"team.json", `{"mcpServers": {},}`, ":1:19: expected a key"},
		{"big.json", strings.Repeat(" ", 1<<20+1), "longer than"},
		{"deep.json", strings.Repeat("[", 1000), "nested deeper"},
	} {
		file := filepath.Join(t.TempDir(), filepath.FromSlash(test.name))
		write(t, file, test.text)
		config, err := mcpconfig.Read(file, mcpconfig.Options{})
		var problem *mcpconfig.Problem
		if !errors.As(err, &problem) || config != nil || !strings.Contains(err.Error(), test.want) || problem.File != file {
			t.Errorf("%s with %.40q: got %+v, %v; want no configuration and an error in %s containing %q", test.name, test.text, config, err, file, test.want)
		}
	}
	for _, file := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none.json")} {
		if _, err := mcpconfig.Read(file, mcpconfig.Options{}); err == nil || !strings.HasPrefix(err.Error(), file+": ") {
			t.Errorf("%v; want an error starting with %q", err, file+": ")
		}
	}
	if _, err := mcpconfig.Read("none.json", mcpconfig.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// For other file names, the key identifies the client.
func TestReadByKey(t *testing.T) {
	env := in(map[string]string{"X": "v"})
	for text, want := range map[string]string{
		"\xef\xbb\xbf" + `{"mcpServers": {"a": {"command": "c", "args": ["${X}", "$X", "${env:Y"]}}}`: "v $X ${env:Y",
		`{"mcp": {"a": {"type": "stdio", "command": "c", "args": ["${X}", "$X"]}}}`:                   "v v",
		`{"servers": {"a": {"command": "c", "args": ["${X}", "${env:X}"]}}, /* x */}`:                 "${X} v",
	} {
		file := filepath.Join(t.TempDir(), "team.json")
		write(t, file, text)
		config, err := mcpconfig.Read(file, mcpconfig.Options{Getenv: env})
		if err != nil {
			t.Error(err)
			continue
		}
		if s, err := config.Server("a"); err != nil || strings.Join(s.Args, " ") != want || s.Dir != filepath.Dir(file) || s.Command != "c" {
			t.Errorf("%s: got %+v, %v; want no error, the arguments %q, the folder %s and the command c", text, s, err, want, filepath.Dir(file))
		}
	}
}

// The problems of a server name the field, and contain no values of variables.
func TestProblems(t *testing.T) {
	env := in(map[string]string{"SECRET": "s3cret", "BREAK": "s3cret\r\nX: y", "ZERO": "s3cret\x00"})
	for _, test := range []struct{ file, entry, want string }{
		{".mcp.json", `{"command": 3}`, ": command: must be a string, got a number"},
		{".mcp.json", `{"command": "c", "env": {"A": 1}}`, ": env.A: must be a string, got a number; write it between quotes"},
		{".mcp.json", `{"command": "c", "env": {"A": null}}`, ": env.A: must be a string, got null"},
		{".mcp.json", `{"command": "c", "env": {"A=B": "x"}}`, `: env["A=B"]: not a valid variable name`},
		{".mcp.json", `{"command": "${ZERO}"}`, ": command: contains a NUL byte"},
		{".mcp.json", `{"type": "stdio", "url": "http://x"}`, ": command: missing"},
		{".mcp.json", `{"type": "sse", "command": "c"}`, ": url: missing"},
		{".mcp.json", `{"type": 1, "command": "c"}`, ": type: must be a string"},
		{".mcp.json", `{"url": "${SECRET}"}`, ": url: not a valid URL"},
		{".mcp.json", `{"url": "http://[${SECRET}"}`, ": url: not a valid URL"},
		{".mcp.json", `{"url": "unix:///x"}`, ": url: not a valid URL"},
		{".mcp.json", `{"url": "http://x", "headers": {"A": "${BREAK}"}}`, ": headers.A: the value contains a line break"},
		{".mcp.json", `{"url": "http://x", "headers": {"A B": "x"}}`, `: headers["A B"]: not a valid header name`},
		{".mcp.json", `{"url": "http://x", "headers": {"a-b": "x", "A-B": "y"}}`, ": headers.a-b: duplicate header"},
		{".mcp.json", `"c"`, `server "s": must be an object, got a string`},
		{"crush.json", `{"type": "streamable-http", "url": "http://x"}`, ": type:"},
		{"crush.json", `{"type": "stdio", "command": "$NO"}`, ": command: missing or empty"},
		{"crush.json", `{"type": "http", "url": "$NO"}`, ": url: not a valid URL"},
		{"crush.json", `{"type": "stdio", "command": "c", "timeout": -1}`, ": timeout: must be between"},
		{"crush.json", `{"type": "stdio", "command": "c", "timeout": "5s"}`, ": timeout: must be"},
		{"crush.json", `{"type": "stdio", "command": "c", "disabled_tools": "x"}`, ": disabled_tools: must be"},
		{".cursor/mcp.json", `{"command": "c", "envFile": "none"}`, ": envFile: read the file: no such file"},
		{".cursor/mcp.json", `{"command": "c", "envFile": "${env:NO}"}`, ": envFile: ${env:NO} is not set"},
		{".vscode/mcp.json", `{"command": "c", "env": {"A": true}}`, ": env.A: must be a string"},
		{".vscode/mcp.json", `{"command": "c", "env": {"A": "${input:x}"}}`, `: env.A: input "x": not defined`},
	} {
		file := filepath.Join(t.TempDir(), filepath.FromSlash(test.file))
		key := map[string]string{".mcp.json": "mcpServers", ".cursor/mcp.json": "mcpServers", "crush.json": "mcp", ".vscode/mcp.json": "servers"}[test.file]
		more := `"type": "stdio", "command": "c"`
		write(t, file, `{"`+key+`": {"s": `+test.entry+`, "good": {`+more+`}}}`)
		config, err := mcpconfig.Read(file, mcpconfig.Options{Getenv: env})
		if err != nil {
			t.Error(err)
			continue
		}
		s, err := config.Server("s")
		var problem *mcpconfig.Problem
		if !errors.As(err, &problem) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "s3cret") || problem.Server != "s" || s.Err != err {
			t.Errorf("%s: got %v, want an error of the server s containing %q, without the secret", test.entry, err, test.want)
		}
		if _, err := config.Server("good"); err != nil {
			t.Error(err)
		}
	}
}

// Fields that a client does not know are ignored.
func TestUnknownFields(t *testing.T) {
	file := filepath.Join(t.TempDir(), ".mcp.json")
	write(t, file, `{"mcpServers": {"s": {"command": "c", "cwd": 1, "envFile": [], "timeout": "x", "disabled": true, "new": {}}}, "inputs": 3}`)
	config, err := mcpconfig.Read(file, mcpconfig.Options{Getenv: in(map[string]string{"CLAUDE_PROJECT_DIR": "/elsewhere"})})
	if err != nil {
		t.Fatal(err)
	}
	s, err := config.Server("s")
	if err != nil || s.Disabled || s.Dir != filepath.Dir(file) || s.Env != nil {
		t.Errorf("got %+v, %v; want no error, an enabled server in %s and no environment", s, err, filepath.Dir(file))
	}
}

// The inputs of servers that are disabled, shadowed or not requested are not asked for.
func TestAsksForWhatIsWanted(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".mcp.json"), `{"mcpServers": {"both": {"command": "c"}}}`)
	write(t, filepath.Join(dir, ".vscode", "mcp.json"), `{
		"inputs": [{"id": "x", "type": "promptString"}, {"id": "y", "type": "promptString"}],
		"servers": {"both": {"command": "${input:x}"}, "one": {"command": "${input:x}"}, "two": {"command": "${input:y}", "args": ["${input:y}"]}}
	}`)
	var asked []string
	config, err := mcpconfig.Find(dir, mcpconfig.Options{Input: func(in mcpconfig.Input) (string, error) {
		asked = append(asked, in.ID)
		return "run-" + in.ID, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"both": "c", "two": "run-y"} {
		if s, err := config.Server(name); err != nil || s.Command != want {
			t.Errorf("%s: %+v, %v; want no error and Command %q", name, s, err, want)
		}
	}
	if !slices.Equal(asked, []string{"y"}) {
		t.Errorf("asked: got %q, want %q", asked, []string{"y"})
	}
	stop := errors.New("cannot ask")
	config, err = mcpconfig.Find(dir, mcpconfig.Options{Input: func(mcpconfig.Input) (string, error) { return "", stop }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := config.Server("one"); !errors.Is(err, stop) {
		t.Error(err)
	}
}

// Reading any file ends, and errors contain no secrets.
func FuzzRead(f *testing.F) {
	f.Add(".mcp.json", `{"mcpServers": {"a": {"command": "${T}", "args": ["${T:-x}"], "env": {"A": "${T}"}}}}`)
	f.Add("crush.json", `{"mcp": {"a": {"type": "http", "url": "http://$T", "headers": {"A": "${T:+$(x)}"}}}}`)
	f.Add(".vscode/mcp.json", `{"inputs": [{"id": "x", "type": "pickString", "options": [1]}], "servers": {"a": {"url": "${env:T}${input:x}"}},}`)
	f.Add(".codex/config.toml", "[mcp_servers.a]\nurl = \"http://x\"\nbearer_token_env_var = \"T\"\nstartup_timeout_sec = inf\n")
	f.Add(".gemini/settings.json", `{"mcp": {}, "mcpServers": {"a": {"httpUrl": "http://x", "headers": {"A": "$T${T:-x}"}, "timeout": 5}}}`)
	f.Fuzz(func(t *testing.T, name, text string) {
		if !slices.Contains([]string{".gemini/settings.json", ".mcp.json", "crush.json", ".cursor/mcp.json", ".vscode/mcp.json", ".codex/config.toml"}, name) {
			name = "other.json"
		}
		file := filepath.Join(t.TempDir(), filepath.FromSlash(name))
		write(t, file, text)
		config, err := mcpconfig.Read(file, mcpconfig.Options{Home: "/h", Getenv: func(string) (string, bool) { return "s3cret", true }})
		if err != nil {
			return
		}
		for _, s := range config.Servers() {
			if s.Err != nil && strings.Contains(s.Err.Error(), "s3cret") && !strings.Contains(text, "s3cret") {
				t.Errorf("%s with %q: %v", name, text, s.Err)
			}
			if s.Err == nil && !s.Disabled && s.Command == "" && s.URL == "" {
				t.Errorf("%s with %q: %+v", name, text, s)
			}
		}
	})
}
