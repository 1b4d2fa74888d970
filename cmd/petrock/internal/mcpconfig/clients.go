package mcpconfig

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A client is a program that keeps MCP servers in a file, and how it does.
type client struct {
	name     string   // as people call it
	file     string   // in a project, with slashes
	key      string   // of the file that has the servers
	comments bool     // the file may have comments and trailing commas in it
	toml     bool     // the file is TOML
	typed    bool     // the type of a server has to be written
	loose    bool     // numbers and null are good in env
	addsPath bool     // what env has as PATH comes behind the one there is
	sparse   bool     // a header that comes out empty is not sent
	fields   []string // that a server may have beside those that all clients have

	expander    func(*source, *world) expander
	environment func(*source, *world, map[string]string) // has the last word on the environment of a program; may be nil
	tilde       func(*world, string) (string, error)     // fills in ~/; may be nil
}

// clients lists the files of a project in the order in which they count.
func clients() []client {
	return []client{claude(), crush(".crush.json"), crush("crush.json"), cursor(), codex(), vscode()}
}

// clientOf returns the client whose file has a certain path, and the folder that is the project's for it.
func clientOf(file string) (c client, folder string, ok bool) {
	dir, base := filepath.Split(file)
	dir = filepath.Clean(dir)
	for _, c := range clients() {
		switch within := path.Dir(c.file); {
		case path.Base(c.file) != base:
		case within == ".":
			return c, dir, true
		case within == filepath.Base(dir):
			return c, filepath.Dir(dir), true
		}
	}
	return client{}, dir, false
}

// clientFor returns the client that keeps its servers under one of keys, of which there has to be one alone.
func clientFor(keys []string) (client, bool) {
	var found []client
	for _, c := range []client{claude(), crush("crush.json"), vscode()} {
		if slices.Contains(keys, c.key) {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		return client{}, false
	}
	return found[0], true
}

// claudeProjectDir is the variable in which Claude Code hands servers the folder of the project.
const claudeProjectDir = "CLAUDE_PROJECT_DIR"

// claude is Claude Code.
func claude() client {
	return client{
		name: "Claude Code",
		file: ".mcp.json",
		key:  "mcpServers",
		expander: func(s *source, w *world) expander {
			return claudeExpander(func(name string) (string, bool) {
				value, ok := w.getenv(name)
				if !ok && name == claudeProjectDir {
					return s.folder, true
				}
				return value, ok
			})
		},
		environment: func(s *source, w *world, env map[string]string) {
			_, written := env[claudeProjectDir]
			if _, set := w.getenv(claudeProjectDir); !set && !written {
				env[claudeProjectDir] = s.folder
			}
		},
	}
}

// claudeExpander fills in ${NAME} and ${NAME:-default}. The default is for a variable that is not set: one that is empty is
// empty. It is a text of its own, in which no variables are filled in. $NAME is no reference.
func claudeExpander(lookup func(string) (string, bool)) expander {
	return func(text string, free bool) (string, error) {
		return expandBraces(text, func(body string) (string, error) {
			name, fallback, has := strings.Cut(body, ":-")
			if other, ok := strings.CutPrefix(name, "env:"); ok && isName(other) {
				return "", fmt.Errorf("%s is how Cursor and VS Code write it; here it is ${%s}", reference(name), other)
			}
			if !isName(name) {
				return unknown(body, free, "write ${NAME} or ${NAME:-default}")
			}
			if strings.Contains(fallback, "${") {
				return "", fmt.Errorf("the default of ${%s:-…} has a variable in it, which Claude Code does not fill in; write a plain text", name)
			}
			switch value, ok := lookup(name); {
			case ok:
				return value, nil
			case has:
				return fallback, nil
			}
			return "", notSet("${"+name+"}", "write ${"+name+":-default}")
		})
	}
}

// crush is Crush, which reads two files of a project.
func crush(file string) client {
	return client{
		name:   "Crush",
		file:   file,
		key:    "mcp",
		typed:  true,
		sparse: true,
		fields: []string{"timeout", "disabled", "disabled_tools", "enabled_tools"},
		expander: func(_ *source, w *world) expander {
			return func(text string, _ bool) (string, error) { return expandShell(text, w.getenv) }
		},
	}
}

// cursor is Cursor.
func cursor() client {
	return client{
		name:     "Cursor",
		file:     ".cursor/mcp.json",
		key:      "mcpServers",
		comments: true,
		fields:   []string{"envFile"},
		expander: func(s *source, w *world) expander {
			return editorExpander(s.folder, w, nil)
		},
	}
}

// editorExpander fills in the variables that Cursor and VS Code have in common: ${env:NAME}, ${userHome}, ${workspaceFolder},
// ${workspaceFolderBasename}, ${pathSeparator} and ${/}. input answers for ${input:ID}; nil is for a client that does not have it.
func editorExpander(folder string, w *world, input func(id string) (string, error)) expander {
	return func(text string, free bool) (string, error) {
		return expandBraces(text, func(body string) (string, error) {
			switch body {
			case "userHome":
				return w.home()
			case "workspaceFolder":
				return folder, nil
			case "workspaceFolderBasename":
				return filepath.Base(folder), nil
			case "pathSeparator", "/":
				return string(filepath.Separator), nil
			}
			switch kind, name, _ := strings.Cut(body, ":"); {
			case kind == "env" && name != "":
				if value, ok := w.getenv(name); ok {
					return value, nil
				}
				return "", notSet(reference(body), "leave it out")
			case kind == "input" && input != nil:
				return input(name)
			case kind == "command" || kind == "config":
				return "", fmt.Errorf("%s is known to the editor alone; use ${env:NAME}", reference(body))
			}
			if isName(body) {
				return unknown(body, free, "write ${env:"+body+"} for a variable of the environment")
			}
			return unknown(body, free, "use ${env:NAME} or ${workspaceFolder}")
		})
	}
}

// vscode is VS Code. It takes ~/ at the beginning of a command, an argument or a folder for the home folder, numbers in env for their
// text and null for nothing, and adds what env has as PATH to the one there is.
func vscode() client {
	return client{
		name:     "VS Code",
		file:     ".vscode/mcp.json",
		key:      "servers",
		comments: true,
		loose:    true,
		addsPath: true,
		fields:   []string{"envFile", "cwd"},
		expander: func(s *source, w *world) expander {
			return editorExpander(s.folder, w, func(id string) (string, error) { return w.input(s, id) })
		},
		tilde: func(w *world, text string) (string, error) {
			rest, ok := strings.CutPrefix(text, "~")
			if !ok || rest != "" && rest[0] != '/' && rest[0] != filepath.Separator {
				return text, nil
			}
			home, err := w.home()
			return home + rest, err
		},
	}
}
