package mcpconfig

import (
	"fmt"
	"strings"
)

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
