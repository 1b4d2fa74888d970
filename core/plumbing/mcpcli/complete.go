package mcpcli

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

// complete completes the arguments of a command. It connects to the server, which must be in this
// process.
func (c *command) complete(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	server, _, err := c.target.Find(cmd.Context(), args, -1)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
	defer cancel()
	return Complete(cmd.Name(), args, prefix, func(method, field string) []json.RawMessage {
		connected, end, err := server.Connect(ctx, client.Options{Info: c.Info})
		if err != nil {
			return nil
		}
		defer end()
		entries, _ := connected.Entries(ctx, method, field)
		return entries
	})
}

// Complete completes prefix, an argument of a command such as call: the names in its list, or the
// arguments of a component. args are the arguments before it, from the name on. entries returns the
// entries of a list. Complete leaves out completions with characters that are not safe on a
// terminal.
func Complete(command string, args []string, prefix string, entries func(method, field string) []json.RawMessage) ([]string, cobra.ShellCompDirective) {
	directive := cobra.ShellCompDirectiveNoFileComp
	l, ok := map[string]list{"call": toolList, "read": resourceList, "prompt": promptList}[command]
	if !ok {
		return nil, directive
	}
	var all []string
	for _, one := range l.components(entries(l.method, l.field)) {
		if len(args) == 0 {
			all = append(all, one.id+"\t"+one.Description)
		} else if one.id == args[0] {
			all = readInput(one.InputSchema).suggest(args[1:], prefix)
			break
		}
	}
	var kept []string
	for _, suggested := range all {
		word, about, _ := strings.Cut(suggested, "\t")
		if !strings.HasPrefix(word, prefix) || terminal.Line(word) != word {
			continue
		}
		if strings.HasSuffix(word, "=") {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		if about = terminal.Line(about); about != "" {
			word = cobra.CompletionWithDesc(word, about)
		}
		kept = append(kept, word)
	}
	return kept, directive
}

// suggest returns names of arguments that are not given yet, or values of the argument being typed.
func (in input) suggest(given []string, prefix string) []string {
	name, _, hasValue := strings.Cut(prefix, "=")
	var all []string
	for _, p := range in.properties {
		if hasValue && p.Name == name {
			return suggestValues(p)
		}
		isGiven := func(arg string) bool { return strings.HasPrefix(arg, p.Name+"=") }
		if !hasValue && (p.IsList() || !slices.ContainsFunc(given, isGiven)) {
			all = append(all, p.Name+"=")
		}
	}
	return all
}

func suggestValues(p *Property) []string {
	values := p.Enum
	if p.IsList() && p.Items != nil {
		values = p.Items.Enum
	}
	if values == nil && slices.Contains(p.Kinds, "boolean") {
		values = []json.RawMessage{json.RawMessage("true"), json.RawMessage("false")}
	}
	var all []string
	for _, value := range values {
		all = append(all, p.Name+"="+shownValue(value))
	}
	return all
}
