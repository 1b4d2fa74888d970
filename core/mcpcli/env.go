package mcpcli

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
)

// An Env is the world around the commands.
type Env struct {
	In      io.Reader          // standard input
	Out     *os.File           // standard output
	Err     io.Writer          // standard error
	Dir     string             // the working directory; empty if it was removed
	Program string             // how the program is called in a terminal, for help texts
	Info    mcp.Implementation // the client's name and version

	// Target returns the target of one command. Each command has its own, because a target holds the values of its flags.
	Target func() Target

	// Many says that command lines may name a server: SERVER as the first word, or a command after --. Without it there is one server.
	Many bool

	// About is a paragraph on SERVER for help texts, and Examples are further example lines, by command. Both may be empty.
	About    string
	Examples map[string][]string
}

// A Target decides which server a command calls.
type Target interface {
	// Flags adds the target's flags to cmd. common are the values of the flags that all commands have.
	Flags(cmd *cobra.Command, common *Flags)

	// Find returns the server that the words of a command line mean, and the words that remain. dash is the number of words before --,
	// or -1 without --.
	Find(words []string, dash int, shape Shape) (*Server, []string, error)

	// Servers lists the names that SERVER may be, for completion.
	Servers() []string
}

// A Server is one that a command calls.
type Server struct {
	Name string

	// Connect connects to it. A nil error comes with a client and with a function that ends both.
	Connect func(ctx context.Context, o client.Options) (c *client.Client, end func() error, err error)

	// Refuse says why a tool must not be called, or returns nil. A nil Refuse allows all tools.
	Refuse func(tool string) error
}

func (s *Server) refuse(tool string) error {
	if s.Refuse == nil {
		return nil
	}
	return s.Refuse(tool)
}

// A Shape says which words a command takes after the server.
type Shape int

// The shapes of command lines.
const (
	NoWords   Shape = iota
	Name            // the name of one thing
	NameWords       // a name, and arguments
)

// Commands returns the commands tools, call, resources, read, prompts and prompt.
func Commands(env Env) []*cobra.Command {
	return []*cobra.Command{
		newTools(env),
		newCall(env),
		newResources(env),
		newRead(env),
		newPrompts(env),
		newPrompt(env),
	}
}
