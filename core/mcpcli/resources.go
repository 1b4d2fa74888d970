package mcpcli

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/terminal"
)

func newResources(env Env) *cobra.Command {
	return newCommand(env, &cobra.Command{
		Use:     "resources",
		Short:   "List the resources",
		Long:    "List the resources and the resource templates, whose URIs have variables such as {id}.",
		Example: "resources",
	}, NoWords, nil, func(ctx context.Context, s *session, _ []string) error {
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
}

func newRead(env Env) *cobra.Command {
	out := ""
	cmd := newCommand(env, &cobra.Command{
		Use:   "read URI",
		Short: "Read a resource",
		Long: `Read a resource. Text is printed as it is. Anything else is written to a file in the folder --out; existing files are
never overwritten.`,
		Example: "read note://1",
	}, Name, completeRead, func(ctx context.Context, s *session, words []string) error {
		s.printer.writeFilesTo(env, out)
		s.progress.Begin("reading " + terminal.Plain(words[0]))
		var raw json.RawMessage
		contents, err := s.ReadResource(ctx, words[0], client.KeepResult(&raw))
		s.progress.End()
		if err != nil {
			return answered(ctx, err)
		}
		if s.printer.asJSON {
			return terminal.PrintJSON(s.printer.out, raw)
		}
		for _, c := range contents {
			if err := s.printer.resource(c); err != nil {
				return err
			}
		}
		return nil
	})
	addOut(cmd, &out)
	return cmd
}

// address prints the URI and the description of a resource.
func (p *Printer) address(uri, mimeType, name, description string) error {
	head := terminal.Line(uri)
	if mimeType != "" {
		head += " (" + terminal.Line(mimeType) + ")"
	}
	if description == "" {
		description = name
	}
	return p.entry(head, description)
}
