package mcpcli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/fleet"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/terminal"
)

func newCall(env Env) *cobra.Command {
	var o options
	out := ""
	cmd := &cobra.Command{
		Use:   "call [SERVER] TOOL [name=value…|-] [-- COMMAND…]",
		Short: "Call a tool of an MCP server",
		Long: `Call a tool of an MCP server. What it is given is written as name=value, and read as the tool's schema has it: numbers, true
and false as such, lists and objects as JSON, a list also by repeating name=value. With - it is a JSON object from
standard input, which name=value comes before. All of it is checked before the tool is called.

Text is printed as it is; images and sound are written to files in the folder --out, where nothing is overwritten. On a terminal the questions
of a tool are asked. Ctrl-C cancels the call.

` + servers + "\n\n" + statuses,
		Example: examples(env, "call add a=2 b=3", `call add --json - <<< '{"a": 2, "b": 3}'`, "call petrock project_status",
			"call search tags=a tags=b", "call http://127.0.0.1:8181/mcp add a=2 b=3 --header 'X-Api-Token: KEY'", "call echo message=hi -- npx -y @modelcontextprotocol/server-everything"),
		Args:              words(nameArgs),
		ValidArgsFunction: completer(env, &o, nameArgs, completeCall),
		RunE: func(cmd *cobra.Command, args []string) error {
			return run(cmd, env, &o, args, nameArgs, func(ctx context.Context, s *session, words []string) error {
				s.printer.into(env, out)
				return s.call(ctx, env, words[0], words[1:])
			})
		},
	}
	o.flags(cmd)
	outFlag(cmd, &out)
	return cmd
}

// outFlag adds the flag for where files go.
func outFlag(cmd *cobra.Command, out *string) {
	cmd.Flags().StringVar(out, "out", "", "the folder that images, sound and other files are written to (default the working directory)")
	cmd.MarkFlagDirname("out")
}

// call calls a tool and prints what it gives.
func (s *session) call(ctx context.Context, env Env, name string, words []string) error {
	tool, err := s.Tool(ctx, name)
	if err != nil {
		return err
	}
	if !fleet.Allows(s.server, name) {
		return terminal.Usagef("%s switches the tool %s off; take it out of disabled_tools, or put it into enabled_tools", s.server.File, name)
	}
	given, err := arguments(tool, words, env.In)
	if err != nil {
		return err
	}
	s.progress.Begin("calling " + plain(name))
	var raw json.RawMessage
	result, err := s.CallTool(ctx, name, given, client.KeepResult(&raw), client.OnProgress(func(r client.Progress) { s.progress.Begin(howFar(name, r)) }))
	s.progress.End()
	if err != nil {
		return s.offline(ctx, err)
	}
	s.printer.base = name
	return s.printer.result(result, raw)
}

// offline says of an answered error whose it is.
func (s *session) offline(ctx context.Context, err error) error {
	if status := terminal.Status(status(ctx, err)); status == terminal.Failed && ctx.Err() == nil {
		return fmt.Errorf("the server answers: %w", err)
	}
	return err
}

// howFar says for people how far a call has come.
func howFar(name string, r client.Progress) string {
	text := "calling " + plain(name)
	if r.Total > 0 {
		text += fmt.Sprintf(" %.0f %%", 100*r.Progress/r.Total)
	} else {
		text += fmt.Sprintf(" %v", r.Progress)
	}
	if r.Message != "" {
		text += " " + short(line(r.Message))
	}
	return text
}

// result prints what a tool gives. raw is how it was sent.
func (p *printer) result(r *mcp.ToolResult, raw json.RawMessage) error {
	if p.asJSON {
		if err := printJSON(p.out, raw); err != nil {
			return err
		}
		if r.IsError {
			return &terminal.SaidError{Err: errors.New("the tool says that it could not be done")}
		}
		return nil
	}
	if r.IsError {
		text := strings.TrimSpace(plain(r.Text()))
		if text == "" {
			text = "the tool says that it could not be done, and not why"
		}
		return errors.New(text)
	}
	if err := p.content(r.Content); err != nil {
		return err
	}
	for _, block := range r.Content {
		if _, ok := block.(mcp.Text); ok {
			return nil
		}
	}
	if r.StructuredContent != nil {
		return p.structured(r.StructuredContent)
	}
	return nil
}
