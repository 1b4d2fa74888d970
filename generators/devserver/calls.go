package devserver

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/gen"
)

// toolNames are the tools that are not named after their command.
var toolNames = map[string]string{"destroy": "destroy_component", "generate": "generate_component", "list": "list_components", "sync": "build"}

// FormatCall returns a function that writes a call as a call of a tool, for tools whose names start
// with a prefix: destroy_component {"kind":"command","name":"posts/create","retire":true}.
//
//petrock:ignore
func FormatCall(prefix string) func(gen.Call) string {
	return func(c gen.Call) string {
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
			return prefix + cmp.Or(toolNames[c.Command], c.Command)
		}
		return fmt.Sprintf("%s%s {%s}", prefix, cmp.Or(toolNames[c.Command], c.Command), arguments)
	}
}
