package mcpcli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/terminal"
)

func newCall(env Env) *cobra.Command {
	out := ""
	cmd := newCommand(env, &cobra.Command{
		Use:   "call TOOL [name=value…|-]",
		Short: "Call a tool",
		Long: `Call a tool. Arguments are name=value pairs, read according to the tool's schema: numbers, true and false as such,
lists and objects as JSON. Repeat name=value for a list. With - the arguments are a JSON object on standard input;
name=value pairs take precedence. The arguments are validated before the call.

Text is printed as it is. Images, audio and other files are written to the folder --out; existing files are never
overwritten. Questions of the tool are asked on the terminal. Ctrl-C cancels the call.`,
		Example: "call add a=2 b=3\n" + `call add --json - <<< '{"a": 2, "b": 3}'` + "\ncall search tags=a tags=b",
	}, NameWords, completeCall, func(ctx context.Context, s *session, words []string) error {
		s.printer.writeFilesTo(env, out)
		return s.call(ctx, env.In, words[0], words[1:])
	})
	addOut(cmd, &out)
	return cmd
}

// addOut adds the flag --out.
func addOut(cmd *cobra.Command, out *string) {
	cmd.Flags().StringVar(out, "out", "", "the folder for images, audio and other files (default the working directory)")
	cmd.MarkFlagDirname("out")
}

// call calls a tool and prints the result.
func (s *session) call(ctx context.Context, stdin io.Reader, name string, words []string) error {
	tool, err := s.Tool(ctx, name)
	if err != nil {
		return err
	}
	if err := s.server.refuse(name); err != nil {
		return err
	}
	given, err := arguments(tool, words, stdin)
	if err != nil {
		return err
	}
	s.progress.Begin("calling " + terminal.Plain(name))
	var raw json.RawMessage
	result, err := s.CallTool(ctx, name, given, client.KeepResult(&raw), client.OnProgress(func(r client.Progress) { s.progress.Begin(progressText(name, r)) }))
	s.progress.End()
	if err != nil {
		return answered(ctx, err)
	}
	s.printer.base = name
	return s.printer.result(result, raw)
}

// answered marks an error that the server answered with.
func answered(ctx context.Context, err error) error {
	if ctx.Err() == nil && terminal.Status(exitStatus(ctx, err)) == terminal.Failed {
		return fmt.Errorf("the server answers: %w", err)
	}
	return err
}

// progressText describes a progress report.
func progressText(name string, r client.Progress) string {
	text := "calling " + terminal.Plain(name)
	if r.Total > 0 {
		text += fmt.Sprintf(" %.0f %%", 100*r.Progress/r.Total)
	} else {
		text += fmt.Sprintf(" %v", r.Progress)
	}
	if r.Message != "" {
		text += " " + terminal.Shorten(terminal.Line(r.Message))
	}
	return text
}

// result prints the result of a tool. raw is the result as the server sent it.
func (p *Printer) result(r *mcp.ToolResult, raw json.RawMessage) error {
	if p.asJSON {
		if err := terminal.PrintJSON(p.out, raw); err != nil {
			return err
		}
		if r.IsError {
			return &terminal.SaidError{Err: errors.New("the tool reports a failure")}
		}
		return nil
	}
	if r.IsError {
		text := strings.TrimSpace(terminal.Plain(r.Text()))
		if text == "" {
			text = "the tool reports a failure without a message"
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
