package servers

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/cmd/petrock/internal/mcpconfig"
	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/mcpcli"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

// addAll adds --all to the command tools.
func (t *target) addAll(cmd *cobra.Command) {
	all := false
	cmd.Flags().BoolVar(&all, "all", false, "list the tools of all servers in the configuration files")
	runOne := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !all {
			return runOne(cmd, args)
		}
		return mcpcli.Report(t.env, t.common, func() error { return t.listAll(cmd.Context(), args) })
	}
}

// listAll prints the tools of all servers in the configuration files, in the order of their
// answers. The error names the servers that were not started, and those that did not answer.
func (t *target) listAll(ctx context.Context, args []string) error {
	if err := errors.Join(t.common.Check(), t.check()); err != nil {
		return err
	}
	if len(args) > 0 {
		return terminal.Usagef("--all lists all servers; remove %s, or --all", args[0])
	}
	config, err := t.configuration(false)
	if err != nil {
		return err
	}
	ctx, stop := mcpcli.Interruptible(ctx)
	defer stop()
	asJSON, printer := t.common.JSON, mcpcli.NewPrinter(t.env, t.common)
	object := map[string]any{}
	servers := config.Servers()
	notStarted := t.refuseUnallowed(ctx, servers)
	var notAnswered []string
	for list := range t.listTools(ctx, servers) {
		name := terminal.Plain(list.server)
		switch {
		case list.err != nil:
			if !slices.Contains(notStarted, name) {
				notAnswered = append(notAnswered, name)
			}
			object[list.server] = mcpcli.Fault{Message: list.err.Error(), Status: terminal.ExitUnreachable}
			fmt.Fprintf(t.env.Err, "%s: %s\n", name, terminal.Plain(list.err.Error()))
		case asJSON:
			object[list.server] = map[string]any{"tools": append([]mcp.Tool{}, list.tools...)}
		case len(list.tools) == 0:
			if err := printer.Text(name + " has no tools."); err != nil {
				return err
			}
		default:
			if err := printer.Tools(name, list.tools); err != nil {
				return err
			}
		}
	}
	if ctx.Err() != nil {
		return mcpcli.ErrInterrupted
	}
	if asJSON {
		if err := terminal.PrintJSON(t.env.Out, map[string]any{"servers": object}); err != nil {
			return err
		}
	}
	return t.missingError(notStarted, notAnswered)
}

// refuseUnallowed sets the errors of servers that petrock must not start, and returns the names of
// all servers with errors.
func (t *target) refuseUnallowed(ctx context.Context, servers []*mcpconfig.Server) (refused []string) {
	for _, s := range servers {
		if s.Disabled {
			continue
		}
		if err := t.checkConsent(ctx, s, false); err != nil {
			s.Err = err
		}
		if s.Err != nil {
			refused = append(refused, terminal.Plain(s.Name))
		}
	}
	return refused
}

// missingError returns an error that names servers without tools, or nil if there are none.
func (t *target) missingError(notStarted, notAnswered []string) error {
	var missing []string
	if len(notStarted) > 0 {
		missing = append(missing, "servers that were not started, for the reasons above: "+strings.Join(notStarted, ", "))
	}
	if slices.Sort(notAnswered); len(notAnswered) > 0 {
		missing = append(missing, fmt.Sprintf("servers that did not answer: %s; run %s doctor", strings.Join(notAnswered, ", "), t.env.Program))
	}
	if missing == nil {
		return nil
	}
	return &terminal.ReportedError{Err: &terminal.UnreachableError{Err: errors.New(strings.Join(missing, "\n"))}}
}

// A toolList has the tools of one server, or the error.
type toolList struct {
	server string
	tools  []mcp.Tool
	err    error
}

// listTools lists the tools of all enabled servers in parallel, and yields the answers as they
// arrive. It stops the servers when the loop ends.
func (t *target) listTools(ctx context.Context, servers []*mcpconfig.Server) iter.Seq[toolList] {
	return func(yield func(toolList) bool) {
		servers = slices.DeleteFunc(slices.Clone(servers), func(s *mcpconfig.Server) bool { return s.Disabled })
		ctx, cancel := context.WithCancel(ctx)
		answers := make(chan toolList, len(servers))
		var all sync.WaitGroup
		defer all.Wait()
		defer cancel()
		for _, s := range servers {
			all.Go(func() {
				tools, err := t.tools(ctx, s)
				answers <- toolList{s.Name, tools, err}
			})
		}
		for range servers {
			select {
			case answer := <-answers:
				if !yield(answer) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// tools returns the tools of one server that its configuration enables.
func (t *target) tools(ctx context.Context, s *mcpconfig.Server) ([]mcp.Tool, error) {
	c, err := t.dial(ctx, s, client.Options{Revision: mcp.Revision(t.revision)})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	tools, err := c.Tools(ctx)
	return slices.DeleteFunc(tools, func(tool mcp.Tool) bool { return !allows(s, tool.Name) }), err
}
