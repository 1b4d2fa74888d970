package mcpcli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/terminal"
)

func newTools(env Env) *cobra.Command {
	return newCommand(env, &cobra.Command{
		Use:     "tools",
		Short:   "List the tools",
		Long:    "List the tools with their arguments. Optional arguments are in brackets.",
		Example: "tools",
	}, NoWords, nil, func(ctx context.Context, s *session, _ []string) error {
		return s.list(ctx, list{"tools/list", "tools", "tools", func(entries []json.RawMessage) error {
			return s.printer.Tools("", decode[mcp.Tool](entries))
		}})
	})
}

// Args checks how many words a command has. many says that a server may be named.
func (s Shape) Args(many bool) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		n, server := len(args), 0
		if dash := cmd.ArgsLenAtDash(); dash >= 0 {
			n = dash
		} else if many {
			server = 1
		}
		switch {
		case s != NoWords && n == 0:
			return fmt.Errorf("%s needs a name: %s", cmd.Name(), cmd.Use)
		case s != NameWords && n > server+int(s):
			return fmt.Errorf("unexpected argument %q: usage: %s", args[n-1], cmd.Use)
		}
		return nil
	}
}

// A list is a kind of list that a server has.
type list struct {
	method, field, capability string
	show                      func([]json.RawMessage) error // as text
}

// list prints lists, as text or as one JSON object with the entries as the server sends them.
func (s *session) list(ctx context.Context, lists ...list) error {
	object := map[string][]json.RawMessage{}
	n := 0
	for _, l := range lists {
		s.progress.Begin("listing " + l.field)
		entries, err := s.Entries(ctx, l.method, l.field, l.capability)
		s.progress.End()
		if err != nil {
			return err
		}
		if l.field == "tools" {
			entries = slices.DeleteFunc(entries, func(raw json.RawMessage) bool { return s.server.refuse(nameOf(raw)) != nil })
		}
		object[l.field] = append([]json.RawMessage{}, entries...)
		n += len(entries)
	}
	switch {
	case s.printer.asJSON:
		return terminal.PrintJSON(s.printer.out, object)
	case n == 0:
		return s.printer.Text(terminal.Plain(s.server.Name) + " has no " + lists[0].field + ".")
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

// decode decodes the entries of a list, and leaves out those that it cannot decode.
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

// Tools prints tools as text: how to call each, and its description. server precedes their names if it is not empty.
func (p *Printer) Tools(server string, tools []mcp.Tool) error {
	for _, t := range tools {
		call := []string{terminal.Line(t.Name)}
		if server != "" {
			call = []string{server, terminal.Line(t.Name)}
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
