package mcpcli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/internal/jsonschema"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/core/strictjson"
)

// An input describes the arguments of a tool or prompt.
type input struct {
	properties []*Property
	open       bool // other arguments are allowed, or the schema refuses them
}

// A Property is a property of an object schema.
type Property = jsonschema.Property

// readInput reads the schema of a tool.
func readInput(schema json.RawMessage) input {
	in := input{properties: ReadProperties(schema)}
	in.open = len(in.properties) == 0 || strictjson.Member(schema, "additionalProperties") != nil
	return in
}

// ReadProperties returns the properties of an object schema, in order. The schema may be invalid.
func ReadProperties(schema json.RawMessage) []*Property { return jsonschema.ReadProperties(schema) }

// typeText returns the type of a property, or its values if it is an enum.
func typeText(p *Property) string {
	if p.Items != nil && slices.Equal(p.Kinds, []string{"array"}) {
		return elementText(p.Items) + "…"
	}
	return elementText(p)
}

func elementText(p *Property) string {
	var choices []string
	for _, value := range p.Enum {
		choices = append(choices, shownValue(value))
	}
	switch {
	case len(choices) > 6:
		return strings.Join(choices[:5], "|") + "|…"
	case len(choices) > 0:
		return strings.Join(choices, "|")
	}
	isNull := func(kind string) bool { return kind == "null" }
	return cmp.Or(strings.Join(slices.DeleteFunc(slices.Clone(p.Kinds), isNull), "|"), "any")
}

// shownValue returns a JSON value as a user types it.
func shownValue(raw json.RawMessage) string {
	if text, ok := strictjson.Unquote(raw); ok {
		return terminal.Plain(text)
	}
	return terminal.Plain(string(raw))
}

// arguments returns all arguments as on a command line. Optional ones are in brackets.
func (in input) arguments() string {
	var all []string
	for _, p := range in.properties {
		text := terminal.Line(p.Name) + "=" + typeText(p)
		if !p.Required {
			text = "[" + text + "]"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// find returns the property with this name, or nil.
func (in input) find(name string) *Property {
	if i := slices.IndexFunc(in.properties, func(p *Property) bool { return p.Name == name }); i >= 0 {
		return in.properties[i]
	}
	return nil
}

const maxStdin = 64 << 20 // bytes of arguments on standard input

// ParseArguments parses the arguments of a tool, and validates them against its schema. They are
// name=value, or - for a JSON object on standard input. name=value takes precedence.
func ParseArguments(tool *mcp.Tool, args []string, stdin io.Reader) (json.RawMessage, error) {
	in, given := readInput(tool.InputSchema), map[string]json.RawMessage{}
	if slices.Contains(args, "-") {
		text, err := io.ReadAll(io.LimitReader(stdin, maxStdin+1))
		if err == nil && len(text) > maxStdin {
			err = fmt.Errorf("more than %d bytes", maxStdin)
		}
		if err == nil {
			err = strictjson.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &given)
		}
		if err != nil || given == nil {
			return nil, terminal.Usagef("standard input must be a JSON object, such as {\"a\": 1}: %w", cmp.Or(err, io.ErrUnexpectedEOF))
		}
		args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "-" })
	}
	texts := map[string][]string{}
	for _, arg := range args {
		name, text, ok := strings.Cut(arg, "=")
		switch {
		case !ok || name == "" || !utf8.ValidString(arg):
			return nil, terminal.Usagef("%q is not an argument; write name=value", arg)
		case in.find(name) == nil && !in.open:
			return nil, terminal.Usagef("unknown argument %q; the arguments are %s", name, in.arguments())
		}
		texts[name] = append(texts[name], text)
	}
	for name, texts := range texts {
		given[name], _ = cmp.Or(in.find(name), &Property{}).Parse(texts...) // the whole object is validated below
	}
	raw, err := strictjson.Marshal(given)
	if err != nil {
		return nil, err
	}
	compiled, err := schema.Compile(tool.InputSchema)
	if err != nil {
		return raw, nil // the server validates it
	}
	if err := compiled.Validate(raw); err != nil {
		return nil, terminal.Usagef("%s: invalid arguments:\n%w\nusage: %s", tool.Name, err, describeTool(*tool).usage())
	}
	return raw, nil
}

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

func suggestValues(p *Property) (all []string) {
	values := p.Enum
	if p.IsList() && p.Items != nil {
		values = p.Items.Enum
	}
	if values == nil && slices.Contains(p.Kinds, "boolean") {
		values = []json.RawMessage{json.RawMessage("true"), json.RawMessage("false")}
	}
	for _, value := range values {
		all = append(all, p.Name+"="+shownValue(value))
	}
	return all
}

// An Asker asks the user questions on a terminal.
type Asker struct {
	in       *bufio.Reader
	out      io.Writer
	progress *terminal.Progress // hidden while a question is asked
}

// NewAsker returns an asker on standard input and standard error, or nil if one of them is not a
// terminal.
func NewAsker(env Env, progress *terminal.Progress) *Asker {
	if !terminal.IsTerminal(env.In) || !terminal.IsTerminal(env.Err) {
		return nil
	}
	return newAsker(env.In, env.Err, progress)
}

func newAsker(in io.Reader, out io.Writer, progress *terminal.Progress) *Asker {
	return &Asker{bufio.NewReader(in), out, progress}
}

// printf prints text that may quote a server.
func (a *Asker) printf(format string, args ...any) {
	a.progress.End()
	fmt.Fprint(a.out, terminal.Plain(fmt.Sprintf(format, args...)))
}

const maxMessage = 10 << 10 // bytes of a server's message that are shown

// Line asks a question, and returns the line that the user types, or defaultAnswer for an empty
// line.
func (a *Asker) Line(ctx context.Context, question, defaultAnswer string) (string, error) {
	if defaultAnswer != "" {
		question += " [" + defaultAnswer + "]"
	}
	text, err := a.line(ctx, question+": ")
	return cmp.Or(text, defaultAnswer), err
}

func (a *Asker) line(ctx context.Context, question string) (string, error) {
	a.printf("%s", question)
	type answer struct {
		text string
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		text, err := a.in.ReadString('\n')
		if text != "" {
			err = nil
		}
		answers <- answer{strings.TrimSpace(text), err}
	}()
	select {
	case got := <-answers:
		return got.text, got.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// consent asks whether to continue. The end of input cancels.
func (a *Asker) consent(ctx context.Context, question string) (mcp.Action, error) {
	for {
		text, err := a.line(ctx, question+" [Y/n] ")
		switch strings.ToLower(text) {
		case "n", "no":
			return mcp.ActionDecline, nil
		case "y", "yes":
			return mcp.ActionAccept, nil
		case "":
			if errors.Is(err, io.EOF) {
				return mcp.ActionCancel, nil
			}
			if err != nil {
				return "", err
			}
			return mcp.ActionAccept, nil
		}
	}
}

func (a *Asker) visit(ctx context.Context, e *mcp.URLElicitation) (err error) {
	a.printf("The server asks you to open a web page: %s\n  %s\n", strictjson.Clip(e.Message, maxMessage), strictjson.Clip(e.URL, maxMessage))
	e.Action, err = a.consent(ctx, "Check the address before you open it. Have you opened it?")
	return err
}

func (a *Asker) form(ctx context.Context, e *mcp.Elicitation) (err error) {
	a.printf("The server asks: %s\n", strictjson.Clip(e.Message, maxMessage))
	in := readInput(e.Schema)
	if e.Action, err = a.consent(ctx, "Do you want to answer?"); err != nil || e.Action != mcp.ActionAccept {
		return err
	}
	filled := map[string]json.RawMessage{}
	for _, p := range in.properties {
		value, err := a.askField(ctx, p)
		if errors.Is(err, io.EOF) {
			e.Action = mcp.ActionCancel
			return nil
		}
		if err != nil {
			return err
		}
		if value != nil {
			filled[p.Name] = value
		}
	}
	e.Content, err = strictjson.Marshal(filled)
	return err
}

// askField asks for a field until the answer is valid. It returns nil if the user leaves it out.
func (a *Asker) askField(ctx context.Context, p *Property) (json.RawMessage, error) {
	a.showChoices(p)
	question := p.Name
	if about := cmp.Or(terminal.Line(p.Description), terminal.Line(p.Title)); about != "" {
		question += ", " + about
	}
	question += " (" + typeText(p) + ")"
	if p.Default != nil {
		question += " [" + shownValue(p.Default) + "]"
	} else if !p.Required {
		question += " [none]"
	}
	for {
		text, err := a.line(ctx, question+": ")
		if err != nil {
			return nil, err
		}
		if text == "" && (p.Default != nil || !p.Required) {
			return p.Default, nil
		}
		answers := []string{text}
		if p.IsList() {
			answers = strings.Split(strings.ReplaceAll(text, ", ", ","), ",")
		}
		value, err := p.Parse(answers...)
		if err == nil {
			return value, nil
		}
		a.printf("  %v\n", err)
	}
}

func (a *Asker) showChoices(p *Property) {
	choices := cmp.Or(p.Items, p)
	for i, title := range choices.EnumTitles {
		if i >= len(choices.Enum) {
			return
		}
		if value := shownValue(choices.Enum[i]); title != "" && title != value {
			a.printf("  %s: %s\n", value, terminal.Line(title))
		}
	}
}

// answers answer the questions of a server with the flag --answer, and otherwise on the terminal.
type answers struct {
	asker *Asker   // nil without a terminal
	flags []string // FIELD=VALUE, KEY.FIELD=VALUE or KEY=ACTION
	open  string   // questions without an answer
}

// read returns the action that the flags have for a question, and the texts for its fields.
func (a *answers) read(key string, in input) (action mcp.Action, texts map[string][]string) {
	texts = map[string][]string{}
	for _, flag := range a.flags {
		name, value, _ := strings.Cut(flag, "=")
		if p := in.find(strings.TrimPrefix(name, key+".")); p != nil {
			action, texts[p.Name] = cmp.Or(action, mcp.ActionAccept), append(texts[p.Name], value)
		} else if name == key && slices.Contains([]mcp.Action{mcp.ActionAccept, mcp.ActionDecline, mcp.ActionCancel}, mcp.Action(value)) {
			action = mcp.Action(value)
		}
	}
	return action, texts
}

func (a *answers) form(ctx context.Context, e *mcp.Elicitation) (err error) {
	in := readInput(e.Schema)
	var texts map[string][]string
	switch e.Action, texts = a.read(e.Key, in); {
	case e.Action == "" && a.asker != nil:
		return a.asker.form(ctx, e)
	case e.Action == "":
		return a.leaveOpen(e.Key, e.Message, in)
	}
	filled := map[string]json.RawMessage{}
	for name, texts := range texts {
		filled[name], _ = in.find(name).Parse(texts...) // the server validates the form
	}
	e.Content, err = strictjson.Marshal(filled)
	return err
}

func (a *answers) visit(ctx context.Context, e *mcp.URLElicitation) error {
	switch e.Action, _ = a.read(e.Key, input{}); {
	case e.Action != "":
		return nil
	case a.asker != nil:
		return a.asker.visit(ctx, e)
	}
	return a.leaveOpen(e.Key, e.Message+" "+e.URL, input{})
}

// leaveOpen returns an error for a question without an answer, which [answers.check] explains.
func (a *answers) leaveOpen(key, message string, in input) error {
	a.open += fmt.Sprintf("\n  %s: %s", key, strictjson.Clip(terminal.Line(message), maxMessage))
	for _, p := range in.properties {
		a.open += strings.TrimRight(fmt.Sprintf("\n    --answer %s=%s  %s", terminal.Line(p.Name), typeText(p), terminal.Line(p.Description)), " ")
	}
	a.open += "\n    --answer " + cmp.Or(key, "KEY") + "=decline"
	return errors.New("a question has no answer")
}

// check returns the error of a call: if questions are open, one that lists them.
func (a *answers) check(name string, err error) error {
	if a.open == "" {
		return err
	}
	return terminal.Usagef("%s asks the user; answer with --answer, or run this command in a terminal:%s", terminal.Line(name), a.open)
}
