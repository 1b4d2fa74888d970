package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

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
				return p.serveDev()
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

// serveDev builds and runs the project's own petrock, with the standard input and output of this process.
func (p *program) serveDev() error {
	root, err := project.Source(p.Name)
	if err != nil {
		return fmt.Errorf("mcp --dev needs the source of %s: %w\nrun it in the project's folder", p.Name, err)
	}
	if err := os.Chdir(root); err != nil {
		return fmt.Errorf("mcp --dev: %w", err)
	}
	if err := become(p.out, "go", "run", "./cmd/petrock", "mcp"); err != nil {
		return fmt.Errorf("run go run ./cmd/petrock mcp in %s: %w; mcp --dev needs Go, see https://go.dev/dl", root, err)
	}
	return nil
}
