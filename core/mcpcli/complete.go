package mcpcli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/fleet"
	"github.com/petrock/petrock/core/mcp"
)

// completionLimit is how long somebody waits who has pressed the tab key.
const completionLimit = 2 * time.Second

// A suggestion is what a word may become, by what a server has. words are those before it, beginning with the name.
type suggestion func(ctx context.Context, c *client.Client, words []string, prefix string) []string

// completer completes the words of a command: servers, and what suggest knows of the server that is meant. It says nothing of what goes
// wrong, and gives up soon.
func completer(env Env, o *options, takes shape, suggest suggestion) cobra.CompletionFunc {
	env.In = nil // nobody is asked anything
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return o.complete(cmd.Context(), env, args, takes, prefix, suggest)
	}
}

func (o *options) complete(ctx context.Context, env Env, args []string, takes shape, prefix string, suggest suggestion) ([]string, cobra.ShellCompDirective) {
	var all []string
	if len(args) == 0 {
		if config, err := o.configuration(env); err == nil {
			all = append(all, config.Names()...)
		}
	}
	if suggest != nil {
		all = append(all, o.ask(ctx, env, args, takes, prefix, suggest)...)
	}
	directive := cobra.ShellCompDirectiveNoFileComp
	var kept []string
	for _, word := range all {
		if strings.HasPrefix(word, prefix) && !strings.ContainsAny(word, "\n\r") {
			kept = append(kept, plain(word))
		}
	}
	if len(kept) > 0 && strings.HasSuffix(kept[0], "=") {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	return kept, directive
}

// ask asks the server that is meant for suggestions.
func (o *options) ask(ctx context.Context, env Env, args []string, takes shape, prefix string, suggest suggestion) []string {
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionLimit)
	defer cancel()
	// The word that is being written counts: where it is a name, the one before it is the server.
	words := append(append([]string{}, args...), prefix)
	if prefix == "" {
		words[len(args)] = "?"
	}
	if takes == nameArgs && len(args) == 1 {
		if config, err := o.configuration(env); !isAddress(args[0]) && (err != nil || config.Names() == nil || !slices.Contains(config.Names(), args[0])) {
			words = append(args, "?=") // it is what the tool is given
		}
	}
	server, rest, err := o.target(env, words, -1, takes)
	if err != nil || server.Err != nil || len(rest) == 0 {
		return nil
	}
	rest = rest[:len(rest)-1]
	header, err := o.header()
	if err != nil {
		return nil
	}
	found := make(chan []string, 1)
	go func() {
		defer close(found)
		client, err := fleet.Connect(ctx, server, client.Options{Info: env.Info, ConnectTimeout: completionLimit, Timeout: completionLimit, Header: header}, nil)
		if err != nil {
			return
		}
		found <- suggest(ctx, client, rest, prefix)
		client.Close()
	}()
	select {
	case words := <-found:
		return words
	case <-ctx.Done():
		return nil
	}
}

// completeCall suggests tools, their arguments, and values of those.
func completeCall(ctx context.Context, c *client.Client, words []string, prefix string) []string {
	tools, err := c.Tools(ctx)
	if err != nil {
		return nil
	}
	var all []string
	for _, t := range tools {
		if len(words) == 0 {
			all = append(all, cobra.CompletionWithDesc(t.Name, line(t.Description)))
		} else if t.Name == words[0] {
			return suggestArguments(readInput(t.InputSchema), words[1:], prefix)
		}
	}
	return all
}

// suggestArguments suggests names that are not given yet, or values of the one that is being written.
func suggestArguments(in input, given []string, prefix string) []string {
	name, _, valued := strings.Cut(prefix, "=")
	var all []string
	for _, p := range in.properties {
		if valued && p.name == name {
			return p.suggestValues()
		}
		if !valued && (p.list() || !isGiven(given, p.name)) {
			all = append(all, p.name+"=")
		}
	}
	return all
}

func isGiven(words []string, name string) bool {
	for _, word := range words {
		if strings.HasPrefix(word, name+"=") {
			return true
		}
	}
	return false
}

// list reports whether the property may be given again.
func (p *property) list() bool { return slices.Contains(p.kinds, "array") }

// suggestValues suggests what a property may be, with its name.
func (p *property) suggestValues() []string {
	from := p
	if p.list() && p.items != nil {
		from = p.items
	}
	var all []string
	for _, value := range from.enum {
		all = append(all, p.name+"="+shownValue(value))
	}
	if all == nil && slices.Contains(from.kinds, "boolean") {
		all = []string{p.name + "=true", p.name + "=false"}
	}
	return all
}

// completeRead suggests the addresses of resources.
func completeRead(ctx context.Context, c *client.Client, words []string, _ string) []string {
	if len(words) > 0 {
		return nil
	}
	resources, err := c.Resources(ctx)
	if err != nil {
		return nil
	}
	var all []string
	for _, r := range resources {
		all = append(all, r.URI)
	}
	return all
}

// completePrompt suggests prompts, their arguments, and values of those that the server suggests.
func completePrompt(ctx context.Context, c *client.Client, words []string, prefix string) []string {
	prompts, err := c.Prompts(ctx)
	if err != nil {
		return nil
	}
	var all []string
	for _, p := range prompts {
		if len(words) == 0 {
			all = append(all, cobra.CompletionWithDesc(p.Name, line(p.Description)))
		} else if p.Name == words[0] {
			return promptValues(ctx, c, p, words[1:], prefix)
		}
	}
	return all
}

func promptValues(ctx context.Context, c *client.Client, p mcp.Prompt, given []string, prefix string) []string {
	name, begun, valued := strings.Cut(prefix, "=")
	var all []string
	if valued {
		known := map[string]string{}
		for _, word := range given {
			if name, value, ok := strings.Cut(word, "="); ok {
				known[name] = value
			}
		}
		values, err := c.CompletePrompt(ctx, p.Name, name, begun, known)
		if err != nil {
			return nil
		}
		for _, value := range values {
			all = append(all, name+"="+value)
		}
		return all
	}
	for _, a := range p.Arguments {
		if !isGiven(given, a.Name) {
			all = append(all, a.Name+"=")
		}
	}
	return all
}
