package mcpcli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/mcphttp"
)

// entry is a server in a configuration: this program, of some kind.
func entry(t *testing.T, name, kind string) string {
	t.Helper()
	return fmt.Sprintf(`%q: {"type": "stdio", "command": %q, "env": {%q: %q}}`, name, program(t), kindVariable, kind)
}

// Where no server is named it is the one that is known best; a name is one of a configuration.
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
		{"above", map[string]string{"../.mcp.json": one}, "call echo text=hi", 0, `{"text":"hi"}`},
		{"by name", map[string]string{".mcp.json": two}, "call other echo text=hi", 0, `{"text":"hi"}`},
		{"by name, tools", map[string]string{".mcp.json": two}, "tools other", 0, `echo text=string`},
		{"none is named", map[string]string{".mcp.json": two}, "call echo text=hi", 2, "good, other, unset, dies; a server is also an address, or a command after --"},
		{"that of the project", map[string]string{".mcp.json": two, "petrock.json": `{"name": "other"}`}, "call echo text=hi", 0, `{"text":"hi"}`},
		{"of another project", map[string]string{".mcp.json": two, "petrock.json": `{"name": "else"}`}, "call echo text=hi", 2, "no server is named"},
		{"an unknown name", map[string]string{".mcp.json": two}, "tools good2", 2, "there are: good, other, unset, dies"},
		{"another file", map[string]string{"x/my.json": one}, "call echo text=hi --config x/my.json", 0, `{"text":"hi"}`},
		{"another folder", map[string]string{"x/.mcp.json": one}, "call echo text=hi --dir x", 0, `{"text":"hi"}`},
		{"no file", nil, "tools", 2, "no file with MCP servers"},
		{"no servers", map[string]string{".mcp.json": `{"mcpServers": {}}`}, "tools", 2, "has none"},
		{"a broken file", map[string]string{".mcp.json": `{"mcpServers": {`}, "tools", 2, ".mcp.json:1:"},
		{"a variable that is not set", map[string]string{".mcp.json": two}, "call unset echo", 3, "NO_SUCH_VARIABLE_ANYWHERE"},
		{"one that dies", map[string]string{".mcp.json": two}, "tools dies", 3, "exit status 3"},
		{"a tool that is off", map[string]string{"crush.json": limited}, "call fail", 2, "disabled_tools"},
		{"a tool that is on", map[string]string{"crush.json": limited}, "call echo text=hi", 0, `{"text":"hi"}`},
		{"all", map[string]string{".mcp.json": two}, "tools --all", 3, "good echo text=string"},
		{"nothing", map[string]string{".mcp.json": `{"mcpServers": {` + entry(t, "bare", "bare") + `}}`}, "tools", 0, "bare has no tools.\n"},
		{"nothing of all", map[string]string{".mcp.json": `{"mcpServers": {` + entry(t, "bare", "bare") + `}}`}, "tools --all", 0, "bare has no tools.\n"},
		{"no resources", map[string]string{".mcp.json": `{"mcpServers": {` + entry(t, "bare", "bare") + `}}`}, "resources", 0, "bare has no resources.\n"},
		{"all but some", map[string]string{".mcp.json": two}, "tools --all", 3, "not all servers could be asked: dies, unset"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "project")
			write(t, filepath.Join(dir, "README"), "")
			for name, text := range test.files {
				write(t, filepath.Join(dir, name), text)
			}
			got := do(t, dir, "", "", append(strings.Fields(test.args), "--text")...)
			if got.status != test.status || !strings.Contains(got.out+got.err, test.says) {
				t.Errorf("it ends with %d, not %d, and prints\n%s%s\nwant %q in it", got.status, test.status, got.out, got.err, test.says)
			}
		})
	}
}

// An address is called with what --header says.
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
	if got := do(t, dir, "", "", "call", web.URL, "echo", "text=hi", "--header", "Authorization: Bearer secret"); got.status != 0 || !strings.Contains(got.out, "hi") {
		t.Errorf("it says %+v", got)
	}
	if got := do(t, dir, "", "", "tools", web.URL); got.status != 3 || !strings.Contains(got.err, "401") {
		t.Errorf("it says %+v", got)
	}
	write(t, filepath.Join(dir, ".mcp.json"), `{"mcpServers": {
		"in": {"type": "http", "url": "`+web.URL+`", "headers": {"Authorization": "Bearer secret"}},
		"wrong": {"type": "http", "url": "`+web.URL+`", "headers": {"Authorization": "Bearer guess"}},
		"out": {"type": "http", "url": "`+web.URL+`"},
		"nowhere": {"type": "http", "url": "http://127.0.0.1:1/mcp"}
	}}`)
	got := do(t, dir, "", "", "doctor", "--text")
	for _, want := range []string{
		"in: ok (.mcp.json)\n  test 1 speaks 2026-07-28 and 2025-11-25", `Add "headers": {"Authorization"`, "It does not accept what the header Authorization has in .mcp.json", "Nothing listens there",
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("it lacks %q:\n%s", want, got.out)
		}
	}
	if got.status != 1 {
		t.Errorf("it ends with %d", got.status)
	}
}

// The doctor says what is wrong with each server and each file, and that the rest is well.
func TestDoctor(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".mcp.json"), `{"mcpServers": {`+strings.Join([]string{
		entry(t, "good", "good"), entry(t, "loud", "loud"), entry(t, "garbage", "garbage"), entry(t, "dies", "dies"),
		`"absent": {"command": "no-such-program-anywhere"}`, `"unset": {"command": "x", "args": ["${NO_SUCH_VARIABLE_ANYWHERE}"]}`,
	}, ", ")+`}}`)
	write(t, filepath.Join(dir, "crush.json"), `{"mcp": {`+entry(t, "good", "good")+`, "off": {"type": "stdio", "command": "x", "disabled": true}}}`)
	write(t, filepath.Join(dir, ".cursor", "mcp.json"), `{"mcpServers": [`)
	got := do(t, dir, "", "", "doctor", "--timeout", "2s")
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
		t.Fatalf("it ends with %d, %v, and prints\n%s%s", got.status, err, got.out, got.err)
	}
	if len(found.Problems) != 1 || !strings.Contains(found.Problems[0], filepath.Join(".cursor", "mcp.json")) || len(found.Files) != 3 {
		t.Errorf("of files it says %v, %v", found.Files, found.Problems)
	}
	want := map[string]string{
		"good": "", "off": "", "loud": "Listening on port", "garbage": "Listening on port", "dies": "no database", "absent": "install it", "unset": "NO_SUCH_VARIABLE_ANYWHERE",
	}
	for _, s := range found.Servers {
		says, ok := want[s.Name]
		delete(want, s.Name)
		if text := strings.Join(s.Wrong, "\n"); !ok || !strings.Contains(text, says) || (says == "") != (text == "") {
			t.Errorf("of %s it says %q, want %q", s.Name, text, says)
		}
		if s.Name == "good" && (s.State != "ok" || s.Stateless != "2026-07-28" || s.Handshake != "2025-11-25" || s.Tools != 8 || s.Resources != 1 || s.Prompts != 1 || len(s.Files) != 2) {
			t.Errorf("good is %+v", s)
		}
		if s.Name == "off" && s.State != "disabled" {
			t.Errorf("off is %+v", s)
		}
	}
	if len(want) > 0 {
		t.Errorf("nothing is said of %v", want)
	}

	web := httptest.NewServer(mcphttp.NewHandler(newServer(), mcphttp.Options{}))
	defer web.Close()
	for args, says := range map[string]string{
		"good": "good: ok", "dies": "dies: wrong", "nobody": "there are: good", web.URL: web.URL + ": ok", "-- no-such-program-anywhere": "no-such-program-anywhere: wrong", "--": "after -- comes", "--header A:b -- x": "--header is for addresses",
	} {
		got := do(t, dir, "", "", append([]string{"doctor", "--text"}, strings.Fields(args)...)...)
		others := strings.Count(got.out, ": ok") + strings.Count(got.out, ": wrong")
		if !strings.Contains(got.out+got.err, says) || others > 1 {
			t.Errorf("doctor %s says %+v", args, got)
		}
	}
	if got := do(t, t.TempDir(), "good", "", "doctor", "--text"); got.status != 0 || !strings.Contains(got.out, "ok") {
		t.Errorf("of the program itself it says %+v", got)
	}
	if got := do(t, t.TempDir(), "", "", "doctor", "--text"); got.status != 1 || !strings.Contains(got.err, "no file with MCP servers") {
		t.Errorf("with nothing to check it says %+v", got)
	}
}

// What can follow is completed, and nothing is said of what goes wrong.
func TestCompletion(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".mcp.json"), `{"mcpServers": {`+entry(t, "good", "good")+`, `+entry(t, "dies", "dies")+`}}`)
	for args, want := range map[string]string{
		"tools |":                        "good dies",
		"call |e":                        "echo",
		"call |":                         "good dies echo fail image none open refuse slow structured",
		"call good |s":                   "slow structured",
		"call good echo |t":              "text= tags=",
		"call good echo text=x |":        "n= x= on= pick= tags= sizes= more= any= level=",
		"call good echo text=x tags=a |": "n= x= on= pick= tags= sizes= more= any= level=",
		"call echo |te":                  "text=",
		"call echo |pick=":               "pick=up pick=down pick=3",
		"call echo |on=t":                "on=true",
		"call echo |level=":              "level=low level=high",
		"call dies |":                    "",
		"call nobody thing |":            "",
		"read |":                         "good dies note://1",
		"read good |":                    "note://1",
		"prompt greet |":                 "who= how=",
		"prompt good |":                  "greet",
		"prompt greet |who=":             "",
		"tools --revision |":             "2026-07-28 2025-11-25 2025-06-18 2025-03-26 2024-11-05",
		"doctor |":                       "good dies",
	} {
		t.Run(args, func(t *testing.T) {
			before, last, _ := strings.Cut(args, "|")
			got := do(t, dir, "good", "", append(append([]string{"__complete"}, strings.Fields(before)...), last)...)
			var words []string
			for line := range strings.Lines(got.out) {
				if word, _, _ := strings.Cut(strings.TrimSpace(line), "\t"); word != "" && !strings.HasPrefix(word, ":") {
					words = append(words, word)
				}
			}
			if text := strings.Join(words, " "); text != want {
				t.Errorf("it suggests %q, want %q; it says %s", text, want, got.err)
			}
		})
	}
}
