package mcpconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// environment is what the tests of variables look names up in.
func environment(name string) (string, bool) {
	if name == "BIG" {
		return strings.Repeat("x", maxValue/2), true
	}
	value, ok := map[string]string{"SET": "value", "EMPTY": "", "OTHER": "other", "REF": "${SET}$SET", "TOKEN": "s3cret"}[name]
	return value, ok
}

func expanders(t testing.TB) map[string]expander {
	w := newWorld(Options{Getenv: environment, Home: "/home/mira"})
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
		all[c.name] = c.expander(s, w)
	}
	return all
}

// What a text comes to, by client. An outcome that begins with ! is an error with that text in it.
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
		{"Claude Code", "${NO:-${SET}}", "!the default of ${NO:-…} has a variable in it"},
		{"Claude Code", "${SET:-${NO}}", "!has a variable in it"},
		{"Claude Code", "${env:SET}", "!here it is ${SET}"},
		{"Claude Code", "${}", "!write ${NAME}"},
		{"Claude Code", "${SET%x}", "!${…} is no variable that is known here"},
		{"Claude Code", "${NO-default}", "!${NO-default} is no variable"},
		{"Claude Code", "${BIG}${BIG}x${SET}", "!longer than"},

		{"Cursor", "${env:SET} ${workspaceFolder} ${workspaceFolderBasename} ${userHome}", "value " + filepath.FromSlash("/src/orchard") + " orchard /home/mira"},
		{"Cursor", "${pathSeparator}${/}", string(filepath.Separator) + string(filepath.Separator)},
		{"Cursor", "$SET ${SET", "$SET ${SET"},
		{"Cursor", "${env:EMPTY}", ""},
		{"Cursor", "${env:REF}", "${SET}$SET"},
		{"Cursor", "${env:NO}", "!${env:NO} is not set"},
		{"Cursor", "${env:}", "!${env:} is no variable"},
		{"Cursor", "${SET}", "!write ${env:SET}"},
		{"Cursor", "${input:token}", "!${input:token} is no variable"},
		{"Cursor", "${SET:-x}", "!use ${env:NAME}"},

		{"VS Code", "a ${env:SET} ${workspaceFolderBasename}", "a value orchard"},
		{"VS Code", "${input:token}", "preset"},
		{"VS Code", "${input:pick}", "b"},
		{"VS Code", "${input:bad-pick}", `!none of its options: ["a"]`},
		{"VS Code", "${input:none}", "!set MCP_INPUT_NONE in the environment"},
		{"VS Code", "${input:run}", "!set MCP_INPUT_RUN in the environment"},
		{"VS Code", "${input:wrong}", `!the input "wrong": default: must be a string`},
		{"VS Code", "${input:missing}", `!there is no input "missing"`},
		{"VS Code", "${command:x.y}", "!known to the editor alone"},
		{"VS Code", "${config:x}", "!known to the editor alone"},
		{"VS Code", "${file}", "!${file} is no variable"},

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
		{"Crush", "$(cat x)", "!it has a command to run in it"},
		{"Crush", "${SET:-$(cat x)}", "!it has a command to run in it"},
		{"Crush", "a`id`", "!it has a command to run in it"},
		{"Crush", "$((1+1))", "!it has a command to run in it"},
		{"Crush", "$1", "!it has $1 in it"},
		{"Crush", "$$", "!it has $$ in it"},
		{"Crush", "${SET", "!a form that is not known"},
		{"Crush", "${SET:-x", "!it has a ${ without its }"},
		{"Crush", "${SET:}", "!a form that is not known"},
		{"Crush", "${#SET}", "!a form that is not known"},
		{"Crush", "${SET%x}", "!a form that is not known"},
		{"Crush", "${}", "!a form that is not known"},
		{"Crush", "${NO:-\"a\"}", "!it has a quote inside"},
		{"Crush", strings.Repeat("${NO:-", 40) + "x" + strings.Repeat("}", 40), "!inside each other"},
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

// In an argument, which may be a script, what is no reference stays.
func TestExpandFree(t *testing.T) {
	all := expanders(t)
	for client, text := range map[string]string{"Claude Code": "echo ${X%.*} ${#A}", "Cursor": "echo ${X} ${X:-y}", "VS Code": "echo ${X} ${file}"} {
		if got, err := all[client](text, true); err != nil || got != text {
			t.Errorf("%s: %q is %q, %v", client, text, got, err)
		}
	}
	for client, text := range map[string]string{"Claude Code": "${NO}", "Cursor": "${env:NO}", "VS Code": "${input:none}", "Crush": "$(x)"} {
		if got, err := all[client](text, true); err == nil {
			t.Errorf("%s: %q is %q, and not an error", client, text, got)
		}
	}
}

// Whatever the text: no panic, no secret in an error, and a text without a dollar sign, a backslash or a backquote stays.
func FuzzExpand(f *testing.F) {
	for _, seed := range []string{"$TOKEN", "${TOKEN:-x}", "${NO:?$TOKEN}", "${NO:-${TOKEN}", "${env:TOKEN}${", `\${a}`, "$(x)", "${input:none}", "${NO:-${NO:+${TOKEN:?}}}"} {
		f.Add(seed, false)
		f.Add(seed, true)
	}
	f.Fuzz(func(t *testing.T, text string, free bool) {
		for name, expand := range expanders(t) {
			got, err := expand(text, free)
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

// An input is asked for once, by whoever can answer it first: the environment, the caller, its default.
func TestInput(t *testing.T) {
	var asked []Input
	s := &source{file: "f", folder: string(os.PathSeparator), inputs: []byte(`[{"type": "promptString", "id": "my.key 1", "description": "Key", "default": "d", "password": true}]`)}
	w := newWorld(Options{
		Getenv: func(string) (string, bool) { return "", false },
		Input:  func(in Input) (string, error) { asked = append(asked, in); return "typed", nil },
	})
	for range 2 {
		if got, err := w.input(s, "my.key 1"); got != "typed" || err != nil {
			t.Errorf("the answer is %q, %v", got, err)
		}
	}
	if len(asked) != 1 || asked[0].Description != "Key" || asked[0].Default != "d" || !asked[0].Password || asked[0].File != "f" {
		t.Errorf("asked for %+v", asked)
	}
	w = newWorld(Options{
		Getenv: func(name string) (string, bool) { return "set", name == "MCP_INPUT_MY_KEY_1" },
		Input:  func(Input) (string, error) { t.Error("asked"); return "", nil },
	})
	if got, err := w.input(s, "my.key 1"); got != "set" || err != nil {
		t.Errorf("from the environment it is %q, %v", got, err)
	}
}
