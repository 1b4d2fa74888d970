package serve

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcpcli"
	"github.com/petrock/petrock/core/terminal"
)

// newCalls returns the commands that call this server: tools, call, resources, read, prompts and prompt.
func (p *program) newCalls() []*cobra.Command {
	dir, _ := os.Getwd() // it may have been removed, which must not prevent help
	return mcpcli.Commands(mcpcli.Env{
		In: os.Stdin, Out: p.out, Err: p.errOut, Dir: dir, Program: p.Name,
		Info:   mcp.Implementation{Name: p.Name, Version: p.Version},
		Target: func() mcpcli.Target { return &inProcess{program: p} },
	})
}

// inProcess is a target that runs the server in this process.
type inProcess struct {
	program *program
	common  *mcpcli.Flags
}

// Flags implements [mcpcli.Target].
func (t *inProcess) Flags(cmd *cobra.Command, common *mcpcli.Flags) {
	t.common = common
	t.program.addFlags(cmd)
}

// Servers implements [mcpcli.Target].
func (t *inProcess) Servers() []string { return nil }

// Find implements [mcpcli.Target].
func (t *inProcess) Find(words []string, dash int, _ mcpcli.Shape) (*mcpcli.Server, []string, error) {
	if dash >= 0 {
		return nil, nil, terminal.Usagef("%s calls only itself; to call another server, run petrock call", t.program.Name)
	}
	return &mcpcli.Server{Name: t.program.Name, Connect: t.connect}, words, nil
}

// connect opens the server, and connects a client to it.
func (t *inProcess) connect(ctx context.Context, o client.Options) (*client.Client, func() error, error) {
	level := slog.LevelWarn
	if t.common.Verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(t.program.errOut, &slog.HandlerOptions{Level: level}))
	server, end, err := t.program.open(ctx, log)
	if err != nil {
		return nil, nil, err
	}
	c, err := client.InProcess(ctx, server, o)
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return c, func() error { return errors.Join(c.Close(), end()) }, nil
}
