package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/workshop"
)

// Workshop is the program of a project's workshop: it does what the arguments say and
// returns the status to end with. out is standard output.
func Workshop(ctx context.Context, args []string, out *os.File) int {
	dir, _ := os.Getwd() // it may have been removed meanwhile, and help is help all the same
	env := Env{Out: out, Err: os.Stderr, Dir: dir, Program: "go run ./cmd/petrock"}
	root := &cobra.Command{
		Use:   "petrock",
		Short: "The workshop of this project",
		Long: `The workshop of this project: it adds tools, resources and prompts to it, and generators of
its own, takes that back, derives what follows from what you write, and tells what the project is
and whether it compiles.

It is part of the project, at the version that the project was made with, and it works while
the rest of the project does not compile.`,
		Example: examples(env, "generate tool send_mail to 'subject \"What it is about\"'", "undo", "sync", "list"),
	}
	root.AddCommand(Commands(env)...)
	root.AddCommand(NewMCP(env, workshop.Options{Carried: true}, nil), NewStatus(env), NewVersion())
	root.AddCommand(newCalls(env)...)
	return Run(ctx, root, args, env)
}

// NewMCP is the command that serves the workshop to an MCP client. More offers what a workshop has besides; it
// may be nil.
func NewMCP(env Env, o workshop.Options, more func(*workshop.Tools, *mcp.Server) error) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the workshop over standard input and output, to an MCP client",
		Long: `Serve the workshop over standard input and output, to an MCP client, until it closes
the input. The tools work on the project around the working directory, and on projects below it.

Components may be sent with their code and with examples, which are then built and run as a process of
their own before anything is written: with limits on time, memory and output, and, where the system
can do that, without the right to write anywhere but to a temporary folder. The tool call runs
the project's server. With --no-exec nothing is run.`,
		Example: examples(env, "mcp", "mcp --no-exec"),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if terminal.Watched(os.Stdin) {
				fmt.Fprintln(env.Err, "The workshop speaks MCP here, one JSON message a line. A client starts it; end it with Ctrl-D.")
			}
			o.Dir, o.Generators = env.Dir, generators.All()
			tools, err := workshop.New(o)
			if err != nil {
				return err
			}
			defer tools.Close()
			server, err := tools.NewServer()
			if err == nil && more != nil {
				err = more(tools, server)
			}
			if err != nil {
				return err
			}
			return server.ServeStdio(cmd.Context(), env.Out)
		},
	}
	cmd.Flags().BoolVar(&o.NoExec, "no-exec", false, "run nothing of what is written: no examples, no calls")
	return cmd
}

// NewStatus is the command that says what the project is and whether it compiles.
func NewStatus(env Env) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say what the project is and whether it compiles",
		Long: `Say what the project is, which packages it has, and whether they compile, tests included.

It ends with 1 if something does not.`,
		Example: examples(env, "status", "status --json"),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tools, err := workshop.New(workshop.Options{Dir: env.Dir, Generators: generators.All()})
			if err != nil {
				return err
			}
			defer tools.Close()
			status, err := tools.Status(cmd.Context(), "")
			if err != nil {
				return err
			}
			if asJSON {
				err = PrintJSON(env, status)
			} else {
				_, err = fmt.Fprint(env.Out, status)
			}
			if err == nil && !status.Builds {
				err = &terminal.SaidError{Err: fmt.Errorf("%s does not compile", status.Name)}
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// NewVersion is the command that prints the version.
func NewVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "petrock %s %s\n", generators.Version, runtime.Version())
			return err
		},
	}
}

// PrintJSON prints one value as JSON, for programs to read.
func PrintJSON(env Env, value any) error {
	encoder := json.NewEncoder(env.Out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
