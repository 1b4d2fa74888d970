package gen

import (
	"slices"
	"strings"
)

// A Call is a petrock command that a message recommends. Messages are the same for all front ends,
// and each front end formats calls in its own way: the command line with CommandLine, and the dev
// server as the call of a tool.
type Call struct {
	Command   string     // such as destroy; empty to write only the arguments
	Arguments []Argument // positional ones first
}

// An Argument is an argument of a [Call].
type Argument struct {
	Name  string // as tools name it, such as rename_fields
	Value any    // a string, a []string or true; nil to write only the name
}

// NewCall returns a call with arguments, given as alternating names and values. It panics if a name
// is not a string, or has no value.
func NewCall(command string, arguments ...any) Call {
	c := Call{Command: command}
	for pair := range slices.Chunk(arguments, 2) {
		c.Arguments = append(c.Arguments, Argument{pair[0].(string), pair[1]})
	}
	return c
}

// positional are the arguments that are not flags on the command line.
var positional = []string{"kind", "name", "operation", "packages", "part", "plan"}

// String returns the call as a command line: petrock destroy command posts/create --retire.
func (c Call) String() string { return c.CommandLine("petrock") }

// CommandLine is String for a program that users start in another way, such as
// go run ./cmd/petrock.
func (c Call) CommandLine(program string) string {
	var words []string
	if c.Command != "" {
		words = append(words, program, c.Command)
	}
	for _, a := range c.Arguments {
		flag := "--" + strings.ReplaceAll(a.Name, "_", "-")
		switch value := a.Value.(type) {
		case string:
			if !slices.Contains(positional, a.Name) {
				words = append(words, flag)
			}
			words = append(words, value)
		case []string: // the flag is repeated: --field for fields
			for _, text := range value {
				if !slices.Contains(positional, a.Name) {
					words = append(words, strings.TrimSuffix(flag, "s"))
				}
				words = append(words, text)
			}
		case nil:
			words = append(words, strings.TrimSuffix(flag, "s"))
		default:
			words = append(words, flag)
		}
	}
	return strings.Join(words, " ")
}
