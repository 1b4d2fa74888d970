package mcpcli

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
)

func newResources(env Env) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "resources [SERVER] [-- COMMAND…]",
		Short: "List the resources of an MCP server",
		Long: `List the resources of an MCP server, and the families of them, whose addresses have variables such as {id} in them.

` + servers + "\n\n" + statuses,
		Example:           examples(env, "resources", "resources petrock"),
		Args:              words(nothing),
		ValidArgsFunction: completer(env, &o, nothing, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			return run(cmd, env, &o, args, nothing, func(ctx context.Context, s *session, _ []string) error {
				return s.list(ctx,
					list{"resources/list", "resources", "resources", func(entries []json.RawMessage) error {
						for _, r := range decode[mcp.Resource](entries) {
							if err := s.printer.address(r.URI, r.MIMEType, r.Name, r.Description); err != nil {
								return err
							}
						}
						return nil
					}},
					list{"resources/templates/list", "resourceTemplates", "resources", func(entries []json.RawMessage) error {
						for _, r := range decode[mcp.ResourceTemplate](entries) {
							if err := s.printer.address(r.URITemplate, r.MIMEType, r.Name, r.Description); err != nil {
								return err
							}
						}
						return nil
					}})
			})
		},
	}
	o.flags(cmd)
	return cmd
}

func newRead(env Env) *cobra.Command {
	var o options
	out := ""
	cmd := &cobra.Command{
		Use:   "read [SERVER] URI [-- COMMAND…]",
		Short: "Read a resource of an MCP server",
		Long: `Read a resource of an MCP server. Text is printed as it is; anything else is written to a file in the folder --out, where
nothing is overwritten.

` + servers + "\n\n" + statuses,
		Example:           examples(env, "read petrock petrock://project", "read file:///etc/motd -- some-server"),
		Args:              words(name),
		ValidArgsFunction: completer(env, &o, name, completeRead),
		RunE: func(cmd *cobra.Command, args []string) error {
			return run(cmd, env, &o, args, name, func(ctx context.Context, s *session, words []string) error {
				s.printer.into(env, out)
				s.progress.Begin("reading " + plain(words[0]))
				var raw json.RawMessage
				contents, err := s.ReadResource(ctx, words[0], client.KeepResult(&raw))
				s.progress.End()
				if err != nil {
					return s.offline(ctx, err)
				}
				if s.printer.asJSON {
					return printJSON(s.printer.out, raw)
				}
				for _, c := range contents {
					if err := s.printer.resource(c); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	o.flags(cmd)
	outFlag(cmd, &out)
	return cmd
}

// address prints where a resource is, and what it is.
func (p *printer) address(uri, mimeType, name, description string) error {
	head := line(uri)
	if mimeType != "" {
		head += " (" + line(mimeType) + ")"
	}
	if description == "" {
		description = name
	}
	return p.entry(head, description)
}
