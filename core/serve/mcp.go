package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/core/terminal"
)

func (p *program) newMCP() *cobra.Command {
	var dev bool
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve MCP over standard input and output",
		Long: `Serve MCP over standard input and output to one client, until it closes the input. MCP clients start this command.

With --dev, serve the project's own petrock instead, whose tools generate code. It needs the project's source, around the
working directory or around this program.`,
		Example: "  " + p.Name + " mcp\n  " + p.Name + " mcp --dev",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dev {
				return p.serveDev(cmd.Context())
			}
			if terminal.Watched(os.Stdin) {
				fmt.Fprintf(p.errOut, "%s speaks MCP here, one JSON message a line. Clients start it; press Ctrl-D to end it.\n", p.Name)
			}
			server, end, err := p.open(cmd.Context(), slog.Default())
			if err != nil {
				return err
			}
			return errors.Join(server.ServeStdio(cmd.Context(), p.out), end())
		},
	}
	cmd.Flags().BoolVar(&dev, "dev", false, "serve the project's own petrock instead")
	p.addFlags(cmd)
	return cmd
}

// serveDev builds and runs the project's own petrock, and hands standard input and output to it.
func (p *program) serveDev(ctx context.Context) error {
	root, err := project.Source(p.Name)
	if err != nil {
		return fmt.Errorf("mcp --dev needs the source of %s: %w\nrun it in the project's folder", p.Name, err)
	}
	petrock := exec.CommandContext(ctx, "go", "run", "./cmd/petrock", "mcp")
	petrock.Dir = root
	petrock.Stdin, petrock.Stdout, petrock.Stderr = os.Stdin, p.out, os.Stderr
	err = petrock.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("mcp --dev needs the go command; install Go, see https://go.dev/dl")
	}
	if err != nil {
		return fmt.Errorf("running cmd/petrock in %s: %w", root, err)
	}
	return nil
}
