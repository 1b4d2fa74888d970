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
	return newCommand(env, &cobra.Command{
		Use:     "prompts",
		Short:   "List the prompts",
		Long:    "List the prompts with their arguments. Optional arguments are in brackets.",
		Example: "prompts",
	}, NoWords, nil, func(ctx context.Context, s *session, _ []string) error {
		return s.list(ctx, list{"prompts/list", "prompts", "prompts", func(entries []json.RawMessage) error {
			for _, p := range decode[mcp.Prompt](entries) {
				if err := s.printer.entry(strings.TrimSpace(terminal.Line(p.Name)+" "+promptUsage(p)), p.Description); err != nil {
					return err
				}
			}
			return nil
		}})
	})
}

// promptUsage describes the arguments of a prompt.
func promptUsage(p mcp.Prompt) string {
	var all []string
	for _, a := range p.Arguments {
		text := terminal.Line(a.Name) + "=text"
		if !a.Required {
			text = "[" + text + "]"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func newPrompt(env Env) *cobra.Command {
	out := ""
	cmd := newCommand(env, &cobra.Command{
		Use:     "prompt NAME [name=value…]",
		Short:   "Get a prompt",
		Long:    "Get a prompt, and print its messages. Arguments are name=value pairs.",
		Example: "prompt review code='x := 1'",
	}, NameWords, completePrompt, func(ctx context.Context, s *session, words []string) error {
		s.printer.writeFilesTo(env, out)
		return s.prompt(ctx, words[0], words[1:])
	})
	addOut(cmd, &out)
	return cmd
}

// listPrompts lists the prompts of a server.
func listPrompts(ctx context.Context, c *client.Client) ([]mcp.Prompt, error) {
	entries, err := c.Entries(ctx, "prompts/list", "prompts", "prompts")
	return decode[mcp.Prompt](entries), err
}

// prompt gets a prompt and prints it.
func (s *session) prompt(ctx context.Context, name string, words []string) error {
	all, err := listPrompts(ctx, s.Client)
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
	s.progress.Begin("getting " + terminal.Plain(name))
	var raw json.RawMessage
	result, err := s.GetPrompt(ctx, name, given, client.KeepResult(&raw))
	s.progress.End()
	switch {
	case err != nil:
		return answered(ctx, err)
	case s.printer.asJSON:
		return terminal.PrintJSON(s.printer.out, raw)
	}
	s.printer.base = name
	for _, m := range result.Messages {
		if err := s.printer.Text(string(m.Role) + ":"); err != nil {
			return err
		}
		if err := s.printer.content([]mcp.Content{m.Content}); err != nil {
			return err
		}
	}
	return nil
}

// promptArguments parses the arguments of a prompt.
func promptArguments(p mcp.Prompt, words []string) (map[string]string, error) {
	given := map[string]string{}
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		switch _, twice := given[name]; {
		case !ok || name == "":
			return nil, terminal.Usagef("%q is not an argument; write name=value", word)
		case twice:
			return nil, terminal.Usagef("%s is given twice", name)
		case !slices.ContainsFunc(p.Arguments, func(a mcp.PromptArgument) bool { return a.Name == name }):
			takes := "the prompt has no arguments"
			if len(p.Arguments) > 0 {
				takes = "the prompt has " + promptUsage(p)
			}
			return nil, terminal.Usagef("there is no argument %q; %s", name, takes)
		}
		given[name] = value
	}
	var missing []string
	for _, a := range p.Arguments {
		if _, ok := given[a.Name]; a.Required && !ok {
			missing = append(missing, strings.TrimRight(fmt.Sprintf("  %s=text  %s", terminal.Line(a.Name), terminal.Line(a.Description)), " "))
		}
	}
	if len(missing) > 0 {
		return nil, terminal.Usagef("%s: missing arguments:\n%s", terminal.Plain(p.Name), strings.Join(missing, "\n"))
	}
	return given, nil
}
