package mcpconfig

import (
	"fmt"
	"path/filepath"
	"strings"
)

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
