package mcpcli

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/terminal"
)

const completionTimeout = 2 * time.Second

// A suggestion returns completions of prefix. args are the arguments before it, from the name on. An
// error of the catalog yields no completions.
type suggestion func(ctx context.Context, c catalog, args []string, prefix string) []string

// A catalog has the lists of a server, for completion: a [*client.Client] or [Lists].
type catalog interface {
	Entries(ctx context.Context, method, field, capability string) ([]json.RawMessage, error)
	CompletePrompt(ctx context.Context, prompt, argument, prefix string, known map[string]string) ([]string, error)
}

// Entries returns the entries of a list.
func (l Lists) Entries(_ context.Context, method, _, _ string) ([]json.RawMessage, error) {
	return l[method], nil
}

// CompletePrompt returns nothing, because only the server can complete values.
func (l Lists) CompletePrompt(context.Context, string, string, string, map[string]string) ([]string, error) {
	return nil, nil
}

// completer completes the arguments of a command: servers, and the completions of suggest. It leaves out
// completions with characters that are not safe on a terminal.
func (c *command) completer(suggest suggestion) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		var all []string
		if len(args) == 0 {
			all = append(all, c.target.Servers()...)
		}
		if suggest != nil {
			all = append(all, c.suggest(cmd.Context(), args, prefix, suggest)...)
		}
		directive := cobra.ShellCompDirectiveNoFileComp
		var kept []string
		for _, suggested := range all {
			word, about, _ := strings.Cut(suggested, "\t")
			if !strings.HasPrefix(word, prefix) || terminal.Line(word) != word {
				continue
			}
			if about = terminal.Line(about); about != "" {
				word = cobra.CompletionWithDesc(word, about)
			}
			kept = append(kept, word)
		}
		if len(kept) > 0 && strings.HasSuffix(kept[0], "=") {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		return kept, directive
	}
}

func (c *command) suggest(ctx context.Context, args []string, prefix string, suggest suggestion) []string {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	// Find gets the word being typed too: if it is a name, the word before it is the server.
	words := append(slices.Clone(args), cmp.Or(prefix, "?"))
	if c.shape == NameArgs && len(args) == 1 && !strings.Contains(args[0], "://") && !slices.Contains(c.target.Servers(), args[0]) {
		words = append(slices.Clone(args), "?=") // it is an argument of the tool
	}
	server, rest, err := c.target.Find(words, -1, c.shape)
	if err != nil || len(rest) == 0 {
		return nil
	}
	rest = rest[:len(rest)-1]
	if server.Known != nil {
		return suggest(ctx, server.Known(), rest, prefix)
	}
	found := make(chan []string, 1)
	go func() {
		defer close(found)
		connected, end, err := server.Connect(ctx, client.Options{Info: c.Info, ConnectTimeout: completionTimeout, Timeout: completionTimeout})
		if err != nil {
			return
		}
		found <- suggest(ctx, connected, rest, prefix)
		end()
	}()
	select {
	case words := <-found:
		return words
	case <-ctx.Done():
		return nil
	}
}

func completeCall(ctx context.Context, c catalog, words []string, prefix string) []string {
	entries, _ := c.Entries(ctx, "tools/list", "tools", "tools")
	var all []string
	for _, t := range decode[mcp.Tool](entries) {
		if len(words) == 0 {
			all = append(all, cobra.CompletionWithDesc(t.Name, terminal.Line(t.Description)))
		} else if t.Name == words[0] {
			return suggestArguments(readInput(t.InputSchema), words[1:], prefix)
		}
	}
	return all
}

// suggestArguments suggests names of arguments that are not given yet, or values of the argument being
// typed.
func suggestArguments(in input, given []string, prefix string) []string {
	name, _, hasValue := strings.Cut(prefix, "=")
	var all []string
	for _, p := range in.properties {
		if hasValue && p.name == name {
			return p.suggestValues()
		}
		isGiven := func(arg string) bool { return strings.HasPrefix(arg, p.name+"=") }
		if !hasValue && (p.isList() || !slices.ContainsFunc(given, isGiven)) {
			all = append(all, p.name+"=")
		}
	}
	return all
}

func (p *property) isList() bool { return slices.Contains(p.kinds, "array") }

func (p *property) suggestValues() []string {
	from := p
	if p.isList() {
		from = p.item()
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

func completeRead(ctx context.Context, c catalog, words []string, _ string) []string {
	if len(words) > 0 {
		return nil
	}
	entries, _ := c.Entries(ctx, "resources/list", "resources", "resources")
	var all []string
	for _, r := range decode[mcp.Resource](entries) {
		all = append(all, r.URI)
	}
	return all
}

func completePrompt(ctx context.Context, c catalog, words []string, prefix string) []string {
	prompts, _ := listPrompts(ctx, c)
	var all []string
	for _, p := range prompts {
		if len(words) == 0 {
			all = append(all, cobra.CompletionWithDesc(p.Name, terminal.Line(p.Description)))
		} else if p.Name == words[0] {
			return suggestPromptArguments(ctx, c, p, words[1:], prefix)
		}
	}
	return all
}

func suggestPromptArguments(ctx context.Context, c catalog, p mcp.Prompt, given []string, prefix string) []string {
	name, begun, hasValue := strings.Cut(prefix, "=")
	if !hasValue {
		return suggestArguments(promptInput(p), given, prefix)
	}
	known := map[string]string{}
	for _, word := range given {
		if name, value, ok := strings.Cut(word, "="); ok {
			known[name] = value
		}
	}
	values, _ := c.CompletePrompt(ctx, p.Name, name, begun, known)
	for i := range values {
		values[i] = name + "=" + values[i]
	}
	return values
}
