package mcpcli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/fleet"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/terminal"
)

// servers is how help texts say what a server is.
const servers = `SERVER is a name from a configuration file (.mcp.json, .crush.json, crush.json, .cursor/mcp.json or .vscode/mcp.json, here
or in a folder above), or an address; or a command is given after --.`

// statuses is how help texts say what the program ends with.
const statuses = `It ends with 0, with 1 if the server or the tool says that it could not be done, or if it was interrupted, with 2 if it was asked for
in a wrong way, with 3 if the server was not reached or not understood.`

// examples are command lines, one a line.
func examples(env Env, lines ...string) string {
	return "  " + env.Program + " " + strings.Join(lines, "\n  "+env.Program+" ")
}

func newTools(env Env) *cobra.Command {
	var o options
	all := false
	cmd := &cobra.Command{
		Use:   "tools [SERVER] [-- COMMAND…]",
		Short: "List the tools of an MCP server",
		Long: `List the tools of an MCP server: what they are called, what they take, and what they are for. What may be left out is in
brackets. With --all the tools of all servers in the configuration files are listed, as they come.

` + servers + "\n\n" + statuses,
		Example:           examples(env, "tools", "tools petrock", "tools --all", "tools http://127.0.0.1:8181/mcp", "tools -- npx -y some-server"),
		Args:              words(nothing),
		ValidArgsFunction: completer(env, &o, nothing, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all {
				return listAll(cmd, env, &o, args)
			}
			return run(cmd, env, &o, args, nothing, func(ctx context.Context, s *session, _ []string) error {
				return s.list(ctx, list{"tools/list", "tools", "tools", func(entries []json.RawMessage) error {
					return s.printer.tools("", decode[mcp.Tool](entries))
				}})
			})
		},
	}
	o.flags(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "list the tools of all servers in the configuration files")
	return cmd
}

// words checks how many words a command has before --, beside a server.
func words(takes shape) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		n := len(args)
		dash := cmd.ArgsLenAtDash()
		server := 1
		if dash >= 0 {
			n, server = dash, 0
		}
		switch {
		case takes != nothing && n == 0:
			return fmt.Errorf("%s needs a name: %s", cmd.Name(), cmd.Use)
		case takes != nameArgs && n > server+int(takes):
			return fmt.Errorf("%s takes no more than %s, and %q is more", cmd.Name(), cmd.Use, args[n-1])
		}
		return nil
	}
}

// A list is one that a server has.
type list struct {
	method, field, capability string
	show                      func([]json.RawMessage) error // for people
}

// list prints lists: as one object of what the server sends, or for people.
func (s *session) list(ctx context.Context, lists ...list) error {
	object := map[string][]json.RawMessage{}
	n := 0
	for _, l := range lists {
		s.progress.Begin("asking for " + l.field)
		entries, err := s.Entries(ctx, l.method, l.field, l.capability)
		s.progress.End()
		if err != nil {
			return err
		}
		if l.field == "tools" {
			entries = slices.DeleteFunc(entries, func(raw json.RawMessage) bool { return !fleet.Allows(s.server, nameOf(raw)) })
		}
		object[l.field] = append([]json.RawMessage{}, entries...)
		n += len(entries)
	}
	switch {
	case s.printer.asJSON:
		return printJSON(s.printer.out, object)
	case n == 0:
		return s.printer.text(plain(s.server.Name) + " has no " + lists[0].field + ".")
	}
	for _, l := range lists {
		if err := l.show(object[l.field]); err != nil {
			return err
		}
	}
	return nil
}

func nameOf(raw json.RawMessage) string {
	var named struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(raw, &named)
	return named.Name
}

// decode reads entries of a list, but for those that cannot be read.
func decode[T any](entries []json.RawMessage) []T {
	var all []T
	for _, raw := range entries {
		var one T
		if json.Unmarshal(raw, &one) == nil {
			all = append(all, one)
		}
	}
	return all
}

// tools prints tools for people: the call of each, and below it what it is for. server is their server, if there are several.
func (p *printer) tools(server string, tools []mcp.Tool) error {
	for _, t := range tools {
		call := []string{line(t.Name)}
		if server != "" {
			call = []string{server, line(t.Name)}
		}
		in := readInput(t.InputSchema)
		for _, property := range in.properties {
			call = append(call, property.usage())
		}
		if err := p.entry(strings.Join(call, " "), t.Description); err != nil {
			return err
		}
	}
	return nil
}

// listAll lists the tools of all servers of the configuration files.
func listAll(cmd *cobra.Command, env Env, o *options, args []string) error {
	return said(env, o, func() error {
		if err := o.check(cmd); err != nil {
			return err
		}
		if len(args) > 0 {
			return terminal.Usagef("--all is for all servers; leave out %s, or --all", args[0])
		}
		config, err := o.configuration(env)
		if err != nil {
			return err
		}
		ctx, stop := interruptible(cmd.Context())
		defer stop()
		options, err := o.fleet(env)
		if err != nil {
			return err
		}
		all := fleet.Start(ctx, config.Servers(), options)
		defer all.Close()
		return printOffers(ctx, env, newPrinter(env, o), all)
	})
}

// fleet are the options for several servers.
func (o *options) fleet(env Env) (fleet.Options, error) {
	header, err := o.header()
	options := fleet.Options{
		Client: client.Options{Info: env.Info, Revision: mcp.Revision(o.revision), Timeout: o.timeout, Header: header},
		Limit:  o.timeout,
	}
	if o.verbose {
		options.Stderr = func(string) io.Writer { return env.Err }
	}
	return options, err
}

// printOffers prints the tools of several servers as they come, and in the end which could not be asked.
func printOffers(ctx context.Context, env Env, p *printer, all *fleet.Fleet) error {
	object := map[string]any{}
	var silent []string
	for offer := range all.Tools(ctx) {
		switch {
		case errors.Is(offer.Err, fleet.ErrDisabled):
			continue
		case offer.Err != nil:
			silent = append(silent, offer.Name())
			object[offer.Name()] = fault{Message: offer.Err.Error(), Status: terminal.Unreached}
			fmt.Fprintf(env.Err, "%s: %s\n", plain(offer.Name()), plain(offer.Err.Error()))
		case p.asJSON:
			object[offer.Name()] = map[string]any{"tools": append([]mcp.Tool{}, offer.Tools...)}
		case len(offer.Tools) == 0:
			if err := p.text(plain(offer.Name()) + " has no tools."); err != nil {
				return err
			}
		default:
			if err := p.tools(plain(offer.Name()), offer.Tools); err != nil {
				return err
			}
		}
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	if p.asJSON {
		if err := printJSON(p.out, map[string]any{"servers": object}); err != nil {
			return err
		}
	}
	if len(silent) == 0 {
		return nil
	}
	slices.Sort(silent)
	return &terminal.SaidError{Err: &terminal.UnreachedError{Err: fmt.Errorf("not all servers could be asked: %s; %s doctor says more", strings.Join(silent, ", "), env.Program)}}
}
