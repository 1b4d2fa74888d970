package mcpcli

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/mcp"
)

// An Env is the world around the commands.
type Env struct {
	In      io.Reader // standard input
	Out     *os.File  // standard output
	Err     io.Writer // standard error
	Dir     string    // the working directory; empty if it is gone
	Program string    // how the program is called in a terminal, for help texts
	Info    mcp.Implementation

	// Self is the command, with its arguments, that is the server where none is named: the program itself, as a rule. If there is
	// none, it is the one of the project around Dir, as a configuration file names it, or the only one there is.
	Self []string
}

// Commands are the commands: tools, call, resources, read, prompts, prompt and doctor.
func Commands(env Env) []*cobra.Command {
	return []*cobra.Command{
		newTools(env),
		newCall(env),
		newResources(env),
		newRead(env),
		newPrompts(env),
		newPrompt(env),
		newDoctor(env),
	}
}
