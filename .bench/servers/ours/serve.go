package main

import (
	"context"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/bench/internal/front"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcphttp"
	"github.com/petrock/petrock/skeleton/base/tools"
)

// newServeCmd returns the command serve, which listens on a port that the system chooses.
func newServeCmd(out *os.File) *cobra.Command {
	var soaked bool
	var o mcphttp.Options
	cmd := &cobra.Command{
		Use:   front.ServeArgument,
		Short: "Serve MCP over HTTP",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			server := mcp.NewServer(mcp.Implementation{Name: "ours", Version: "0.1.0"}, mcp.Options{})
			if err := tools.Register(server); err != nil {
				return err
			}
			if soaked {
				if err := registerSoaked(server); err != nil {
					return err
				}
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return serveHTTP(ctx, mcphttp.NewHandler(server, o), out)
		},
	}
	cmd.Flags().BoolVar(&soaked, "soak", false, "add the tools and resources of the soak test")
	cmd.Flags().DurationVar(&o.SessionIdle, "session-idle", 0*time.Second, "timeout of idle sessions")
	cmd.Flags().IntVar(&o.ClientShare, "client-share", 0, "share of the limits that one client may use, in percent")
	return cmd
}

func serveHTTP(ctx context.Context, h *mcphttp.Handler, out *os.File) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(1600) // as the command serve of a project, for a small heap
	}
	return mcphttp.Serve(ctx, h, mcphttp.ServeOptions{
		Addr:  "127.0.0.1:0",
		Path:  front.Path,
		Ready: func(addr net.Addr) { front.Ready(out, addr) },
	})
}
