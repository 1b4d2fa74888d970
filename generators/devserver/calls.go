package devserver

import (
	"fmt"
	"strings"

	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/gen"
)

// toolNames are the tools that do the same as commands of the command line.
var toolNames = map[string]string{
	"apply": "apply", "change": "change", "destroy": "destroy_component", "edit": "edit", "generate": "generate_component",
	"history": "history", "list": "list_components", "redo": "redo", "sync": "build", "test": "test", "undo": "undo",
}

// FormatCall returns a function that writes a call as the call of a tool, for tools whose names
// start with a prefix: destroy_component {"kind":"command","name":"posts/create","retire":true}. A
// call without a tool stays a command line.
//
//petrock:ignore
func FormatCall(prefix string) func(gen.Call) string {
	return func(c gen.Call) string {
		tool, ok := toolNames[c.Command]
		if !ok && c.Command != "" {
			return c.String()
		}
		var members []string
		for _, a := range c.Arguments {
			value, err := strictjson.Marshal(a.Value)
			if err != nil || a.Value == nil {
				members = append(members, a.Name)
			} else {
				members = append(members, fmt.Sprintf("%q:%s", a.Name, value))
			}
		}
		arguments := strings.Join(members, ",")
		switch {
		case c.Command == "":
			return arguments
		case arguments == "":
			return prefix + tool
		}
		return fmt.Sprintf("%s%s {%s}", prefix, tool, arguments)
	}
}
