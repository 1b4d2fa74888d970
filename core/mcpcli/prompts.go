package mcpcli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/terminal"
)

func newPrompts(env Env) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "prompts [SERVER] [-- COMMAND…]",
		Short: "List the prompts of an MCP server",
		Long: `List the prompts of an MCP server: what they are called, what they take, and what they are for. What may be left out
is in brackets.

` + servers + "\n\n" + statuses,
		Example:           examples(env, "prompts", "prompts petrock"),
		Args:              words(nothing),
		ValidArgsFunction: completer(env, &o, nothing, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			return run(cmd, env, &o, args, nothing, func(ctx context.Context, s *session, _ []string) error {
				return s.list(ctx, list{"prompts/list", "prompts", "prompts", func(entries []json.RawMessage) error {
					for _, p := range decode[mcp.Prompt](entries) {
						if err := s.printer.entry(strings.TrimSpace(line(p.Name)+" "+promptUsage(p)), p.Description); err != nil {
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

// promptUsage says what a prompt takes.
func promptUsage(p mcp.Prompt) string {
	var all []string
	for _, a := range p.Arguments {
		text := line(a.Name) + "=text"
		if !a.Required {
			text = "[" + text + "]"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func newPrompt(env Env) *cobra.Command {
	var o options
	out := ""
	cmd := &cobra.Command{
		Use:   "prompt [SERVER] NAME [name=value…] [-- COMMAND…]",
		Short: "Fill in a prompt of an MCP server",
		Long: `Fill in a prompt of an MCP server, and print the messages that come of it. What it is given is written as name=value.

` + servers + "\n\n" + statuses,
		Example:           examples(env, "prompt petrock add_feature feature='a list of books'"),
		Args:              words(nameArgs),
		ValidArgsFunction: completer(env, &o, nameArgs, completePrompt),
		RunE: func(cmd *cobra.Command, args []string) error {
			return run(cmd, env, &o, args, nameArgs, func(ctx context.Context, s *session, words []string) error {
				s.printer.into(env, out)
				return s.prompt(ctx, words[0], words[1:])
			})
		},
	}
	o.flags(cmd)
	outFlag(cmd, &out)
	return cmd
}

// prompt fills in a prompt and prints it.
func (s *session) prompt(ctx context.Context, name string, words []string) error {
	all, err := s.Prompts(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(all, func(p mcp.Prompt) bool { return p.Name == name })
	if at < 0 {
		var names []string
		for _, p := range all {
			names = append(names, p.Name)
		}
		return &client.NotFoundError{Kind: "prompt", Name: name, Available: names}
	}
	given, err := promptArguments(all[at], words)
	if err != nil {
		return err
	}
	s.progress.Begin("asking for " + plain(name))
	var raw json.RawMessage
	result, err := s.GetPrompt(ctx, name, given, client.KeepResult(&raw))
	s.progress.End()
	switch {
	case err != nil:
		return s.offline(ctx, err)
	case s.printer.asJSON:
		return printJSON(s.printer.out, raw)
	}
	s.printer.base = name
	for _, m := range result.Messages {
		if err := s.printer.text(string(m.Role) + ":"); err != nil {
			return err
		}
		if err := s.printer.content([]mcp.Content{m.Content}); err != nil {
			return err
		}
	}
	return nil
}

// promptArguments reads what a prompt is given.
func promptArguments(p mcp.Prompt, words []string) (map[string]string, error) {
	given := map[string]string{}
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		switch _, twice := given[name]; {
		case !ok || name == "":
			return nil, terminal.Usagef("%q is not what a prompt is given; write name=value", word)
		case twice:
			return nil, terminal.Usagef("%s is given twice", name)
		case !slices.ContainsFunc(p.Arguments, func(a mcp.PromptArgument) bool { return a.Name == name }):
			takes := "it takes none"
			if len(p.Arguments) > 0 {
				takes = "it takes " + promptUsage(p)
			}
			return nil, terminal.Usagef("there is no argument %q; %s", name, takes)
		}
		given[name] = value
	}
	var missing []string
	for _, a := range p.Arguments {
		if _, ok := given[a.Name]; a.Required && !ok {
			missing = append(missing, strings.TrimRight(fmt.Sprintf("  %s=text  %s", line(a.Name), line(a.Description)), " "))
		}
	}
	if len(missing) > 0 {
		return nil, terminal.Usagef("%s: it needs\n%s", plain(p.Name), strings.Join(missing, "\n"))
	}
	return given, nil
}
