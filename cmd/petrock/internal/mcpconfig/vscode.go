package mcpconfig

import (
	"path/filepath"
	"strings"
)

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
