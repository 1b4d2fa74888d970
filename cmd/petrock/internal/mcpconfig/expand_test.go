package mcpconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// environment has the variables of the tests.
func environment(name string) (string, bool) {
	if name == "BIG" {
		return strings.Repeat("x", maxValue/2), true
	}
	value, ok := map[string]string{"SET": "value", "EMPTY": "", "OTHER": "other", "REF": "${SET}$SET", "TOKEN": "s3cret"}[name]
	return value, ok
}

func expanders(t testing.TB) map[string]expander {
	r := newResolver(Options{Getenv: environment, Home: "/home/mira"})
	s := &source{file: "mcp.json", folder: filepath.FromSlash("/src/orchard")}
	s.inputs = []byte(`[
		{"type": "promptString", "id": "token", "default": "preset"},
		{"type": "promptString", "id": "none", "password": true},
		{"type": "pickString", "id": "pick", "options": ["a", {"label": "Bee", "value": "b"}], "default": "b"},
		{"type": "pickString", "id": "bad-pick", "options": ["a"], "default": "b"},
		{"type": "command", "id": "run", "command": "x"},
		{"type": "promptString", "id": "wrong", "default": 3},
		7
	]`)
	all := make(map[string]expander)
	for _, c := range []client{claude(), cursor(), vscode(), crush("crush.json")} {
		all[c.name] = c.expander(s, r)
	}
	return all
}

// TestExpand has the expansion of each text, by client. ! marks an error that contains the text.
func TestExpand(t *testing.T) {
	all := expanders(t)
	for _, test := range []struct {
		client, text, want string
	}{
		{"Claude Code", "", ""},
		{"Claude Code", "plain $SET $ {SET} $$", "plain $SET $ {SET} $$"},
		{"Claude Code", "${SET}", "value"},
		{"Claude Code", "a${SET}b${OTHER}c", "avaluebotherc"},
		{"Claude Code", "$${SET}", "$value"},
		{"Claude Code", `\${SET}`, `\value`},
		{"Claude Code", "${EMPTY}", ""},
		{"Claude Code", "${EMPTY:-default}", ""},
		{"Claude Code", "${NO:-default}", "default"},
		{"Claude Code", "${NO:-}", ""},
		{"Claude Code", "${NO:-a:-b}", "a:-b"},
		{"Claude Code", "${SET:-default}", "value"},
		{"Claude Code", "${REF}", "${SET}$SET"},
		{"Claude Code", "${SET", "${SET"},
		{"Claude Code", "${CLAUDE_PROJECT_DIR}", filepath.FromSlash("/src/orchard")},
		{"Claude Code", "${NO}", "!${NO} is not set; set it in the environment, or write ${NO:-default}"},
		{"Claude Code", "${NO:-${SET}}", "!the default of ${NO:-…} contains a variable"},
		{"Claude Code", "${SET:-${NO}}", "!contains a variable"},
		{"Claude Code", "${env:SET}", "!write ${SET}"},
		{"Claude Code", "${}", "!write ${NAME}"},
		{"Claude Code", "${SET%x}", "!unknown variable ${…}"},
		{"Claude Code", "${NO-default}", "!unknown variable ${NO-default}"},
		{"Claude Code", "${BIG}${BIG}x${SET}", "!longer than"},

		{"Cursor", "${env:SET} ${workspaceFolder} ${workspaceFolderBasename} ${userHome}", "value " + filepath.FromSlash("/src/orchard") + " orchard /home/mira"},
		{"Cursor", "${pathSeparator}${/}", string(filepath.Separator) + string(filepath.Separator)},
		{"Cursor", "$SET ${SET", "$SET ${SET"},
		{"Cursor", "${env:EMPTY}", ""},
		{"Cursor", "${env:REF}", "${SET}$SET"},
		{"Cursor", "${env:NO}", "!${env:NO} is not set"},
		{"Cursor", "${env:}", "!unknown variable ${env:}"},
		{"Cursor", "${SET}", "!write ${env:SET}"},
		{"Cursor", "${input:token}", "!unknown variable ${input:token}"},
		{"Cursor", "${SET:-x}", "!use ${env:NAME}"},

		{"VS Code", "a ${env:SET} ${workspaceFolderBasename}", "a value orchard"},
		{"VS Code", "${input:token}", "preset"},
		{"VS Code", "${input:pick}", "b"},
		{"VS Code", "${input:bad-pick}", `!must be one of ["a"]`},
		{"VS Code", "${input:none}", "!set MCP_INPUT_NONE in the environment"},
		{"VS Code", "${input:run}", "!set MCP_INPUT_RUN in the environment"},
		{"VS Code", "${input:wrong}", `!input "wrong": default: must be a string`},
		{"VS Code", "${input:missing}", `!input "missing": not defined`},
		{"VS Code", "${command:x.y}", "!only the editor can expand"},
		{"VS Code", "${config:x}", "!only the editor can expand"},
		{"VS Code", "${file}", "!unknown variable ${file}"},

		{"Crush", "", ""},
		{"Crush", "plain 'text' \"too\" {} } ~/x", "plain 'text' \"too\" {} } ~/x"},
		{"Crush", "$SET", "value"},
		{"Crush", "a$SET-$OTHER.", "avalue-other."},
		{"Crush", "${SET}x", "valuex"},
		{"Crush", "$SETx|${NO}|$EMPTY", "||"},
		{"Crush", "${NO:-default}", "default"},
		{"Crush", "${EMPTY:-default}", "default"},
		{"Crush", "${EMPTY-default}", ""},
		{"Crush", "${NO-default}", "default"},
		{"Crush", "${NO:-}", ""},
		{"Crush", "${NO:-${ALSO:-$SET}!}", "value!"},
		{"Crush", "${SET:-${NO:?not looked at}}", "value"},
		{"Crush", "${NO:-a\\}b}", "a}b"},
		{"Crush", "${NO:-{a}}", "{a}"},
		{"Crush", "${SET:+yes}${NO:+no}${EMPTY:+no}${EMPTY+yes}", "yesyes"},
		{"Crush", "${SET:?message}${EMPTY?message}", "value"},
		{"Crush", `\$SET \\ \` + "`" + ` \a \`, "$SET \\ ` \\a \\"},
		{"Crush", "a\\\nb", "ab"},
		{"Crush", "$REF", "${SET}$SET"},
		{"Crush", "$ $. $", "$ $. $"},
		{"Crush", "${NO:?set NO first}", "!${NO} is not set: set NO first"},
		{"Crush", "${EMPTY:?}", "!${EMPTY} is empty: set it in the environment"},
		{"Crush", "$(cat x)", "!petrock does not run commands"},
		{"Crush", "${SET:-$(cat x)}", "!petrock does not run commands"},
		{"Crush", "a`id`", "!petrock does not run commands"},
		{"Crush", "$((1+1))", "!petrock does not run commands"},
		{"Crush", "$1", "!$1 is a special parameter"},
		{"Crush", "$$", "!$$ is a special parameter"},
		{"Crush", "${SET", "!unsupported form"},
		{"Crush", "${SET:-x", "!${ without }"},
		{"Crush", "${SET:}", "!unsupported form"},
		{"Crush", "${#SET}", "!unsupported form"},
		{"Crush", "${SET%x}", "!unsupported form"},
		{"Crush", "${}", "!unsupported form"},
		{"Crush", "${NO:-\"a\"}", "!quotes inside"},
		{"Crush", strings.Repeat("${NO:-", 40) + "x" + strings.Repeat("}", 40), "!nested"},
		{"Crush", "$BIG$BIG$SET", "!longer than"},
	} {
		got, err := all[test.client](test.text, false)
		message, wantErr := strings.CutPrefix(test.want, "!")
		switch {
		case wantErr && (err == nil || !strings.Contains(err.Error(), message)):
			t.Errorf("%s: %q is %.60q, %v; want an error with %q", test.client, test.text, got, err, message)
		case !wantErr && (err != nil || got != test.want):
			t.Errorf("%s: %q is %.60q, %v; want %q", test.client, test.text, got, err, test.want)
		}
	}
}

// In arguments, which can be scripts, unknown references stay.
func TestExpandFree(t *testing.T) {
	all := expanders(t)
	for client, text := range map[string]string{"Claude Code": "echo ${X%.*} ${#A}", "Cursor": "echo ${X} ${X:-y}", "VS Code": "echo ${X} ${file}"} {
		if got, err := all[client](text, true); err != nil || got != text {
			t.Errorf("%s: %q is %q, %v; want no error and %q", client, text, got, err, text)
		}
	}
	for client, text := range map[string]string{"Claude Code": "${NO}", "Cursor": "${env:NO}", "VS Code": "${input:none}", "Crush": "$(x)"} {
		if got, err := all[client](text, true); err == nil {
			t.Errorf("%s: %q expands to %q: err = nil, want an error", client, text, got)
		}
	}
}

// There is no panic and no secret in an error. A text without $, backslash and backquote stays the
// same.
func FuzzExpand(f *testing.F) {
	for _, seed := range []string{"$TOKEN", "${TOKEN:-x}", "${NO:?$TOKEN}", "${NO:-${TOKEN}", "${env:TOKEN}${", `\${a}`, "$(x)", "${input:none}", "${NO:-${NO:+${TOKEN:?}}}"} {
		f.Add(seed, false)
		f.Add(seed, true)
	}
	f.Fuzz(func(t *testing.T, text string, keepUnknown bool) {
		for name, expand := range expanders(t) {
			got, err := expand(text, keepUnknown)
			switch {
			case err != nil && got != "":
				t.Errorf("%s: %q is %q and %v", name, text, got, err)
			case err != nil && strings.Contains(err.Error(), "s3cret") && !strings.Contains(text, "s3cret"):
				t.Errorf("%s: %q: the value of a variable is in %v", name, text, err)
			case err != nil && !strings.ContainsAny(text, "$`"):
				t.Errorf("%s: %q: %v", name, text, err)
			case err == nil && !strings.ContainsAny(text, "$`\\") && got != text:
				t.Errorf("%s: %q is %q", name, text, got)
			}
		}
	})
}

// An input is asked for once. The environment takes precedence over the answer, and that over the
// default.
func TestInput(t *testing.T) {
	var asked []Input
	s := &source{file: "f", folder: string(os.PathSeparator), inputs: []byte(`[{"type": "promptString", "id": "my.key 1", "description": "Key", "default": "d", "password": true}]`)}
	r := newResolver(Options{
		Getenv: func(string) (string, bool) { return "", false },
		Input:  func(in Input) (string, error) { asked = append(asked, in); return "typed", nil },
	})
	for range 2 {
		if got, err := r.input(s, "my.key 1"); got != "typed" || err != nil {
			t.Errorf(`the answer is %q, %v; want "typed" and no error`, got, err)
		}
	}
	if len(asked) != 1 || asked[0].Description != "Key" || asked[0].Default != "d" || !asked[0].Password || asked[0].File != "f" {
		t.Errorf("asked for %+v", asked)
	}
	r = newResolver(Options{
		Getenv: func(name string) (string, bool) { return "set", name == "MCP_INPUT_MY_KEY_1" },
		Input:  func(Input) (string, error) { t.Error("asked"); return "", nil },
	})
	if got, err := r.input(s, "my.key 1"); got != "set" || err != nil {
		t.Errorf(`from the environment it is %q, %v; want "set" and no error`, got, err)
	}
}
