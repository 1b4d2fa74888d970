package mcpconfig

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A client describes the configuration file of an MCP client.
type client struct {
	name        string
	file        string   // in a project, with slashes
	key         string   // of the servers
	comments    bool     // comments and trailing commas are allowed
	toml        bool     // the file is TOML
	needsType   bool     // type is required
	millis      bool     // timeout is in milliseconds
	anyEnv      bool     // numbers and null are allowed in env
	appendsPath bool     // PATH in env is appended to the PATH of the environment
	skipsEmpty  bool     // empty headers are not sent
	fields      []string // of a server, in addition to those that all clients have

	expander    func(*source, *resolver) expander
	completeEnv func(*source, *resolver, map[string]string) // completes the environment of a program; may be nil
	expandTilde func(*resolver, string) (string, error)     // expands ~/; may be nil
}

// clients returns the clients by precedence.
func clients() []client {
	return []client{claude(), crush(".crush.json"), crush("crush.json"), cursor(), codex(), gemini(), vscode()}
}

// clientOf returns the client that reads a file, and the folder of its project.
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

// clientFor returns the client whose key is among keys. It fails unless there is exactly one.
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

// claudeProjectDir is the variable in which Claude Code passes the project's folder to servers.
const claudeProjectDir = "CLAUDE_PROJECT_DIR"

func claude() client {
	return client{
		name: "Claude Code",
		file: ".mcp.json",
		key:  "mcpServers",
		expander: func(s *source, r *resolver) expander {
			return claudeExpander(func(name string) (string, bool) {
				value, ok := r.getenv(name)
				if !ok && name == claudeProjectDir {
					return s.folder, true
				}
				return value, ok
			})
		},
		completeEnv: func(s *source, r *resolver, env map[string]string) {
			_, written := env[claudeProjectDir]
			if _, set := r.getenv(claudeProjectDir); !set && !written {
				env[claudeProjectDir] = s.folder
			}
		},
	}
}

// claudeExpander expands ${NAME} and ${NAME:-default}, but not $NAME. The default replaces a
// variable that is not set, not an empty one. Variables in the default are not expanded.
func claudeExpander(lookup func(string) (string, bool)) expander {
	return func(text string, keepUnknown bool) (string, error) {
		return expandBraces(text, func(body string) (string, error) {
			name, fallback, has := strings.Cut(body, ":-")
			if other, ok := strings.CutPrefix(name, "env:"); ok && isName(other) {
				return "", fmt.Errorf("%s is the syntax of Cursor and VS Code; write ${%s}", reference(name), other)
			}
			if !isName(name) {
				return unknown(body, keepUnknown, "write ${NAME} or ${NAME:-default}")
			}
			if strings.Contains(fallback, "${") {
				return "", fmt.Errorf("the default of ${%s:-…} contains a variable, which Claude Code does not expand; write plain text", name)
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

// crush returns the client for one of the two files that Crush reads.
func crush(file string) client {
	return client{
		name:       "Crush",
		file:       file,
		key:        "mcp",
		needsType:  true,
		skipsEmpty: true,
		fields:     []string{"timeout", "disabled", "disabled_tools", "enabled_tools"},
		expander: func(_ *source, r *resolver) expander {
			return func(text string, _ bool) (string, error) { return expandShell(text, r.getenv) }
		},
	}
}

func cursor() client {
	return client{
		name:     "Cursor",
		file:     ".cursor/mcp.json",
		key:      "mcpServers",
		comments: true,
		fields:   []string{"envFile"},
		expander: func(s *source, r *resolver) expander {
			return editorExpander(s.folder, r, nil)
		},
	}
}

// editorExpander expands the variables of Cursor and VS Code: ${env:NAME}, ${userHome},
// ${workspaceFolder}, ${workspaceFolderBasename}, ${pathSeparator} and ${/}. input expands
// ${input:ID}; it is nil for a client without inputs.
func editorExpander(folder string, r *resolver, input func(id string) (string, error)) expander {
	return func(text string, keepUnknown bool) (string, error) {
		return expandBraces(text, func(body string) (string, error) {
			switch body {
			case "userHome":
				return r.home()
			case "workspaceFolder":
				return folder, nil
			case "workspaceFolderBasename":
				return filepath.Base(folder), nil
			case "pathSeparator", "/":
				return string(filepath.Separator), nil
			}
			switch kind, name, _ := strings.Cut(body, ":"); {
			case kind == "env" && name != "":
				if value, ok := r.getenv(name); ok {
					return value, nil
				}
				return "", notSet(reference(body), "remove it")
			case kind == "input" && input != nil:
				return input(name)
			case kind == "command" || kind == "config":
				return "", fmt.Errorf("only the editor can expand %s; use ${env:NAME}", reference(body))
			}
			if isName(body) {
				return unknown(body, keepUnknown, "write ${env:"+body+"} for an environment variable")
			}
			return unknown(body, keepUnknown, "use ${env:NAME} or ${workspaceFolder}")
		})
	}
}

// gemini returns the client for Gemini CLI, whose settings file also holds other settings. It
// expands $NAME, ${NAME} and ${NAME:-default}.
func gemini() client {
	return client{
		name:     "Gemini CLI",
		file:     ".gemini/settings.json",
		key:      "mcpServers",
		comments: true,
		millis:   true,
		fields:   []string{"cwd", "httpUrl", "timeout", "includeTools", "excludeTools"},
		expander: func(_ *source, r *resolver) expander { return geminiExpander(r.getenv) },
	}
}

// geminiReference matches a variable in a configuration file of Gemini CLI, such as $NAME or
// ${NAME:-default}.
var geminiReference = regexp.MustCompile(`\$(?:(\w+)|\{([^}]+?)(:-[^}]*)?\})`)

func geminiExpander(lookup func(string) (string, bool)) expander {
	return func(text string, _ bool) (string, error) {
		var missing error
		text = geminiReference.ReplaceAllStringFunc(text, func(match string) string {
			parts := geminiReference.FindStringSubmatch(match)
			name := parts[1] + parts[2]
			value, ok := lookup(name)
			if fallback, has := strings.CutPrefix(parts[3], ":-"); !ok && has {
				return fallback
			}
			if !ok && missing == nil {
				missing = notSet(reference(name), "write "+reference(name+":-default"))
			}
			return value
		})
		return text, missing
	}
}

// vscode returns the client for VS Code. It expands ~/ at the beginning of a command, an argument
// or cwd. In env, numbers are converted to text, null unsets a variable, and PATH is appended to
// the PATH of the environment.
func vscode() client {
	return client{
		name:        "VS Code",
		file:        ".vscode/mcp.json",
		key:         "servers",
		comments:    true,
		anyEnv:      true,
		appendsPath: true,
		fields:      []string{"envFile", "cwd"},
		expander: func(s *source, r *resolver) expander {
			return editorExpander(s.folder, r, func(id string) (string, error) { return r.input(s, id) })
		},
		expandTilde: func(r *resolver, text string) (string, error) {
			rest, ok := strings.CutPrefix(text, "~")
			if !ok || rest != "" && rest[0] != '/' && rest[0] != filepath.Separator {
				return text, nil
			}
			home, err := r.home()
			return home + rest, err
		},
	}
}
