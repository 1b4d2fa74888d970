package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"

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
		Long: `The workshop of this project: it adds tools, resources and prompts to it, takes that back,
derives what follows from what you write, and tells what the project is and whether it compiles.

It is part of the project, at the version that the project was made with, and it works while
the rest of the project does not compile.`,
		Example: examples(env, "generate tool send_mail to 'subject \"What it is about\"'", "undo", "sync", "list"),
	}
	root.AddCommand(Commands(env)...)
	root.AddCommand(NewMCP(env), NewStatus(env), NewVersion())
	return Run(ctx, root, args, env)
}

// NewMCP is the command that serves the workshop to an MCP client.
func NewMCP(env Env) *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "Serve the workshop over standard input and output, to an MCP client",
		Long: `Serve the workshop over standard input and output, to an MCP client, until it closes
the input. The tools work on the project around the working directory.`,
		Example: examples(env, "mcp"),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if terminal.Watched(os.Stdin) {
				fmt.Fprintln(env.Err, "The workshop speaks MCP here, one JSON message a line. A client starts it; end it with Ctrl-D.")
			}
			server, err := workshop.NewServer(env.Dir)
			if err != nil {
				return err
			}
			return server.ServeStdio(cmd.Context(), env.Out)
		},
	}
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
			status, err := (&workshop.Tools{Dir: env.Dir}).ProjectStatus(cmd.Context(), workshop.ProjectStatusInput{})
			if err != nil {
				return err
			}
			if asJSON {
				err = PrintJSON(env, status)
			} else {
				_, err = fmt.Fprint(env.Out, status)
			}
			if err == nil && !status.Builds {
				err = &SaidError{fmt.Errorf("%s does not compile", status.Name)}
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
