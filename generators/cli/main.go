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
	"github.com/petrock/petrock/generators/devserver"
)

// Main runs a project's own petrock and returns its exit code. out is standard output.
func Main(ctx context.Context, args []string, out *os.File) int {
	dir, _ := os.Getwd() // it may have been removed meanwhile, and help is help all the same
	env := Env{Out: out, Err: os.Stderr, Dir: dir, Program: "go run ./cmd/petrock"}
	root := &cobra.Command{
		Use:   "petrock",
		Short: "This project's own petrock",
		Long: `This project's own petrock: it adds tools, resources, prompts, features and generators, undoes
that, derives registration and schemas from your Go, and reports whether the project compiles.

It is part of the project, pinned to the version that made the project, and it works while the
rest of the project does not compile.`,
		Example: examples(env, "generate tool send_mail to 'subject \"What it is about\"'", "undo", "sync", "list"),
	}
	root.AddCommand(Commands(env)...)
	root.AddCommand(NewMCP(env, devserver.Options{Carried: true}, nil), NewStatus(env), NewVersion())
	root.AddCommand(newCalls(env)...)
	return Run(ctx, root, args, env)
}

// NewMCP is the command that runs the dev server. More adds tools to it, and
// may be nil.
func NewMCP(env Env, o devserver.Options, more func(*devserver.Tools, *mcp.Server) error) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Run the dev server: petrock as an MCP server on standard input and output",
		Long: `Run the dev server: petrock as an MCP server on standard input and output, until the client
closes the input. The tools work on the project around the working directory, and on projects below it.

Components may be sent with their code and with examples, which are then built and run as a process of
their own before anything is written: with limits on time, memory and output, and, where the system
can do that, without the right to write anywhere but to a temporary folder. The tool call runs
the project's server. With --no-exec nothing is run.`,
		Example: examples(env, "mcp", "mcp --no-exec"),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if terminal.Watched(os.Stdin) {
				fmt.Fprintln(env.Err, "petrock speaks MCP here, one JSON message a line. MCP clients start it; end it with Ctrl-D.")
			}
			o.Dir, o.Generators = env.Dir, generators.All()
			tools, err := devserver.New(o)
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
			tools, err := devserver.New(devserver.Options{Dir: env.Dir, Generators: generators.All()})
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
