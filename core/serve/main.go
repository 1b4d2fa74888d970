// The server offers the project's tools to MCP clients. This is the program that ships; the
// one for those who work on the project is cmd/petrock.
package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/mcpcli"
	"github.com/petrock/petrock/core/serve/stdout"
	"github.com/petrock/petrock/core/terminal"
)

func main() {
	out := os.NewFile(stdout.Stdout(), "stdout") // os.Stdout is standard error from here on
	os.Exit(run(context.Background(), os.Args[1:], out, os.Stderr))
}

// run is the program: it does what the arguments say and returns the status to end with.
func run(ctx context.Context, args []string, out, errOut *os.File) int {
	started := false
	root := newRoot(out, errOut)
	root.SetOut(out)
	root.SetErr(errOut)
	root.SetArgs(args)
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !started {
		err = &terminal.UsageError{Err: err}
	}
	status := terminal.Status(err)
	if err != nil {
		fmt.Fprintf(errOut, "%s: %v\n", programName, err)
	}
	if status == terminal.Misuse {
		fmt.Fprintf(errOut, "Run '%s --help' for usage.\n", cmd.CommandPath())
	}
	return status
}

func newRoot(out, errOut *os.File) *cobra.Command {
	root := &cobra.Command{
		Use:           programName,
		Short:         programName + " is an MCP server",
		Long:          programName + " is an MCP server. Clients start it as: " + programName + " mcp\nOver HTTP it is there with: " + programName + " serve\nIn a terminal its tools are called with: " + programName + " call",
		Args:          cobra.NoArgs,
		SilenceErrors: true, // run prints them
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	with := extensions()
	all := slices.Concat(with, gateKeepers())
	root.AddCommand(newMCP(out, with), newServe(all), newVersion())
	root.AddCommand(mcpcli.Commands(newEnv(out, errOut))...)
	for _, e := range all {
		root.AddCommand(e.Commands()...)
	}
	return root
}
