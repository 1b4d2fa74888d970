package mcpcli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/core/terminal"
)

func newCall(env Env) *cobra.Command {
	return newCommand(env, &cobra.Command{
		Use:   "call TOOL [name=value…|-]",
		Short: "Call a tool",
		Long: `Call a tool. Arguments are name=value pairs. The tool's schema determines their types; lists and
objects are JSON. To pass a list, you can also repeat name=value. With -, the arguments are a JSON
object on standard input; name=value pairs take precedence. The arguments are validated before the
call.

Text is printed. Images, audio and other files are written to the folder --out; existing files are not
overwritten. If the tool asks a question, answer it on the terminal. Ctrl-C cancels the call.`,
		Example: "call add a=2 b=3\n" + `call add --json - <<< '{"a": 2, "b": 3}'`,
	}, NameArgs, completeCall, func(ctx context.Context, s *session, args []string) error {
		return s.call(ctx, env.In, args[0], args[1:])
	})
}

func (s *session) call(ctx context.Context, stdin io.Reader, name string, args []string) error {
	tool, err := s.Tool(ctx, name)
	if err != nil {
		return err
	}
	if err := s.server.refuse(name); err != nil {
		return err
	}
	arguments, err := parseArguments(tool, args, stdin)
	if err != nil {
		return err
	}
	s.progress.Begin("calling " + terminal.Plain(name))
	var raw json.RawMessage
	result, err := s.CallTool(ctx, name, arguments, client.KeepResult(&raw), client.OnProgress(func(r client.Progress) { s.progress.Begin(progressText(name, r)) }))
	s.progress.End()
	if err != nil {
		return s.explainQuestion(serverError(ctx, err), err.Error())
	}
	s.printer.base = name
	return s.explainQuestion(s.printer.result(result, raw), result.Text())
}

// explainQuestion adds the remedy to the error of a tool that asks the user a question without a
// terminal. failure is the message of the tool or the server.
func (s *session) explainQuestion(err error, failure string) error {
	if err == nil || s.notTerminal == "" || !strings.Contains(failure, "elicitation") {
		return err
	}
	return fmt.Errorf("%w; the tool asks you a question, and %s is not a terminal: run this command in a terminal to answer it", err, s.notTerminal)
}

// serverError adds a prefix to an error that the server returned. Other errors stay as they are.
func serverError(ctx context.Context, err error) error {
	if ctx.Err() == nil && terminal.ExitCode(classify(ctx, err)) == terminal.ExitFailure {
		return fmt.Errorf("the server returned an error: %w", err)
	}
	return err
}

func progressText(name string, r client.Progress) string {
	text := "calling " + terminal.Plain(name)
	if r.Total > 0 {
		text += fmt.Sprintf(" %.0f %%", 100*r.Progress/r.Total)
	} else {
		text += fmt.Sprintf(" %v", r.Progress)
	}
	if r.Message != "" {
		text += " " + strictjson.Clip(terminal.Line(r.Message), maxShown)
	}
	return text
}

// result prints the result of a tool. raw is its JSON.
func (p *Printer) result(r *mcp.ToolResult, raw json.RawMessage) error {
	if p.asJSON {
		err := terminal.PrintJSON(p.out, raw)
		if err == nil && r.IsError {
			err = &terminal.ReportedError{Err: errors.New("the tool returned an error")}
		}
		return err
	}
	if r.IsError {
		return errors.New(cmp.Or(strings.TrimSpace(terminal.Plain(r.Text())), "the tool returned an error without a message"))
	}
	hasText := false
	for _, block := range r.Content {
		if err := p.content(block); err != nil {
			return err
		}
		_, isText := block.(mcp.Text)
		hasText = hasText || isText
	}
	if hasText || r.StructuredContent == nil {
		return nil
	}
	return p.structured(r.StructuredContent)
}

func newTools(env Env) *cobra.Command {
	return newCommand(env, &cobra.Command{
		Use:     "tools",
		Short:   "List the tools",
		Long:    "List the tools with their arguments. Optional arguments are in brackets.",
		Example: "tools",
	}, NoArgs, nil, func(ctx context.Context, s *session, _ []string) error {
		return s.list(ctx, list{"tools/list", "tools", "tools", printEach(s.printer, func(t mcp.Tool) (string, string) {
			return usage(t.Name, readInput(t.InputSchema)), t.Description
		})})
	})
}

// Args returns a check of the number of arguments. many allows a server before them. example is an
// example of the first argument after the server.
func (s Shape) Args(many bool, example string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		n, server := len(args), 0
		if dash := cmd.ArgsLenAtDash(); dash >= 0 {
			n = dash
		} else if many {
			server = 1
		}
		switch {
		case s != NoArgs && n == 0:
			return fmt.Errorf("%s needs %s, such as %s", cmd.Name(), firstRequired(cmd.Use), example)
		case s != NameArgs && n > server+int(s):
			return unexpectedArgument(cmd, args[n-1])
		}
		return nil
	}
}

// firstRequired returns the first argument of a usage line that is not in brackets.
func firstRequired(use string) string {
	for _, word := range strings.Fields(use)[1:] {
		if !strings.HasPrefix(word, "[") {
			return word
		}
	}
	return ""
}

// A list is one of the lists of a server.
type list struct {
	method, field, capability string
	print                     func([]json.RawMessage) error // as text
}

// list prints lists as text, or as one JSON object with the entries as the server sends them.
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
			entries = slices.DeleteFunc(entries, func(raw json.RawMessage) bool {
				name, _ := strictjson.Unquote(strictjson.Member(raw, "name"))
				return s.server.refuse(name) != nil
			})
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
		if err := l.print(object[l.field]); err != nil {
			return err
		}
	}
	return nil
}

// printEach returns a function that prints the entries of a list. text returns their texts.
func printEach[T any](p *Printer, text func(T) (head, description string)) func([]json.RawMessage) error {
	return func(entries []json.RawMessage) error {
		for _, one := range decode[T](entries) {
			if err := p.entry(text(one)); err != nil {
				return err
			}
		}
		return nil
	}
}

// decode decodes the entries of a list, without those that are invalid.
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

// Tools prints the usage and the description of tools. If server is not empty, it precedes their names.
func (p *Printer) Tools(server string, tools []mcp.Tool) error {
	for _, t := range tools {
		if err := p.entry(strings.TrimSpace(server+" "+usage(t.Name, readInput(t.InputSchema))), t.Description); err != nil {
			return err
		}
	}
	return nil
}

// usage returns the usage of a tool or prompt.
func usage(name string, in input) string {
	return strings.TrimSpace(terminal.Line(name) + " " + in.arguments())
}

func newResources(env Env) *cobra.Command {
	return newCommand(env, &cobra.Command{
		Use:     "resources",
		Short:   "List the resources",
		Long:    "List the resources and the resource templates. The URIs of templates have variables such as {id}.",
		Example: "resources",
	}, NoArgs, nil, func(ctx context.Context, s *session, _ []string) error {
		resources := printEach(s.printer, func(r mcp.Resource) (string, string) {
			return address(r.URI, r.MIMEType), cmp.Or(r.Description, r.Name)
		})
		templates := printEach(s.printer, func(r mcp.ResourceTemplate) (string, string) {
			return address(r.URITemplate, r.MIMEType), cmp.Or(r.Description, r.Name)
		})
		return s.list(ctx,
			list{"resources/list", "resources", "resources", resources},
			list{"resources/templates/list", "resourceTemplates", "resources", templates})
	})
}

func newRead(env Env) *cobra.Command {
	return newCommand(env, &cobra.Command{
		Use:   "read URI",
		Short: "Read a resource",
		Long: `Read a resource. Text is printed. Other contents are written to a file in the folder --out; existing
files are not overwritten.`,
		Example: "read note://1",
	}, Name, completeRead, func(ctx context.Context, s *session, args []string) error {
		s.progress.Begin("reading " + terminal.Plain(args[0]))
		var raw json.RawMessage
		contents, err := s.ReadResource(ctx, args[0], client.KeepResult(&raw))
		s.progress.End()
		if err != nil {
			return serverError(ctx, err)
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
}

func address(uri, mimeType string) string {
	if mimeType == "" {
		return terminal.Line(uri)
	}
	return terminal.Line(uri) + " (" + terminal.Line(mimeType) + ")"
}

func newPrompts(env Env) *cobra.Command {
	return newCommand(env, &cobra.Command{
		Use:     "prompts",
		Short:   "List the prompts",
		Long:    "List the prompts with their arguments. Optional arguments are in brackets.",
		Example: "prompts",
	}, NoArgs, nil, func(ctx context.Context, s *session, _ []string) error {
		return s.list(ctx, list{"prompts/list", "prompts", "prompts", printEach(s.printer, func(p mcp.Prompt) (string, string) {
			return usage(p.Name, promptInput(p)), p.Description
		})})
	})
}

// promptInput returns the arguments of a prompt, which are texts.
func promptInput(p mcp.Prompt) (in input) {
	for _, a := range p.Arguments {
		p := property{name: a.Name, kinds: []string{"text"}, description: a.Description, required: a.Required}
		in.properties = append(in.properties, p)
	}
	return in
}

func newPrompt(env Env) *cobra.Command {
	return newCommand(env, &cobra.Command{
		Use:     "prompt NAME [name=value…]",
		Short:   "Get a prompt",
		Long:    "Get a prompt, and print its messages. Arguments are name=value pairs.",
		Example: "prompt review code='x := 1'",
	}, NameArgs, completePrompt, func(ctx context.Context, s *session, args []string) error {
		return s.prompt(ctx, args[0], args[1:])
	})
}

func listPrompts(ctx context.Context, c catalog) ([]mcp.Prompt, error) {
	entries, err := c.Entries(ctx, "prompts/list", "prompts", "prompts")
	return decode[mcp.Prompt](entries), err
}

func (s *session) prompt(ctx context.Context, name string, args []string) error {
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
	arguments, err := parsePromptArguments(all[at], args)
	if err != nil {
		return err
	}
	s.progress.Begin("getting " + terminal.Plain(name))
	var raw json.RawMessage
	result, err := s.GetPrompt(ctx, name, arguments, client.KeepResult(&raw))
	s.progress.End()
	switch {
	case err != nil:
		return serverError(ctx, err)
	case s.printer.asJSON:
		return terminal.PrintJSON(s.printer.out, raw)
	}
	s.printer.base = name
	for _, m := range result.Messages {
		if err := s.printer.Text(string(m.Role) + ":"); err != nil {
			return err
		}
		if err := s.printer.content(m.Content); err != nil {
			return err
		}
	}
	return nil
}

func parsePromptArguments(p mcp.Prompt, args []string) (map[string]string, error) {
	in, given := promptInput(p), map[string]string{}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		switch _, repeated := given[name]; {
		case !ok || name == "":
			return nil, terminal.Usagef("%q is not an argument; write name=value", arg)
		case repeated:
			return nil, terminal.Usagef("%s is given twice", name)
		case in.find(name) == nil:
			return nil, terminal.Usagef("unknown argument %q; the prompt takes %s", name, cmp.Or(in.arguments(), "no arguments"))
		}
		given[name] = value
	}
	return given, checkRequired(p.Name, in, given)
}
